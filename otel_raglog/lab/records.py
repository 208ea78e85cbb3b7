"""Turns an execution into a run record (design.md, section 12), and reads and appends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_raglog.errors import BadInput
from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.inject.fault import Fault
from otel_raglog.lab.pipelines.execution import Injection, Setting
from otel_raglog.lab.stores import Hit

EMBEDDER_MODEL = "all-MiniLM-L6-v2"
OFFLINE_MODEL = "extractive-lab"


@dataclass(frozen=True, slots=True)
class Identity:
    """Which run it is: unique by corpus, question, pipeline, fault and seed."""

    corpus: str
    question: str
    pipeline: str
    fault: str | None = None
    seed: int = 0

    @property
    def id(self) -> str:
        """The record's id."""
        parts = [self.corpus, self.question, self.pipeline, self.fault or "natural"]
        return "--".join([*parts, *([f"s{self.seed}"] if self.seed else [])])

    @property
    def clean(self) -> Identity:
        """The clean twin."""
        return Identity(self.corpus, self.question, self.pipeline, None, self.seed)


def to_record(
    identity: Identity,
    injection: Injection,
    setting: Setting,
    fault: Fault | None,
    model: str = OFFLINE_MODEL,
) -> dict[str, Any]:
    """Return the run record without labels."""
    run, pipeline = injection.execution, setting.pipeline
    record: dict[str, Any] = {
        "id": identity.id,
        "pipeline": pipeline.name,
        "group": f"{identity.corpus}:{identity.question}",
        "question": run.asked.text,
    }
    if run.asked.history:
        record["history"] = [list(turn) for turn in run.asked.history]
    if run.rewrites is not None:
        record["rewrites"] = list(run.rewrites)
    if run.embedded is not None:
        record["embedder_input"] = run.embedded[0] if len(run.embedded) == 1 else list(run.embedded)
        record["embedder_model"] = EMBEDDER_MODEL
    record["retrieved"] = [_document(hit) for hit in run.retrieved]
    record["top_k"] = pipeline.top_k
    if run.reranked is not None:
        record["reranked"] = [{"id": hit.passage.id, "score": hit.score} for hit in run.reranked]
    answers = setting.evidence.question.answers
    return {
        **record,
        "passed": [hit.passage.id for hit in run.passed],
        "system_prompt": pipeline.system,
        "prompt": run.prompt,
        "answer": run.reply.text,
        "finish_reason": run.reply.finish_reason,
        "tokens": {"prompt": run.reply.prompt_tokens, "completion": run.reply.completion_tokens},
        "model": model,
        "injected": None
        if fault is None
        else {
            "stage": fault.stage.value,
            "type": fault.name,
            "twin": identity.clean.id,
            "before": injection.before,
            "after": injection.after,
        },
        "reference": {
            "answers": list(answers),
            "evidence_ids": [
                hit.passage.id
                for hit in run.retrieved
                if setting.evidence.holds(hit.passage.text) is Holds.YES
            ],
            "gold_docs": list(setting.evidence.question.gold_docs),
            "standalone": run.asked.standalone,
            "blank_slots": sum(not slot.text for slot in run.slots),
        },
    }


def _document(hit: Hit) -> dict[str, Any]:
    found: dict[str, Any] = {"id": hit.passage.id, "text": hit.passage.text, "score": hit.score}
    return {**found, "title": hit.passage.title} if hit.passage.title else found


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of JSON lines; none where there is no file.

    Raises:
        BadInput: a line is no record; names it. A last line without an end was cut off by an
            interruption and is passed over.
    """
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except ValueError as error:
                if not line.endswith("\n"):
                    return
                raise BadInput(f"{path}, line {number}: no JSON: {error}") from None
            if not isinstance(record, dict) or not isinstance(record.get("id"), str):
                raise BadInput(f"{path}, line {number}: a run record with an id is needed")
            yield record


class RecordFile:
    """A file of records that grows line by line, so that an interrupted run can go on."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._drop_half_a_line()

    def _drop_half_a_line(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            content = file.read()
            if content and not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)

    def append(self, record: dict[str, Any]) -> None:
        """Write one record, whole."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        if not line.isprintable():  # a lone surrogate, perhaps, that only an escape can write
            line = json.dumps(record, allow_nan=False)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

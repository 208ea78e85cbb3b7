"""Where a release of labelled runs has what: names that are tried, and a file that changes them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from otel_raglog.errors import BadInput
from otel_raglog.model import Stage

JUDGED_STAGES = tuple(stage for stage in Stage if stage is not Stage.ASSEMBLY)
"""The stages of the paper; it has none for the assembly of the prompt."""

STAGES = "stages"
FAULTY_VALUES, OK_VALUES, NO_LABEL_VALUES = "faulty_values", "ok_values", "no_label_values"

_STAGE_NAMES: Mapping[Stage, tuple[str, ...]] = {
    Stage.REWRITER: ("rewriter", "query_rewriter", "rewrite", "query_rewriting", "rewriting"),
    Stage.EMBEDDER: ("embedder", "embedding", "embed", "query_embedder"),
    Stage.RETRIEVER: ("retriever", "retrieval", "retrieve", "search"),
    Stage.RERANKER: ("reranker", "rerank", "reranking", "re_ranker"),
    Stage.GENERATOR: ("generator", "generation", "generate", "llm", "answer_generator"),
}

_PATHS: Mapping[str, tuple[str, ...]] = {
    "id": ("run_id", "id", "run.id", "trace_id"),
    "dataset": ("dataset", "subset", "source", "corpus"),
    "pipeline": ("pipeline", "pipeline_id", "pipeline_name", "system", "config"),
    "question_id": ("question_id", "query_id", "qid", "group"),
    "question": ("question", "query", "user_query", "original_query", "input.question"),
    "answer": ("answer", "final_answer", "generated_answer", "response", "output.answer"),
    "reference_answers": (
        "reference.answers", "reference_answers", "reference_answer", "gold_answers", "gold_answer",
        "ground_truth", "expected_answer", "reference",
    ),
    "evidence_ids": (
        "reference.evidence_ids", "evidence_ids", "gold_chunk_ids", "gold_doc_ids", "relevant_ids",
    ),
    "correct": ("reference.correct", "correct", "is_correct", "answer_correct", "correctness"),
    "injected_stage": ("injected.stage", "injection.stage", "injected_stage", "injected_fault.stage"),
    "injected_type": ("injected.type", "injection.type", "injected_type", "injected_fault.type"),
    "stage_of_line": ("stage", "component"),
    "stage": (
        "trace.{stage}", "traces.{stage}", "trace.stages.{stage}", "stages.{stage}", "steps.{stage}",
        "logs.{stage}", "spans.{stage}", "{stage}",
    ),
    "stage_input": ("input", "inputs", "received", "request"),
    "stage_output": ("output", "outputs", "returned", "result", "response"),
    "flat_input": ("{stage}_input", "{stage}_inputs"),
    "flat_output": ("{stage}_output", "{stage}_outputs"),
    "label": (
        "labels.{stage}", "label.{stage}", "faults.{stage}", "fault_labels.{stage}",
        "stage_labels.{stage}", "{stage}_faulty", "{stage}_fault", "{stage}_label",
        "{stage}_is_faulty", "fault_{stage}", "label_{stage}",
    ),
    "label_in_stage": ("faulty", "is_faulty", "fault", "label"),
    "label_value": ("faulty", "is_faulty", "fault", "label", "final", "value"),
    "fault_types": ("types", "fault_types", "fault_type", "type"),
    "faulty_stages": ("faulty_stages", "labels.faulty_stages", "fault_stages"),
    "texts": (
        "text", "query", "queries", "rewritten_query", "rewritten_queries", "rewrites", "rewrite",
        "texts", "content", "answer", "output",
    ),
    "chunks": (
        "chunks", "documents", "docs", "passages", "results", "retrieved", "reranked", "contexts",
    ),
    "prompt": ("prompt", "messages", "rendered_prompt", "full_prompt"),
    "chunk_id": ("id", "chunk_id", "doc_id", "docid", "document_id", "passage_id", "pid"),
    "chunk_text": ("text", "content", "passage", "chunk", "page_content", "body"),
    "chunk_title": ("title", "metadata.title"),
    "chunk_score": ("score", "similarity", "relevance_score", "rerank_score"),
}  # fmt: skip

_VALUES: Mapping[str, tuple[str, ...]] = {
    FAULTY_VALUES: ("faulty", "fault", "yes", "true", "1", "bad", "fail", "failed"),
    OK_VALUES: ("ok", "no_fault", "no fault", "none", "not_faulty", "not faulty", "no", "false", "0",
                "clean", "correct", "good", "pass", "passed"),
    NO_LABEL_VALUES: ("", "null", "n/a", "na", "not_applicable", "absent", "unknown", "unlabelled", "-1"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fields:
    """Dotted paths by field, tried in order; names of each stage; words that are labels.

    ``{stage}`` in a path stands for each name of a stage.
    """

    paths: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(_PATHS))
    stages: Mapping[Stage, tuple[str, ...]] = field(default_factory=lambda: dict(_STAGE_NAMES))
    values: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(_VALUES))

    def stage_named(self, name: object) -> Stage | None:
        """Return the stage that a release calls so."""
        folded = str(name).strip().lower().replace(" ", "_").replace("-", "_")
        return next((stage for stage, names in self.stages.items() if folded in names), None)

    def find(self, data: object, key: str, stage: Stage | None = None) -> tuple[object, str] | None:
        """Return what stands at the first path of ``key`` that ``data`` has, and the path.

        ``None`` where there is none of them, or ``null``.
        """
        for path in self.paths[key]:
            for name in self.stages[stage] if stage is not None and "{stage}" in path else ("",):
                place = path.replace("{stage}", name)
                found = _at(data, place.split("."))
                if found is not None:
                    return found, place
        return None


def read_fields_file(path: Path | None) -> Fields:
    """Return the names of a YAML file in place of those that are built in; without one, these.

    Raises:
        BadInput: the file cannot be read, or names a field that there is none of; says which.
    """
    if path is None:
        return Fields()
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError):
        raise BadInput(f"{path} is no valid YAML") from None
    if not isinstance(data, Mapping):
        raise BadInput(f"{path}: a mapping of fields and paths is needed")
    paths, values, stages = dict(_PATHS), dict(_VALUES), dict(_STAGE_NAMES)
    for key, value in data.items():
        if key == STAGES:
            stages.update(_stages(path, value))
        elif key in paths:
            paths[key] = _names(path, key, value)
        elif key in values:
            values[key] = tuple(name.lower() for name in _names(path, key, value))
        else:
            raise BadInput(_unknown(path, str(key), (*paths, *values, STAGES)))
    return Fields(paths, stages, values)


def _stages(path: Path, value: object) -> Mapping[Stage, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{path}: {STAGES}: must be a mapping of stages and their names")
    known = [stage.value for stage in JUDGED_STAGES]
    for name in value:
        if name not in known:
            raise BadInput(_unknown(path, f"{STAGES}.{name}", known))
    return {Stage(name): _names(path, f"{STAGES}.{name}", each) for name, each in value.items()}


def _names(path: Path, key: str, value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str | int) else value
    if not isinstance(names, list) or not all(isinstance(each, str | int) for each in names):
        raise BadInput(f"{path}: {key}: must be a path, or a list of paths")
    return tuple(str(each) for each in names)


def _unknown(path: Path, key: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(key.rpartition(".")[2], list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{path}: unknown field {key}: {hint}known here: {', '.join(known)}"


def _at(data: Any, parts: list[str]) -> object | None:
    """Return what stands at a path; a name may have dots itself."""
    if not parts:
        found: object | None = data
        return found
    if not isinstance(data, Mapping):
        return None
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in data:
            found = _at(data[name], parts[length:])
            if found is not None:
                return found
    return None

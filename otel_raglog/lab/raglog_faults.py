"""The RAGLog Faults release, as its card describes it, to run records with labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otel_raglog.detect.training.labels import read_labels
from otel_raglog.errors import BadInput
from otel_raglog.lab.raglog_fields import (
    FAULTY_VALUES,
    JUDGED_STAGES,
    NO_LABEL_VALUES,
    OK_VALUES,
    Fields,
)
from otel_raglog.lab.raglog_lines import read_release
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage

_MOST_SAID = 3
_ROLES_OF_SYSTEM = frozenset({"system", "developer"})

Json = Mapping[str, Any]


@dataclass(slots=True)
class Imported:
    """What a release held: run records; what could not be read, or is no run; which path was which field."""

    records: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    found: dict[str, str] = field(default_factory=dict)


def import_release(
    folder: Path, fields: Fields, tell: Callable[[str, int, int], None] = lambda *_: None
) -> Imported:
    """Return the runs of all files with JSON below ``folder``, gzipped or not.

    Lines of one run are merged, whatever files they are in: by the run's id, or where there is none,
    by data set, pipeline and question. What a file has of texts by id fills chunks that are
    recorded by id alone. A line that cannot be read costs itself only, a run of which something is
    malformed that run; each is named with file, line and key.

    Raises:
        BadInput: there are no such files, or no run in them.
    """
    release = read_release(folder, fields)
    imported = Imported(problems=list(release.problems), notes=list(release.notes))
    made: dict[str, str] = {}
    for number, run in enumerate(release.runs.values(), 1):
        reader = _Reader(run.data, fields, release.documents, imported.found)
        try:
            record = _checked(reader.record(), made)
        except BadInput as error:
            imported.problems.append(f"{run.where}: {error}")
        else:
            made[record["id"]] = run.where
            imported.records.append(record)
        tell("Importing", number, len(release.runs))
    if not imported.records:
        raise BadInput("; ".join(imported.problems[:_MOST_SAID]))
    return imported


def _checked(record: dict[str, Any], made: Mapping[str, str]) -> dict[str, Any]:
    if not record["id"]:
        raise BadInput("id: is empty")
    if record["id"] in made:
        raise BadInput(f"id: {record['id']!r} is that of {made[record['id']]} too")
    read_labels(record)
    run_from_record(record)
    return record


class _Reader:
    """Reads one run; notes in ``found`` by which path each field was found first."""

    def __init__(
        self, data: Json, fields: Fields, documents: Mapping[str, str], found: dict[str, str]
    ) -> None:
        self._data = data
        self._fields = fields
        self._documents = documents
        self._found = found

    def record(self) -> dict[str, Any]:
        """Return the run record.

        Raises:
            BadInput: a value is of a form that is not known; names its key.
        """
        dataset, pipeline = self._text("dataset"), self._text("pipeline")
        question = self._text("question_id")
        parts = [part for part in (dataset, pipeline, question) if part is not None]
        record: dict[str, Any] = {"id": self._text("id") or "--".join(parts)}
        if pipeline is not None:
            record["pipeline"] = pipeline
        asked = self._text("question")
        group = question or asked
        if group is not None:
            record["group"] = f"{dataset}:{group}" if dataset else group
        if asked is not None:
            record["question"] = asked
        record |= self._queries() | self._chunks() | self._generation()
        record["labels"] = self._labels(record)
        return {**record, **self._known()}

    def _queries(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        rewrites = self._texts_at(*self._side(Stage.REWRITER, "output"))
        if rewrites:
            found["rewrites"] = rewrites
        embedded = self._texts_at(*self._side(Stage.EMBEDDER, "input"))
        if embedded:
            found["embedder_input"] = embedded[0] if len(embedded) == 1 else embedded
        return found

    def _chunks(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        retrieved = self._chunks_at(*self._side(Stage.RETRIEVER, "output"))
        reranked = self._chunks_at(*self._side(Stage.RERANKER, "output"))
        if retrieved is None and reranked is not None:
            retrieved = self._chunks_at(*self._side(Stage.RERANKER, "input"))
        if retrieved is not None:
            found["retrieved"] = retrieved
        if reranked is not None:
            found["reranked"] = reranked
        passed = retrieved if reranked is None else reranked
        if passed is not None and all("id" in each for each in passed):
            found["passed"] = [each["id"] for each in passed]
        return found

    def _generation(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        value, path = self._side(Stage.GENERATOR, "input")
        if isinstance(value, Mapping):
            inner = self._fields.find(value, "prompt")
            value = value if inner is None else inner[0]
        system, prompt = self._prompt(value, path)
        if system:
            found["system_prompt"] = system
        if prompt is not None:
            found["prompt"] = prompt
        answers = self._texts_at(*self._side(Stage.GENERATOR, "output"))
        answer = "\n".join(answers) if answers is not None else self._text("answer")
        if answer is not None:
            found["answer"] = answer
        return found

    def _prompt(self, value: object, path: str) -> tuple[str, str | None]:
        if value is None or isinstance(value, str):
            return "", value
        if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
            said = [(str(each.get("role", "")), str(each.get("content") or "")) for each in value]
            system = "\n\n".join(text for role, text in said if role in _ROLES_OF_SYSTEM)
            rest = "\n\n".join(text for role, text in said if role not in _ROLES_OF_SYSTEM)
            return system, rest
        if isinstance(value, Mapping):
            parts = [self._flat(each) for each in value.values()]
            return "", "\n\n".join(part for part in parts if part)
        raise BadInput(f"{path}: must be a text, messages, or a mapping of texts")

    def _flat(self, value: object) -> str:
        if isinstance(value, str):
            return value
        chunks = self._chunk_list(value) if isinstance(value, list) else None
        return "\n\n".join(str(each.get("text", "")) for each in chunks or ())

    def _labels(self, record: Json) -> dict[str, Any]:
        listed = self._find("faulty_stages")
        named = None if listed is None else self._stages_in(*listed)
        labels: dict[str, Any] = {}
        for stage in JUDGED_STAGES:
            found = self._find("label", stage) or self._label_in_stage(stage)
            if found is not None:
                label = self._label(*found)
            elif named is not None and _has(record, stage):
                label = {"faulty": stage in named}
            else:
                label = None
            if label is not None:
                labels[stage.value] = label
        return labels

    def _label_in_stage(self, stage: Stage) -> tuple[object, str] | None:
        inside = self._find("stage", stage)
        if inside is None:
            return None
        found = self._fields.find(inside[0], "label_in_stage")
        if found is None:
            return None
        value, path = found
        types = self._fields.find(inside[0], "fault_types")
        whole = value if types is None else {path: value, types[1]: types[0]}
        return whole, f"{inside[1]}.{path}"

    def _label(self, value: object, path: str) -> dict[str, Any] | None:
        if isinstance(value, Mapping):
            types = self._fields.find(value, "fault_types")
            said = self._fields.find(value, "label_value")
            if said is None:
                raise BadInput(
                    f"{path}: has none of {', '.join(self._fields.paths['label_value'])}"
                )
            faulty = self._faulty(said[0], f"{path}.{said[1]}")
            kinds = [] if types is None else _listed(types[0])
            return _label_of(faulty=faulty, types=kinds)
        if isinstance(value, list):
            return _label_of(faulty=bool(value), types=[str(each) for each in value])
        return _label_of(faulty=self._faulty(value, path), types=[])

    def _faulty(self, value: object, path: str) -> bool | None:
        if isinstance(value, bool):
            return value
        word = f"{value:g}" if isinstance(value, float) else str(value)
        word = word.strip().lower()
        values = self._fields.values
        if word in values[FAULTY_VALUES]:
            return True
        if word in values[OK_VALUES]:
            return False
        if word in values[NO_LABEL_VALUES]:
            return None
        raise BadInput(
            f"{path}: is no label that is known ({', '.join(values[FAULTY_VALUES])}; "
            f"{', '.join(values[OK_VALUES])}): name it under {FAULTY_VALUES} or {OK_VALUES} in a "
            "--fields file"
        )

    def _stages_in(self, value: object, path: str) -> frozenset[Stage]:
        stages = set()
        for name in _listed(value):
            stage = self._fields.stage_named(name)
            if stage is None and name.lower() not in self._fields.values[OK_VALUES]:
                raise BadInput(f"{path}: names a stage that is not known: say so under stages")
            stages |= {stage} if stage is not None else set()
        return frozenset(stages)

    def _known(self) -> dict[str, Any]:
        reference: dict[str, Any] = {}
        answers = self._find("reference_answers")
        if answers is not None and not isinstance(answers[0], Mapping):
            reference["answers"] = _listed(answers[0])
        evidence = self._find("evidence_ids")
        if evidence is not None:
            reference["evidence_ids"] = _listed(evidence[0])
        correct = self._find("correct")
        if correct is not None:
            reference["correct"] = self._correct(*correct)
        found: dict[str, Any] = {"reference": reference} if reference else {}
        injected = self._find("injected_stage")
        stage = self._fields.stage_named(injected[0]) if injected else None
        if stage is not None:
            kind = self._text("injected_type") or "unknown"
            found["injected"] = {"stage": stage.value, "type": kind}
        return found

    def _correct(self, value: object, path: str) -> bool | str:
        words = {"partial": "partly", "partially_correct": "partly", "partly": "partly"}
        word = str(value).strip().lower()
        if word in words:
            return words[word]
        if word in {"true", "1", "1.0", "correct", "yes", "right"}:
            return True
        if word in {"false", "0", "0.0", "wrong", "incorrect", "no"}:
            return False
        raise BadInput(f"{path}: must be true, false, correct, partly or wrong")

    def _side(self, stage: Stage, side: str) -> tuple[object | None, str]:
        """Return what a stage received (``input``) or returned (``output``), and its path."""
        inside = self._find("stage", stage)
        if inside is not None:
            whole, path = inside
            if not isinstance(whole, Mapping):
                return (whole, path) if side == "output" else (None, path)
            found = self._fields.find(whole, f"stage_{side}")
            if found is not None:
                return found[0], f"{path}.{found[1]}"
            direct = self._fields.find(whole, "chunks" if stage in _OF_CHUNKS else "texts")
            if direct is not None and (side == "output" or stage is Stage.EMBEDDER):
                return direct[0], f"{path}.{direct[1]}"
        flat = self._find(f"flat_{side}", stage)
        return (None, "") if flat is None else flat

    def _texts_at(self, value: object, path: str) -> list[str] | None:
        if value is None:
            return None
        if isinstance(value, Mapping):
            inner = self._fields.find(value, "texts")
            if inner is None:
                tried = ", ".join(self._fields.paths["texts"])
                raise BadInput(f"{path}: holds no text (tried {tried})")
            return self._texts_at(inner[0], f"{path}.{inner[1]}")
        if isinstance(value, list):
            texts = [self._texts_at(each, path) or [] for each in value]
            return [text for each in texts for text in each]
        if not isinstance(value, str | int | float):
            raise BadInput(f"{path}: must be a text")
        return [str(value)]

    def _chunks_at(self, value: object, path: str) -> list[dict[str, Any]] | None:
        if value is None:
            return None
        if isinstance(value, Mapping):
            inner = self._fields.find(value, "chunks")
            if inner is None:
                tried = ", ".join(self._fields.paths["chunks"])
                raise BadInput(f"{path}: holds no chunks (tried {tried})")
            return self._chunks_at(inner[0], f"{path}.{inner[1]}")
        chunks = self._chunk_list(value)
        if chunks is None:
            raise BadInput(f"{path}: must be a list of chunks: texts, ids, or mappings with a text")
        return chunks

    def _chunk_list(self, value: object) -> list[dict[str, Any]] | None:
        if not isinstance(value, list):
            return None
        chunks = [self._chunk(each) for each in value]
        known = [each for each in chunks if each is not None]
        return known if len(known) == len(chunks) else None

    def _chunk(self, each: object) -> dict[str, Any] | None:
        if isinstance(each, str | int):
            text = self._documents.get(str(each))
            if text is not None:
                return {"id": str(each), "text": text}
            return {"text": each} if isinstance(each, str) and " " in each else {"id": str(each)}
        if not isinstance(each, Mapping):
            return None
        chunk: dict[str, Any] = {}
        for key in ("chunk_id", "chunk_text", "chunk_title", "chunk_score"):
            found = self._fields.find(each, key)
            if found is not None:
                chunk[key.removeprefix("chunk_")] = found[0]
        if "id" in chunk:
            chunk["id"] = str(chunk["id"])
            if "text" not in chunk and chunk["id"] in self._documents:
                chunk["text"] = self._documents[chunk["id"]]
        return chunk or None

    def _text(self, key: str) -> str | None:
        found = self._find(key)
        if found is None:
            return None
        value, path = found
        if not isinstance(value, str | int | float):
            raise BadInput(f"{path}: must be a text")
        return str(value)

    def _find(self, key: str, stage: Stage | None = None) -> tuple[object, str] | None:
        found = self._fields.find(self._data, key, stage)
        if found is not None:
            self._found.setdefault(key if stage is None else f"{key} ({stage})", found[1])
        return found


def _label_of(*, faulty: bool | None, types: Iterable[str]) -> dict[str, Any] | None:
    if faulty is None:
        return None
    return {"faulty": faulty, "types": list(types)} if faulty else {"faulty": False}


def _listed(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return [] if value in {None, ""} else [str(value)]


def _has(record: Json, stage: Stage) -> bool:
    return _KEYS[stage] in record


_OF_CHUNKS = frozenset({Stage.RETRIEVER, Stage.RERANKER})
_KEYS = {
    Stage.REWRITER: "rewrites",
    Stage.EMBEDDER: "embedder_input",
    Stage.RETRIEVER: "retrieved",
    Stage.RERANKER: "reranked",
    Stage.GENERATOR: "answer",
}

"""Turns a run record and the known evidence into labels, by the rules of design.md, section 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from otel_raglog.lab.evidence import Evidence
from otel_raglog.lab.labelling.answers import label_generator
from otel_raglog.lab.labelling.known import Known, Record
from otel_raglog.lab.labelling.label import Label
from otel_raglog.lab.labelling.passages import label_assembly, label_reranker, label_retriever
from otel_raglog.lab.labelling.queries import label_embedder, label_rewriter
from otel_raglog.lab.vocabulary import Vocabulary
from otel_raglog.model import Stage


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labels of a record by stage; stages that the run lacks are no keys."""

    labels: Mapping[Stage, Label] = field(default_factory=dict)

    def as_record(self) -> dict[str, Any]:
        """Return the record's keys ``labels`` and ``unlabelled`` (stages, and why)."""
        return {
            "labels": {
                stage.value: {
                    "faulty": label.faulty,
                    "types": list(label.types),
                    "why": label.why,
                }
                for stage, label in self.labels.items()
                if label.faulty is not None
            },
            "unlabelled": {
                stage.value: label.why
                for stage, label in self.labels.items()
                if label.faulty is None
            },
        }


def label(record: Record, evidence: Evidence, vocabulary: Vocabulary) -> Labelled:
    """Return the label of every stage that ``record`` has.

    Read are the run itself, ``reference.standalone`` (the question without its history),
    ``reference.blank_slots`` and, for what a generator fault swapped, ``injected``. An injection
    that changed nothing by these rules leaves its stage ``ok``: it was absorbed.
    """
    known = Known(record, evidence)
    found: dict[Stage, Label] = {}
    if record.get("rewrites"):
        found[Stage.REWRITER] = label_rewriter(record, vocabulary)
    if record.get("embedder_input"):
        found[Stage.EMBEDDER] = label_embedder(record, vocabulary)
    if "retrieved" in record:
        found[Stage.RETRIEVER] = label_retriever(known)
    if "reranked" in record:
        found[Stage.RERANKER] = label_reranker(known)
    if "prompt" in record:
        found[Stage.ASSEMBLY] = label_assembly(known)
    if "answer" in record:
        found[Stage.GENERATOR] = label_generator(known)
    return Labelled(found)

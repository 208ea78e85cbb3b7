"""Two judges, and a third where they differ, to the labels of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from otel_raglog.judge.redacting import Redactor
from otel_raglog.lab.judges.case import Case, case_of
from otel_raglog.lab.judges.judge import Judge, Opinion, opinion_of, second_look
from otel_raglog.lab.judges.rules import labels_from
from otel_raglog.lab.labelling.label import Label, undecided
from otel_raglog.lab.labels import Labelled
from otel_raglog.model import Stage

JUDGES, ADJUDICATOR = "judges", "adjudicator"
_LABELS = frozenset({"labels", "unlabelled", "labelled_by"})


@dataclass(frozen=True, slots=True)
class Panel:
    """Two judges and an adjudicator, who see what ``redact`` leaves of a run.

    ``random`` (by a record's id) decides what is shown first.
    """

    first: Judge
    second: Judge
    adjudicator: Judge
    random: Callable[[str], Random] = Random
    redact: Redactor = field(default_factory=lambda: Redactor(()))

    def label(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``record`` with labels, ``unlabelled`` and ``labelled_by``.

        A judge that failed leaves the stages unlabelled; so does an adjudicator, those on which the
        judges differ. Stages of which too little was recorded are unlabelled; nobody is asked about
        a run that has no others.

        Raises:
            BadInput: the record is malformed.
            Rejected: a provider refuses key, account or model: it would refuse every run.
        """
        case = case_of(record, self.redact)
        decided = self._decided(case)
        missing = {stage: undecided(why) for stage, why in case.unlabelled.items()}
        every = {**decided.labels, **missing}
        labelled = Labelled({s: every[s] for s in Stage if s in every}).as_record()
        for stage, label in labelled["labels"].items():
            label["labelled_by"] = ADJUDICATOR if Stage(stage) in decided.adjudicated else JUDGES
        kept = {key: value for key, value in record.items() if key not in _LABELS}
        return {**kept, **labelled, "labelled_by": self._provenance(decided, case)}

    def _decided(self, case: Case) -> Decided:
        if not case.stages:
            nobody = tuple(Opinion(each.name, None) for each in (self.first, self.second))
            return Decided(nobody, ({}, {}))
        opinions = (opinion_of(self.first, case), opinion_of(self.second, case))
        said = tuple(_labels(each, case) for each in opinions)
        labels: dict[Stage, Label] = {}
        differ: list[Stage] = []
        for stage in case.stages:
            one, other = (each.get(stage) for each in said)
            if one is None or other is None:
                labels[stage] = undecided(_failures(opinions))
            elif one.faulty == other.faulty:
                labels[stage] = _agreed(one, other)
            else:
                differ.append(stage)
        decided = Decided(opinions, said, labels)
        return self._adjudicated(decided, case, differ) if differ else decided

    def _adjudicated(self, decided: Decided, case: Case, differ: list[Stage]) -> Decided:
        one, other = (each.findings for each in decided.opinions)
        if one is None or other is None:
            return decided
        third = second_look(
            self.adjudicator,
            case,
            (one, other),
            ", ".join(differ),
            self.random(case.run.run_id),
        )
        found = _labels(third, case)
        missing = undecided(f"the judges differ, and the adjudicator failed: {third.failure}")
        labels = {stage: found.get(stage, missing) for stage in differ}
        in_order = {s: {**decided.labels, **labels}[s] for s in case.stages}
        return replace(decided, labels=in_order, third=third, adjudicated=tuple(differ))

    def _provenance(self, decided: Decided, case: Case) -> dict[str, Any]:
        judges = [
            _opinion_json(opinion, labels, case)
            for opinion, labels in zip(decided.opinions, decided.said, strict=True)
        ]
        third: dict[str, Any] = {"judge": self.adjudicator.name}
        if decided.third is not None:
            third = _opinion_json(decided.third, _labels(decided.third, case), case)
        return {
            JUDGES: judges,
            ADJUDICATOR: third,
            "adjudicated": [stage.value for stage in decided.adjudicated],
        }


@dataclass(frozen=True, slots=True)
class Decided:
    """What was said of a run, and what came of it.

    ``said`` are the labels by each judge, ``adjudicated`` the stages on which they differ.
    """

    opinions: tuple[Opinion, ...]
    said: tuple[Mapping[Stage, Label], ...]
    labels: Mapping[Stage, Label] = field(default_factory=dict)
    third: Opinion | None = None
    adjudicated: tuple[Stage, ...] = ()


def _labels(opinion: Opinion, case: Case) -> Mapping[Stage, Label]:
    return {} if opinion.findings is None else labels_from(opinion.findings, case)


def _failures(opinions: tuple[Opinion, ...]) -> str:
    failed = [f"{each.judge} failed: {each.failure}" for each in opinions if each.failure]
    return "; ".join(failed)


def _agreed(one: Label, other: Label) -> Label:
    """Return the label of two that agree: the types that both name, or where none, all."""
    both = tuple(each for each in one.types if each in other.types)
    return replace(one, types=both or tuple(dict.fromkeys((*one.types, *other.types))))


def _opinion_json(opinion: Opinion, labels: Mapping[Stage, Label], case: Case) -> dict[str, Any]:
    if opinion.findings is None:
        failed = {} if opinion.failure is None else {"failed": opinion.failure}
        return {"judge": opinion.judge, **failed}
    return {
        "judge": opinion.judge,
        "faulty": {
            stage.value: label.faulty for stage, label in labels.items() if label.faulty is not None
        },
        "findings": opinion.findings.model_dump(
            mode="json", include={stage.value for stage in case.stages}
        ),
    }

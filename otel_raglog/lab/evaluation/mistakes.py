"""Judged runs to a list of what the detector got wrong, to be read one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from otel_raglog.lab.evaluation.outcomes import JudgedRun
from otel_raglog.model import Stage, StageVerdict


def mistakes_in(judged: Sequence[JudgedRun]) -> Iterator[dict[str, object]]:
    """Yield a JSON object for each missed fault and each false alarm, worst first.

    Worst is what the detector was surest of: where its probability is farthest from the
    threshold. Faulty stages that were not judged are misses too, and come last.
    """
    found = [
        (_distance(each, stage), number, stage, each)
        for number, each in enumerate(judged)
        for stage, faulty in each.labels.faulty.items()
        if faulty != _flagged(each, stage)
    ]
    for _, _, stage, each in sorted(found, key=lambda item: (-item[0], item[1], item[2])):
        verdict = each.verdicts.get(stage)
        labels = each.labels
        yield {
            "run_id": labels.run_id,
            "group": labels.group,
            "pipeline": labels.pipeline,
            "repeat": each.repeat,
            "stage": stage.value,
            "mistake": "missed" if labels.faulty[stage] else "false_alarm",
            "labelled_types": list(labels.types.get(stage, ())),
            "injected": None
            if labels.injected is None
            else {"stage": labels.injected[0].value, "type": labels.injected[1]},
            "verdict": "unknown" if verdict is None else verdict.verdict.value,
            "reason": None if verdict is None or verdict.reason is None else verdict.reason.value,
            "probability": None if verdict is None else verdict.probability,
            "threshold": None if verdict is None else verdict.threshold,
            "fault_types": [] if verdict is None else [f.value for f in verdict.fault_types],
            "measurements": {
                m.name: m.value
                for m in each.measured.measurements
                if m.stage is stage and m.value is not None
            },
        }


def _flagged(judged: JudgedRun, stage: Stage) -> bool:
    verdict = judged.verdicts.get(stage)
    return verdict is not None and verdict.verdict is StageVerdict.FAULTY


def _distance(judged: JudgedRun, stage: Stage) -> float:
    verdict = judged.verdicts.get(stage)
    if verdict is None or verdict.probability is None or verdict.threshold is None:
        return 0.0
    return abs(verdict.probability - verdict.threshold)

"""An evaluation to the stable JSON of ``evaluate --format json`` (design, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from otel_raglog.lab.evaluation.calibration import Calibration
from otel_raglog.lab.evaluation.confusion import Figures, Interval, Slice
from otel_raglog.lab.evaluation.correctness import CorrectnessFigures, Hidden
from otel_raglog.lab.evaluation.evaluation import Evaluation, PartFigures
from otel_raglog.lab.evaluation.ranking import Ranking

_DIGITS = 4

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Setting:
    """What was evaluated: which detector, how, and which runs were left out."""

    detector: str
    policy: str
    how: str
    unlabelled_runs: int = 0
    skipped_runs: int = 0


def to_json(evaluation: Evaluation, setting: Setting) -> Json:
    """Return the figures by stable names; a figure that nothing defines is ``null``."""
    overall = _slice(evaluation.overall)
    stages: dict[str, Json] = {}
    for stage, figures in evaluation.overall.stages.items():
        stages[stage.value] = {
            **_figures(figures),
            **_ranking(evaluation.rankings[stage]),
            "calibration": _calibration(evaluation.calibrations.get(stage)),
        }
    return {
        **overall,
        "stages": stages,
        "calibration": _calibration(evaluation.calibrations.get(None)),
        "natural": None if evaluation.natural is None else _slice(evaluation.natural),
        "injected": None if evaluation.injected is None else _slice(evaluation.injected),
        "pipelines": _slices(evaluation.pipelines),
        "fault_types": [_part(each) for each in evaluation.fault_types],
        "injections": [_part(each) for each in evaluation.injections],
        "ablation": [
            {
                "name": each.name,
                "checks": list(each.groups),
                "retrained": each.retrained,
                **_slice(each.figures),
            }
            for each in evaluation.ablation
        ],
        "left_out": {
            "pipelines": _slices(evaluation.left_out_pipelines),
            "parts": [
                {"kind": each.part.kind.value, **_part(each)} for each in evaluation.left_out_parts
            ],
        },
        "correctness": _correctness(evaluation.correctness),
        "detector_version": setting.detector,
        "policy": setting.policy,
        "protocol": setting.how,
        "unlabelled_runs": setting.unlabelled_runs,
        "skipped_runs": setting.skipped_runs,
        "bootstrap": {"draws": evaluation.draws, "seed": evaluation.seed, "by": "group"},
    }


def _slices(slices: Mapping[str, Slice]) -> Json:
    return {name: _slice(each) for name, each in slices.items()}


def _slice(found: Slice) -> Json:
    return {
        "runs": found.runs,
        "questions": found.questions,
        "pooled": _figures(found.pooled),
        "macro_f1": _round(found.macro_f1),
        "macro_f1_ci95": _interval(found.macro_f1_ci95),
        "run_level": _figures(found.run_level),
        "stages": {stage.value: _figures(each) for stage, each in found.stages.items()},
    }


def _figures(found: Figures) -> Json:
    return {
        "n": found.n,
        "faulty": found.faulty,
        "flagged": _round(found.flagged),
        "precision": _round(found.precision),
        "recall": _round(found.recall),
        "f1": _round(found.f1),
        "fpr": _round(found.fpr),
        "floor_f1": _round(found.floor_f1),
        "f1_ci95": _interval(found.f1_ci95),
        "recall_ci95": _interval(found.recall_ci95),
        "fpr_ci95": _interval(found.fpr_ci95),
        "unjudged": dict(found.unjudged),
        "unlabelled": found.unlabelled,
    }


def _ranking(found: Ranking) -> Json:
    return {
        "auc": _round(found.auc),
        "average_precision": _round(found.average_precision),
        "auc_n": found.n,
        "auc_faulty": found.faulty,
        "best_measurement": found.best_measurement,
        "best_measurement_auc": _round(found.best_auc),
    }


def _calibration(found: Calibration | None) -> Json | None:
    if found is None:
        return None
    return {
        "n": _round(found.n),
        "brier": _round(found.brier),
        "brier_of_share": _round(found.brier_of_share),
        "calibration_error": _round(found.calibration_error),
        "bins": [
            {
                "low": each.low,
                "high": each.high,
                "n": _round(each.n),
                "mean_probability": _round(each.mean_probability),
                "faulty_share": _round(each.faulty_share),
            }
            for each in found.bins
        ],
    }


def _part(found: PartFigures) -> Json:
    return {
        "stage": None if found.part.stage is None else found.part.stage.value,
        "type": found.part.name,
        "n": found.n,
        "faulty": found.faulty,
        "recall": _round(found.recall),
        "recall_ci95": _interval(found.recall_ci95),
        "false_alarms": found.false_alarms,
        "named": _round(found.named),
        "fpr": _round(found.fpr),
    }


def _correctness(found: CorrectnessFigures | None) -> Json | None:
    if found is None:
        return None
    return {
        "answers": _counts(found.answers),
        "by": _counts(found.by),
        "verdicts": {said: _counts(counts) for said, counts in found.verdicts.items()},
        "labels": {said: _counts(counts) for said, counts in found.labels.items()},
        "hidden_faults": {
            "right_answers": _round(found.right),
            **_hidden(found.hidden),
            "stages": {stage.value: _hidden(each) for stage, each in found.hidden_stages.items()},
        },
        "wrong_answers": {
            "n": _round(found.wrong),
            "first_faulty_stage": {
                "by_labels": _counts(found.first_by_labels),
                "by_verdicts": _counts(found.first_by_verdicts),
            },
            "same": _round(found.same_first),
            "agreement": _round(found.agreement),
            "both_name_one": _round(found.both_name),
            "same_named": _round(found.same_named),
        },
    }


def _hidden(found: Hidden) -> Json:
    return {
        "by_labels": _round(found.by_labels),
        "by_verdicts": _round(found.by_verdicts),
        "by_both": _round(found.by_both),
    }


def _counts(counts: Mapping[str, float]) -> Json:
    return {name: _round(count) for name, count in counts.items()}


def _interval(found: Interval | None) -> list[float] | None:
    return None if found is None else [round(found[0], _DIGITS), round(found[1], _DIGITS)]


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)

"""Runs judged by both tiers to the curve of how many are asked about against how good it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from otel_raglog.detect.artifact import Escalation
from otel_raglog.detect.confidences import ASKED_ABOUT
from otel_raglog.detect.escalation import band_at, is_uncertain
from otel_raglog.detect.rules1_weights import THRESHOLD
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.lab.evaluation.confusion import slice_of
from otel_raglog.lab.evaluation.detectors import TierTrainer, without_answers
from otel_raglog.lab.evaluation.outcomes import JudgedRun, MeasuredRun, judge_all, outcomes_of
from otel_raglog.lab.evaluation.retraining import Progress, Split
from otel_raglog.model import Stage, Verdict

WITHIN = 0.01
"""By how much the pooled F1 may stay below that of asking always."""

ERRORS = (
    *(round(0.01 * step, 2) for step in range(11)),
    *(round(0.1 + 0.02 * step, 2) for step in range(1, 16)),
    *(round(0.4 + 0.05 * step, 2) for step in range(1, 5)),
    1.01,
)
"""The errors whose bands are compared: from all runs to none."""

_DIGITS = 4


@dataclass(frozen=True, slots=True)
class BothTiers:
    """The same runs in the same order, as each tier judges them."""

    local: tuple[JudgedRun, ...]
    llm: tuple[JudgedRun, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """What comes out when runs are asked about whose verdict is wrong with that probability."""

    error: float
    asked: float
    f1: float
    precision: float
    recall: float
    false_positive_rate: float


def judge_tiers(
    splits: Sequence[Split], trainer: TierTrainer, progress: Progress, what: str = "Training"
) -> BothTiers:
    """Return every split's test runs as both tiers judge them that were trained on the others."""
    local: list[JudgedRun] = []
    llm: list[JudgedRun] = []
    for number, split in enumerate(splits, 1):
        both = tiers_of(split.test, trainer.fit(split.train), split.repeat)
        local.extend(both.local)
        llm.extend(both.llm)
        progress(what, number, len(splits))
    return BothTiers(tuple(local), tuple(llm))


def tiers_of(runs: Sequence[MeasuredRun], detector: LlmDetector, repeat: int = 0) -> BothTiers:
    """Return ``runs`` as each tier of ``detector`` judges them."""
    local = detector.local
    return BothTiers(
        tuple(
            JudgedRun(each, local.judge(each.run, without_answers(each).measurements), repeat)
            for each in runs
        ),
        judge_all(runs, detector, repeat),
    )


def curve_of(tiers: BothTiers, errors: Sequence[float] = ERRORS) -> tuple[Point, ...]:
    """Return a point for each of ``errors``: an error of 0 asks always, one above 1 never."""
    return tuple(_point(tiers, error) for error in errors)


def escalated(tiers: BothTiers, error: float) -> tuple[tuple[JudgedRun, ...], float]:
    """Return the runs as they are judged with escalation, and the share that is asked about."""
    found, asked = [], 0
    for local, llm in zip(tiers.local, tiers.llm, strict=True):
        wanted = _asks(local.verdicts, error)
        found.append(llm if wanted else local)
        asked += wanted
    return tuple(found), asked / max(1, len(found))


def narrowest(curve: Sequence[Point], within: float = WITHIN) -> Point:
    """Return the point with the fewest runs asked whose F1 is as good as always, or nearly so.

    Every point that asks about more must be as good too, so that no lucky one is chosen.
    """
    always = max(curve, key=lambda point: point.asked)
    chosen = always
    for point in sorted(curve, key=lambda point: -point.asked):
        if point.f1 < always.f1 - within:
            break
        chosen = point
    return chosen


def learned_from(curve: Sequence[Point], runs: int, local: str) -> Escalation:
    """Return what an artifact says of when the LLM is worth asking."""
    chosen = narrowest(curve)
    by_asked = sorted(curve, key=lambda point: point.asked)
    return Escalation(
        error=chosen.error,
        local=local,
        runs=runs,
        asked=round(chosen.asked, _DIGITS),
        f1=round(chosen.f1, _DIGITS),
        f1_always=round(by_asked[-1].f1, _DIGITS),
        f1_never=round(by_asked[0].f1, _DIGITS),
    )


def escalation_json(curve: Sequence[Point]) -> dict[str, object]:
    """Return the curve by stable names."""
    chosen = narrowest(curve)
    return {
        "within": WITHIN,
        "chosen": _json(chosen),
        "curve": [_json(point) for point in curve],
    }


def escalation_table(curve: Sequence[Point]) -> Table:
    """Return the curve for people; the chosen point is bold."""
    title = "Escalation: asking about runs whose local verdict may be wrong"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("error from", "runs asked", "pooled F1", "prec.", "recall", "FPR"):
        table.add_column(column, justify="right", no_wrap=True)
    chosen = narrowest(curve)
    for point in curve:
        table.add_row(
            f"{point.error:.2f}",
            f"{point.asked:.0%}",
            f"{point.f1:.3f}",
            f"{point.precision:.2f}",
            f"{point.recall:.2f}",
            f"{point.false_positive_rate:.3f}",
            style="bold" if point is chosen else None,
        )
    return table


def _json(point: Point) -> dict[str, float]:
    return {
        "error": point.error,
        "asked": round(point.asked, _DIGITS),
        "f1": round(point.f1, _DIGITS),
        "precision": round(point.precision, _DIGITS),
        "recall": round(point.recall, _DIGITS),
        "fpr": round(point.false_positive_rate, _DIGITS),
    }


def _point(tiers: BothTiers, error: float) -> Point:
    judged, asked = escalated(tiers, error)
    pooled = slice_of(outcomes_of(judged), draws=0, seed=0).pooled
    return Point(
        error,
        asked,
        pooled.f1 or 0.0,
        pooled.precision or 0.0,
        pooled.recall or 0.0,
        pooled.fpr or 0.0,
    )


def _asks(verdicts: Mapping[Stage, Verdict], error: float) -> bool:
    if error > 1:
        return False
    bands = {
        stage: band_at(error, THRESHOLD if verdict.threshold is None else verdict.threshold)
        for stage, verdict in verdicts.items()
        if stage in ASKED_ABOUT
    }
    return is_uncertain(verdicts, bands)

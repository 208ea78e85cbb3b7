"""What each group of checks adds: the same runs judged without it, and by it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from otel_raglog.checks.check import Check
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.detect.detector import Detector
from otel_raglog.lab.evaluation.outcomes import JudgedRun, MeasuredRun, judge_all
from otel_raglog.lab.evaluation.retraining import Progress, Split, Trainer, judge_splits

LOCAL = "local"
"""Stands for all checks that ask no LLM."""

JUDGE_CHECK_NAMES = tuple(check.name for check in JUDGE_CHECKS)


@dataclass(frozen=True, slots=True)
class Variant:
    """The groups of checks whose measurements a detector got, and what it said then."""

    name: str
    groups: tuple[str, ...]
    judged: tuple[JudgedRun, ...]
    retrained: bool


def groups_of(checks: Iterable[Check]) -> Mapping[str, str]:
    """Return the group of checks (``rules``, ``similarity`` …) of each measurement, by name.

    A check that fails measures under its own name, which is of its group too.
    """
    found: dict[str, str] = {}
    for check in checks:
        group = check.name.partition(".")[0]
        found |= dict.fromkeys((*check.measures, check.name), group)
    return found


def only(run: MeasuredRun, groups: Iterable[str], group_of: Mapping[str, str]) -> MeasuredRun:
    """Return ``run`` with the measurements of ``groups`` alone."""
    wanted = frozenset(groups)
    kept = tuple(each for each in run.measurements if group_of.get(each.name) in wanted)
    return replace(run, measurements=kept)


def variants_of(group_of: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names and groups of what is compared: all, without each, each alone."""
    groups = tuple(dict.fromkeys(group_of.values()))
    if len(groups) < 2:  # noqa: PLR2004  nothing to leave out
        return ()
    without = tuple(
        (f"without {group}", tuple(other for other in groups if other != group)) for group in groups
    )
    alone = tuple((f"{group} alone", (group,)) for group in groups) if len(groups) > 2 else ()  # noqa: PLR2004  of two, one alone is without the other
    return (("all", groups), *without, *alone)


def ablate(
    runs: Sequence[MeasuredRun], group_of: Mapping[str, str], detector: Detector
) -> Iterator[Variant]:
    """Yield what ``detector`` says when measurements are missing; it is not trained anew."""
    for name, groups in variants_of(group_of):
        kept = [only(run, groups, group_of) for run in runs]
        yield Variant(name, groups, judge_all(kept, detector), retrained=False)


def ablate_retrained(
    splits: Sequence[Split], group_of: Mapping[str, str], trainer: Trainer, progress: Progress
) -> Iterator[Variant]:
    """Yield what detectors say that were trained without the measurements, too."""
    for name, groups in variants_of(group_of):
        thin = partial(only, groups=groups, group_of=group_of)
        judged = _judge_thinned(splits, thin, trainer, progress, name)
        yield Variant(name, groups, judged, retrained=True)


def judge_variants() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the names of what is compared of an LLM's checks, and the checks whose answers stay.

    Each one left out, and each one alone, beside the local checks.
    """
    without = tuple(
        (f"without {name}", tuple(other for other in JUDGE_CHECK_NAMES if other != name))
        for name in JUDGE_CHECK_NAMES
    )
    return (*without, *((f"local and {name}", (name,)) for name in JUDGE_CHECK_NAMES))


def without_checks(run: MeasuredRun, kept: Iterable[str]) -> MeasuredRun:
    """Return ``run`` with the answers to those of an LLM's checks alone, beside the local ones."""
    wanted = frozenset(kept)
    dropped = {
        name for check in JUDGE_CHECKS if check.name not in wanted for name in check.measures
    }
    left = tuple(each for each in run.measurements if each.name not in dropped)
    return replace(run, measurements=left)


def ablate_judge(
    splits: Sequence[Split], trainer: Trainer, progress: Progress
) -> Iterator[Variant]:
    """Yield what detectors say that were trained without the answers to some of an LLM's checks."""
    for name, groups in judge_variants():
        thin = partial(without_checks, kept=groups)
        judged = _judge_thinned(splits, thin, trainer, progress, name)
        yield Variant(name, (LOCAL, *groups), judged, retrained=True)


def _judge_thinned(
    splits: Sequence[Split],
    thin: Callable[[MeasuredRun], MeasuredRun],
    trainer: Trainer,
    progress: Progress,
    name: str,
) -> tuple[JudgedRun, ...]:
    kept: dict[int, MeasuredRun] = {}

    def once(run: MeasuredRun) -> MeasuredRun:
        # One object a run: how often it was judged is counted by it.
        return kept.setdefault(id(run), thin(run))

    thinned = [
        Split(tuple(map(once, split.train)), tuple(map(once, split.test)), split.repeat)
        for split in splits
    ]
    return judge_splits(thinned, trainer, progress, f"Ablation, {name}")

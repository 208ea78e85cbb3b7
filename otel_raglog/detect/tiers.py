"""Local verdicts and an LLM's answers to the verdicts of the LLM tier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.detect.combining import COMBINATION, THRESHOLD, combine, named_by
from otel_raglog.detect.confidences import ASKED_ABOUT, JUDGED, confidences_of
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble, Place, unless_cleared
from otel_raglog.detect.escalation import DEFAULT_ERROR, Bands, bands_at
from otel_raglog.detect.features import features_of
from otel_raglog.detect.judgeable import asks_nothing, step_unknown
from otel_raglog.detect.judging import (
    BY_STEP,
    NEED_NO_READING,
    ignored_types,
    of_step,
    values_of,
    warnings_of,
    worst_of,
)
from otel_raglog.model import (
    Measurement,
    Run,
    Stage,
    StageVerdict,
    UnknownReason,
    Verdict,
)

ANSWERS_ALONE = "the local detector abstained: judged by an LLM's answers alone"


class LlmDetector:
    """Judges by the local checks and an LLM's answers together.

    The stages that ``trained`` has models of are judged by these, the others, and those that its models
    cannot judge, by the combination of the local probability and the LLM's confidences. What the local
    detector abstained on (another language, code) is judged by the confidences alone. A stage of which
    the answers say nothing, and one that is a fault by definition, keeps the local verdict.

    ``bands`` say where the LLM is worth asking: those given; of other stages where the local verdict is
    as likely to be wrong as ``trained`` has learned, or as by default.
    """

    def __init__(
        self,
        local: Detector,
        trained: Ensemble | None = None,
        bands: Bands | None = None,
    ) -> None:
        self.local = local
        self.trained = trained
        self.bands: Bands = {**_learned(local, trained), **(bands or {})}
        self.version = f"{trained.version if trained else COMBINATION}+{local.version}"
        self.reads = local.reads | JUDGED | (trained.reads if trained else frozenset())

    @property
    def untrained(self) -> bool:
        """Whether no model was trained on an LLM's answers."""
        return self.trained is None

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return a verdict for every :class:`Stage`; without answers, the local one."""
        answered = any(m.name in JUDGED and m.value is not None for m in measurements)
        local = self.local.judge(run, [m for m in measurements if m.name not in JUDGED])
        if not answered or asks_nothing(run):
            return local
        models = {} if self.trained is None else self.trained.by_models(measurements)
        found = dict(local)
        for stage in ASKED_ABOUT:
            own = [m for m in measurements if m.stage is stage]
            found[stage] = _stage_verdict(run, local[stage], own, models)
        retriever = found[Stage.RETRIEVER]
        if retriever.verdict is StageVerdict.FAULTY:
            found[Stage.RETRIEVER] = unless_cleared(retriever, features_of(measurements))
        return found


def _learned(local: Detector, trained: Ensemble | None) -> Bands:
    """Return the bands that were learned, for a local detector like the one they were learned beside.

    The probabilities of rules-1 are not calibrated: beside it the default counts.
    """
    if not isinstance(local, Ensemble):
        return bands_at(DEFAULT_ERROR, {})
    learned = None if trained is None else trained.escalation
    return bands_at(DEFAULT_ERROR if learned is None else learned.error, local.thresholds)


def _stage_verdict(
    run: Run, local: Verdict, own: Sequence[Measurement], models: Mapping[Place, Verdict]
) -> Verdict:
    stage = local.stage
    if not _may_be_judged(local) or ignored_types(run, stage):
        return local
    if stage not in BY_STEP:
        return _joined(local, values_of(own), models.get((stage, None)))
    steps = []
    for index, step in enumerate(run.steps(stage)):
        said = local.steps[index] if local.steps else replace(local, step=index)
        reason = step_unknown(step)
        if reason not in {None, UnknownReason.ABSTAINED}:
            steps.append(Verdict(stage, StageVerdict.UNKNOWN, reason=reason, step=index))
        else:
            values = values_of(of_step(own, index))
            steps.append(_joined(said, values, models.get((stage, index))))
    return worst_of(stage, tuple(steps))


def _may_be_judged(verdict: Verdict) -> bool:
    return verdict.probability is not None or verdict.reason is UnknownReason.ABSTAINED


def _joined(local: Verdict, values: Mapping[str, float], by_models: Verdict | None) -> Verdict:
    """Return the verdict on one stage or step of which there are answers, else the local one."""
    if JUDGED.isdisjoint(values) or not _may_be_judged(local):
        return local
    if not NEED_NO_READING.isdisjoint(local.fault_types):
        return local
    if local.probability is not None and by_models is not None:
        return by_models
    confidences = confidences_of(local.stage, values)
    if not confidences:
        return local
    probability = combine(confidences, local.probability, local.threshold or THRESHOLD)
    faulty = probability >= THRESHOLD
    return Verdict(
        local.stage,
        StageVerdict.FAULTY if faulty else StageVerdict.OK,
        probability=probability,
        threshold=THRESHOLD,
        fault_types=named_by(confidences, local.fault_types) if faulty else (),
        warnings=tuple(dict.fromkeys((*local.warnings, *warnings_of(local.stage, values)))),
        explanation=ANSWERS_ALONE if local.probability is None else "",
        step=local.step,
    )

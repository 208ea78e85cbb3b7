"""Turns measurements into verdicts by trained and calibrated models: the detector of an artifact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from otel_raglog.detect.artifact import Artifact
from otel_raglog.detect.clearing import is_cleared
from otel_raglog.detect.compiled import Evaluator
from otel_raglog.detect.confidences import JUDGED
from otel_raglog.detect.features import CLUE_PREFIX, RunFeatures, features_of, stage_of
from otel_raglog.detect.judging import (
    BY_STEP,
    NEED_NO_READING,
    declines,
    judge_stages,
    warnings_of,
)
from otel_raglog.detect.naming import with_readings
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import (
    READ_BY_CLUES,
    has_clues,
    named_types,
    step_verdict,
    type_probabilities,
)
from otel_raglog.errors import ConfigError
from otel_raglog.model import FAULT_TYPES, FaultType, Measurement, Run, Stage, StageVerdict, Verdict

_ENOUGH = 0.5
"""The share of a stage's usual measurements without which its models are not asked."""

_SURE = 0.9 - 1e-9
"""The probability that rules-1 gives to what a provider or a count says."""

Place = tuple[Stage, int | None]


class Ensemble:
    """The detector of a trained artifact.

    A stage is judged by rules-1 instead where the artifact has no models of it, where fewer than
    half of the stage's measurements that nine in ten training runs had were made (a run judged by
    rules alone), where the record cannot tell the stage's fault from something else, and where the
    answer declines: training runs hardly have refusals, and most of what is measured of the
    generator is about what an answer claims. What is a fault by definition (an empty result, an
    answer that the provider cut off) is one whatever the models say.

    Raises:
        ConfigError: ``thresholds`` names a stage that the artifact has no models of.
    """

    def __init__(
        self,
        artifact: Artifact,
        policy: Policy = Policy.MONITORING,
        thresholds: Mapping[Stage, float] | None = None,
    ) -> None:
        manifest = artifact.manifest
        own = dict(thresholds or {})
        if unknown := sorted(stage.value for stage in own.keys() - manifest.stages.keys()):
            trained = ", ".join(stage.value for stage in manifest.stages)
            raise ConfigError(
                f"analysis.thresholds: {manifest.version} has no models of {', '.join(unknown)}; "
                f"it has {trained}"
            )
        self._artifact = artifact
        self._names = {
            stage: tuple(manifest.features[column] for column in compiled.columns)
            for stage, compiled in artifact.stages.items()
        }
        self._evaluator = Evaluator(artifact.stages)
        self._thresholds = {
            stage: own.get(stage, entry.thresholds[policy])
            for stage, entry in manifest.stages.items()
        }
        self._usual = {
            stage: [
                name
                for name, usual in zip(self._names[stage], compiled.usual, strict=True)
                if usual
                and stage_of(name) is stage
                and not name.startswith(CLUE_PREFIX)
                and name not in JUDGED
            ]
            for stage, compiled in artifact.stages.items()
        }
        self.version = manifest.version + _suffix(policy, own)
        self.trained_on = manifest.trained_on
        self.escalation = manifest.escalation
        # What rules-1 judges in its stead needs what rules-1 reads.
        self.reads = READ_BY_CLUES.union(manifest.measurements)

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return a verdict for every :class:`Stage`."""
        found = self.by_models(measurements)

        def judge_step(
            stage: Stage,
            step: int | None,
            own: Sequence[Measurement],
            ignored: frozenset[FaultType],
        ) -> Verdict:
            verdict = None if ignored else found.get((stage, step))
            return verdict or step_verdict(stage, step, own, ignored)

        return judge_stages(run, measurements, judge_step, self.version)

    def by_models(self, measurements: Sequence[Measurement]) -> dict[Place, Verdict]:
        """Return the verdicts on the stages and steps that the models can judge.

        Whether a stage is there and can be read is not looked at.
        """
        features = features_of(measurements)
        found = {}
        for (stage, step), probability in self.probabilities(features).items():
            values = features.shared if step is None else features.steps[stage][step]
            if not declines(stage, values) and has_clues(stage, values):
                found[stage, step] = self._verdict(stage, step, values, probability)
        retriever = found.get((Stage.RETRIEVER, None))
        if retriever is not None and retriever.verdict is StageVerdict.FAULTY:
            found[Stage.RETRIEVER, None] = unless_cleared(retriever, features)
        return found

    @property
    def thresholds(self) -> Mapping[Stage, float]:
        """The probability from which on each trained stage is faulty."""
        return self._thresholds

    def threshold(self, stage: Stage) -> float:
        """Return the probability from which on a trained stage is faulty."""
        return self._thresholds[stage]

    def probabilities(self, features: RunFeatures) -> dict[Place, float]:
        """Return the calibrated probability of every stage and step that the models can judge."""
        rows = []
        places: list[Place] = []
        for stage in self._artifact.stages:
            steps: Sequence[int | None] = (
                list(features.steps.get(stage, {})) if stage in BY_STEP else [None]
            )
            for step in steps:
                if self._enough(stage, step, features):
                    rows.append((stage, features.vector(self._names[stage], stage, step)))
                    places.append((stage, step))
        found = dict(zip(places, self._evaluator.probabilities(rows), strict=True))
        for (stage, step), probability in found.items():
            values = features.shared if step is None else features.steps[stage][step]
            clues = {
                fault: values.get(f"{CLUE_PREFIX}{stage.value}.{fault.value}", 0.0)
                for fault in FAULT_TYPES[stage]
            }
            found[stage, step] = max(probability, _by_definition(clues))
        return found

    def _enough(self, stage: Stage, step: int | None, features: RunFeatures) -> bool:
        values = features.shared if step is None else features.steps[stage][step]
        usual = self._usual[stage]
        if not usual and not JUDGED.isdisjoint(self._names[stage]):
            # Trained on an LLM's answers alone.
            return not JUDGED.isdisjoint(values)
        return sum(name in values for name in usual) >= max(1.0, _ENOUGH * len(usual))

    def _verdict(
        self, stage: Stage, step: int | None, values: Mapping[str, float], probability: float
    ) -> Verdict:
        clues = type_probabilities(stage, values)
        threshold = self._thresholds[stage]
        if _by_definition(clues):
            threshold = min(threshold, probability)
        faulty = probability >= threshold
        by_type = with_readings(stage, clues, values)
        types = named_types(by_type) if faulty and by_type else ()
        return Verdict(
            stage,
            StageVerdict.FAULTY if faulty else StageVerdict.OK,
            probability=probability,
            threshold=threshold,
            fault_types=types or (self._artifact.manifest.stages[stage].default_type,)
            if faulty
            else (),
            warnings=warnings_of(stage, values),
            step=step,
        )


def _by_definition(types: Mapping[FaultType, float]) -> float:
    """Return the probability of what is a fault by definition, when it is sure; else 0.

    A finish reason or an empty result need no learning, and few training runs have them.
    """
    sure = (probability for fault, probability in types.items() if fault in NEED_NO_READING)
    return max((each for each in sure if each >= _SURE), default=0.0)


def unless_cleared(verdict: Verdict, features: RunFeatures) -> Verdict:
    """Return a flag on the retriever, lifted when the evidence was excluded by the reranker."""
    if not is_cleared(features.shared) or verdict.threshold is None:
        return verdict
    below = float(np.nextafter(verdict.threshold, 0.0))
    return replace(
        verdict,
        verdict=StageVerdict.OK,
        probability=min(verdict.probability or 0.0, below),
        fault_types=(),
        explanation="what the question asks was retrieved, but only in chunks that the reranker "
        "excluded",
    )


def _suffix(policy: Policy, own: Mapping[Stage, float]) -> str:
    """Return what tells apart verdicts of one artifact at other thresholds than its usual ones."""
    name = "" if policy is Policy.MONITORING else f"+{policy.value}"
    if not own:
        return name
    text = json.dumps({stage.value: own[stage] for stage in sorted(own)})
    return f"{name}+own-{hashlib.sha256(text.encode()).hexdigest()[:4]}"

"""Which local verdicts are uncertain."""

import pytest
from evaluation_runs import said

from otel_raglog.detect.escalation import Band, band_at, bands_at, is_uncertain, uncertain_stages
from otel_raglog.model import Stage, StageVerdict, UnknownReason, Verdict

BANDS = {Stage.RETRIEVER: Band(0.2, 0.8), Stage.GENERATOR: Band(0.4, 0.6)}


@pytest.mark.parametrize(
    ("error", "threshold", "band"),
    [
        (0.0, 0.5, (0.0, 1.0)),
        (0.2, 0.5, (0.2, 0.8)),
        (0.4, 0.3, (0.3, 0.6)),
        (0.4, 0.7, (0.4, 0.7)),
    ],
)
def test_a_band_is_where_the_verdict_is_wrong_often_enough(error, threshold, band) -> None:
    """Below the threshold a miss, above it a false alarm; the threshold is always in it."""
    found = band_at(error, threshold)
    assert (found.low, found.high) == pytest.approx(band)
    assert found.holds(threshold)


def test_a_stage_without_a_threshold_is_held_against_one_half() -> None:
    """Every stage that an LLM is asked about has a band."""
    bands = bands_at(0.3, {Stage.GENERATOR: 0.75})
    assert bands[Stage.GENERATOR] == Band(0.3, 0.75)
    assert bands[Stage.EMBEDDER] == Band(0.3, 0.7)
    assert Stage.ASSEMBLY not in bands


def test_a_verdict_is_uncertain_in_its_band_alone() -> None:
    """Each stage has a band of its own, both ends included; a stage without one is certain."""
    verdicts = {
        stage: said(stage, probability)
        for stage, probability in (
            (Stage.REWRITER, 0.5),
            (Stage.RETRIEVER, 0.8),
            (Stage.GENERATOR, 0.61),
        )
    }
    assert uncertain_stages(verdicts, BANDS) == (Stage.RETRIEVER,)


def test_what_the_local_detector_abstained_on_is_worth_asking() -> None:
    """What is absent, or was not recorded, no LLM can know either."""
    abstained = Verdict(Stage.GENERATOR, StageVerdict.UNKNOWN, reason=UnknownReason.ABSTAINED)
    lost = Verdict(Stage.GENERATOR, StageVerdict.UNKNOWN, reason=UnknownReason.NOT_CAPTURED)
    assert is_uncertain({Stage.GENERATOR: abstained}, {})
    assert not is_uncertain({Stage.GENERATOR: lost}, BANDS)
    assert not is_uncertain({Stage.GENERATOR: Verdict(Stage.GENERATOR, StageVerdict.ABSENT)}, BANDS)

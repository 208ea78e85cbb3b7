"""The fixed combination of a local probability and an LLM's confidences."""

import pytest

from otel_raglog.detect.combining import combine, named_by
from otel_raglog.model import FaultType

INCOMPLETE, UNSUPPORTED = FaultType.INCOMPLETE, FaultType.UNSUPPORTED_CLAIM


def test_where_the_llm_is_in_doubt_the_local_verdict_stands() -> None:
    """On either side of the local threshold, wherever that lies."""
    assert combine({INCOMPLETE: 0.5}, 0.7, 0.6) > 0.5 > combine({INCOMPLETE: 0.5}, 0.5, 0.6)


def test_where_the_local_detector_is_in_doubt_the_llm_decides() -> None:
    """By the type that it is surest of."""
    assert combine({INCOMPLETE: 0.1, UNSUPPORTED: 0.9}, 0.6, 0.6) == pytest.approx(0.9)
    assert combine({INCOMPLETE: 0.1, UNSUPPORTED: 0.2}, 0.6, 0.6) == pytest.approx(0.2)


def test_both_count_alike_and_neither_is_certain() -> None:
    """Opposite opinions cancel, even if one claims certainty; without a local one the LLM's counts."""
    assert combine({INCOMPLETE: 1.0}, 0.0) == pytest.approx(0.5)
    assert combine({INCOMPLETE: 0.8}) == pytest.approx(0.8)


def test_types_that_the_llm_speaks_for_are_named() -> None:
    """The surest first; when it speaks for none, what the local detector named, else the surest."""
    assert named_by({INCOMPLETE: 0.6, UNSUPPORTED: 0.9}, (INCOMPLETE,)) == (UNSUPPORTED, INCOMPLETE)
    assert named_by({INCOMPLETE: 0.4}, (INCOMPLETE,)) == (INCOMPLETE,)
    assert named_by({INCOMPLETE: 0.4, UNSUPPORTED: 0.1}) == (INCOMPLETE,)


def test_a_local_type_that_the_llm_was_not_asked_about_stays_first() -> None:
    """That a text is misspelled says more than that it is unfaithful."""
    misspelled, altered = FaultType.MISSPELLED_INPUT, FaultType.ALTERED_INPUT
    assert named_by({altered: 0.9}, (misspelled,)) == (misspelled, altered)

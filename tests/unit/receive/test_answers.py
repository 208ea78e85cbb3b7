"""What senders are told."""

from __future__ import annotations

import pytest

from otel_raglog.model import Signal
from otel_raglog.receive.answers import answer_export, explain_unserved
from otel_raglog.receive.intake import Receipt


@pytest.mark.parametrize("signal", list(Signal))
def test_full_success_is_an_empty_response_of_the_signal(signal: Signal) -> None:
    """OTLP wants no partial success then."""
    answer = answer_export(signal, Receipt(5))
    assert answer.SerializeToString() == b""
    assert signal.removesuffix("s") in type(answer).__name__.lower()


def test_rejected_spans_are_a_partial_success() -> None:
    """With their number and the reasons."""
    answer = answer_export(Signal.TRACES, Receipt(5, {"invalid_span_id": 2, "invalid_link": 1}))
    assert answer.partial_success.rejected_spans == 3
    assert answer.partial_success.error_message == "invalid_link: 1, invalid_span_id: 2"


def test_an_unserved_signal_is_explained() -> None:
    """With the option that decides it."""
    assert "no destination takes logs" in explain_unserved(Signal.LOGS)

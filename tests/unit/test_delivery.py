"""What destinations take; the rest of delivery is specified in tests/fault/test_forwarding.py."""

import pytest

from otel_raglog.config import load_config
from otel_raglog.delivery import signals_of
from otel_raglog.errors import ConfigError
from otel_raglog.model import Signal


def taken(**options):
    """Return what a destination of these options takes."""
    config = load_config(None, {"exporters": {"b": options}}, {})
    return signals_of("b", config.exporters["b"])


def test_a_destination_takes_all_that_its_kind_takes():
    """Spans, logs and metrics go to most; verdicts are on spans."""
    assert taken(kind="otlp_grpc", endpoint="http://h:4317") == set(Signal)
    assert taken(kind="phoenix") == {Signal.TRACES}


def test_a_destination_takes_what_it_is_told_to():
    """Within what its kind takes."""
    assert taken(kind="otlp_grpc", endpoint="http://h:4317", signals=["logs"]) == {Signal.LOGS}
    assert taken(kind="phoenix", signals=["traces"]) == {Signal.TRACES}


def test_a_kind_is_not_told_to_take_what_it_does_not():
    """A door would take logs in, and nobody would get them."""
    with pytest.raises(ConfigError, match=r"exporters\.b\.signals: phoenix takes traces, not logs"):
        taken(kind="phoenix", signals=["traces", "logs"])

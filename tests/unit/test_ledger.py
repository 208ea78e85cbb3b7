"""What the ledger promises: every item is in its books exactly once, per destination and signal."""

import pytest
from prometheus_client import CollectorRegistry

from otel_raglog.ledger import Ledger
from otel_raglog.model import Signal

TRACES = Signal.TRACES


@pytest.fixture
def registry():
    """A registry of the test's own."""
    return CollectorRegistry()


def value(registry, name, **labels):
    return registry.get_sample_value(name, labels)


def test_the_ledger_balances_for_every_destination(registry):
    """received + recovered = forwarded + rejected + dropped + pending, per destination."""
    ledger = Ledger(registry)
    ledger.add_exporter("a")
    ledger.add_exporter("b")
    ledger.received(TRACES, 10)
    ledger.rejected(TRACES, "invalid_trace_id", 2)
    ledger.recovered("b", TRACES, 3)
    ledger.forwarded("a", TRACES, 5)
    ledger.backend_rejected("a", TRACES, 1)
    ledger.dropped("b", TRACES, "expired", 8)
    assert ledger.balances()["a", TRACES].pending == 2
    assert ledger.balances()["b", TRACES].pending == 3
    assert value(registry, "raglog_spans_pending") == 3
    assert value(registry, "raglog_spans_received_total") == 10
    assert value(registry, "raglog_spans_rejected_total", reason="invalid_trace_id") == 2
    assert value(registry, "raglog_spans_forwarded_total", exporter="a") == 5
    assert value(registry, "raglog_spans_recovered_total", exporter="b") == 3
    assert (
        value(registry, "raglog_spans_dropped_total", exporter="a", reason="backend_rejected") == 1
    )


def test_signals_have_books_of_their_own(registry):
    """Log records and data points are counted like spans, under their own names."""
    ledger = Ledger(registry)
    ledger.add_exporter("a", [TRACES, Signal.LOGS])
    ledger.add_exporter("b", [Signal.METRICS])
    ledger.received(Signal.LOGS, 4)
    ledger.received(Signal.METRICS, 7)
    ledger.forwarded("a", Signal.LOGS, 3)
    assert ledger.balances()["a", Signal.LOGS].pending == 1
    assert ledger.balances().keys() == {
        ("a", TRACES),
        ("a", Signal.LOGS),
        ("b", Signal.METRICS),
    }
    assert value(registry, "raglog_log_records_received_total") == 4
    assert value(registry, "raglog_log_records_pending") == 1
    assert value(registry, "raglog_metric_points_pending") == 7
    assert value(registry, "raglog_spans_pending") == 0


def test_the_queue_is_read_when_it_is_asked_for(registry):
    """Nobody has to report it."""
    ledger = Ledger(registry)
    waiting = [1, 2, 3]
    ledger.watch_queue("a", TRACES, lambda: len(waiting))
    waiting.pop()
    assert value(registry, "raglog_queue_items", exporter="a", signal="traces") == 2


def test_damage_is_counted_in_records(registry):
    """How many items a damaged record held cannot be told."""
    Ledger(registry).damaged(2)
    assert value(registry, "raglog_journal_damaged_records_total") == 2


def test_what_lost_its_content_is_counted_by_destination():
    """It was forwarded all the same: the law does not change."""
    registry = CollectorRegistry()
    ledger = Ledger(registry)
    ledger.redaction_failed("b", Signal.LOGS, 2)
    labels = {"exporter": "b", "signal": "logs"}
    assert registry.get_sample_value("raglog_redaction_failures_total", labels) == 2

"""Logs and metrics pass through on both doors, unchanged, with the same guarantees."""

import pytest
from delivery import FAST, assert_conserved
from fault_backends import fault_backend
from sdk_signals import DATA_POINTS, LOG_RECORDS, SPANS, Endpoint, export_signals
from services import serving, wait_until

COUNTS = {"traces": SPANS, "logs": LOG_RECORDS, "metrics": DATA_POINTS}


@pytest.mark.parametrize("gzip", [False, True])
@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_what_the_sdk_exports_arrives_unchanged(tmp_path, protocol, gzip):
    """Every span, record and metric has the bytes that the SDK's exporter made of it.

    Those of traces are the same as well: none of these is a run, and ours are not added.
    """
    with fault_backend(protocol) as direct, fault_backend(protocol) as behind:
        exporters = {"b": {"kind": f"otlp_{protocol}", "endpoint": behind.endpoint}}
        with serving(tmp_path, exporters, sending=FAST) as served:
            endpoints = [
                Endpoint(protocol, direct.address, gzip=gzip),
                Endpoint(protocol, served.addresses[protocol], gzip=gzip),
            ]
            export_signals(endpoints)
            for signal, count in COUNTS.items():
                behind.wait_for(count, signal)
                assert_conserved(served, "b", signal=signal)
        for signal, count in COUNTS.items():
            assert direct.count(signal) == behind.count(signal) == count
            assert sorted(direct.items(signal)) == sorted(behind.items(signal))


def test_logs_and_metrics_outlive_a_kill(tmp_path):
    """They are journalled like spans."""
    with fault_backend("grpc") as direct, fault_backend("grpc") as behind:
        behind.down()
        exporters = {"b": behind.endpoint}
        with serving(tmp_path, exporters, sending=FAST) as served:
            export_signals(
                [Endpoint("grpc", direct.address), Endpoint("grpc", served.addresses["grpc"])]
            )
            served.process.kill()
            served.process.wait()
        behind.up()
        with serving(tmp_path, exporters, sending=FAST) as served:
            for signal, count in COUNTS.items():
                behind.wait_for(count, signal)
                wait_until(lambda signal=signal: not pending(served, signal))
                assert_conserved(served, "b", signal=signal)
    for signal in COUNTS:
        assert set(direct.items(signal)) == set(behind.items(signal))


def pending(served, signal):
    """Return what is queued of a signal."""
    return served.metric("raglog_queue_items", signal=signal)


def test_a_signal_that_no_destination_takes_is_refused(tmp_path):
    """Accepting it would be losing it; the application's SDK says so in its log."""
    with fault_backend("grpc") as backend:
        exporters = {"b": {"endpoint": backend.endpoint, "signals": ["traces"]}}
        with serving(tmp_path, exporters, sending=FAST) as served:
            from delivery import post

            answer = post(served, b"", "logs")
            assert answer.status_code == 404
            assert "no destination" in answer.text or b"no destination" in answer.content
            with pytest.raises(AssertionError, match="FAILURE"):
                export_signals([Endpoint("http", served.addresses["http"])])
            backend.wait_for(SPANS)

"""Settings to a worker and a sender that run together: events in, spans out at the sidecar."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog_proxy_bridge.addon_options import Settings, build_line
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.runs import CapturedRun
from otel_raglog_proxy_bridge.safety import RawCall
from otel_raglog_proxy_bridge.sending import SpanSender
from otel_raglog_proxy_bridge.worker import CaptureWorker


class Capturing:
    """What ``settings`` ask for, on two threads of this process."""

    def __init__(self, settings: Settings) -> None:
        self._sender = SpanSender(settings.target)
        self._worker: CaptureWorker[CapturedRun] = CaptureWorker(
            build_line(settings), self._sender, settings.rules
        )

    def start(self) -> None:
        """Begin to work."""
        self._sender.start()
        self._worker.start()

    @property
    def counts(self) -> Mapping[str, int]:
        """What became of calls and spans."""
        spans = {f"spans_{name}": count for name, count in self._sender.counts.items()}
        return {**self._worker.counts, **spans}

    def begin(self, call_id: str, started_ns: int, side: Side, traceparent: str = "") -> None:
        """Tell that a call started."""
        self._worker.begin(call_id, started_ns, side, traceparent)

    def put(self, raw: RawCall) -> None:
        """Take an ended call."""
        self._worker.put(raw)

    def forget(self, call_id: str) -> None:
        """Tell that a call that began is of no interest."""
        self._worker.forget(call_id)

    def close(self, timeout_seconds: float) -> None:
        """Write the open runs and send what waits, each within half of the time."""
        self._worker.close(timeout_seconds / 2)
        self._sender.close(timeout_seconds / 2)

"""What fault tests ask of a running service: the conservation law, and what is on its disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import httpx2
from otlp_items import span_key
from services import Served, wait_until

from otel_raglog.model import WireSpan
from otel_raglog_exporters.grouping import encode_request

PREFIX = {"traces": "raglog_spans", "logs": "raglog_log_records", "metrics": "raglog_metric_points"}
FAST = {
    "batch_seconds": 0.02,
    "initial_backoff_seconds": 0.1,
    "max_backoff_seconds": 0.4,
}
"""Waits scaled down, so that a test sees several tries."""


def keys(spans: Iterable[WireSpan]) -> set[tuple[bytes, bytes]]:
    """Return trace id and span id of each span."""
    return {(span.trace_id, span.span_id) for span in spans}


def sent_keys(body: bytes) -> set[tuple[bytes, bytes]]:
    """Return the same of a serialized request."""
    from otlp_items import items

    return {span_key(item.raw) for item in items(body)}


def post(served: Served, body: bytes, signal: str = "traces", **headers: str) -> httpx2.Response:
    """Post a request as an SDK does."""
    return httpx2.post(
        f"http://{served.addresses['http']}/v1/{signal}",
        content=body,
        headers={"content-type": "application/x-protobuf"} | headers,
        timeout=30,
    )


def offer(served: Served, spans: Sequence[WireSpan]) -> bool:
    """Post spans; return whether they were accepted. Nothing but 200 and 503 is an answer."""
    answer = post(served, encode_request(spans))
    assert answer.status_code in {200, 503}, answer.text
    if answer.status_code == 503:
        assert int(answer.headers["retry-after"]) >= 1
    return answer.status_code == 200


def assert_conserved(served: Served, *exporters: str, signal: str = "traces") -> None:
    """Assert received + recovered = forwarded + rejected + dropped + pending, per destination.

    Pending is what the journal itself counts, so the law is checked against a second book. Moves
    between two reads of the metrics are waited for.
    """
    wait_until(lambda: not imbalance(served, exporters, signal), 10)


def imbalance(served: Served, exporters: Sequence[str], signal: str) -> dict[str, float]:
    """Return by destination how many items are missing (or too many), 0 left out."""
    prefix = PREFIX[signal]
    undecided = served.metric("raglog_journal_undecided_items")
    accepted = served.metric(f"{prefix}_received_total") - served.metric(f"{prefix}_rejected_total")
    found = {}
    for name in exporters:
        owed = accepted + served.metric(f"{prefix}_recovered_total", exporter=name)
        settled = served.metric(f"{prefix}_forwarded_total", exporter=name)
        settled += served.metric(f"{prefix}_dropped_total", exporter=name)
        queued = served.metric("raglog_queue_items", exporter=name, signal=signal)
        found[name] = owed - settled - queued - undecided
    return {name: missing for name, missing in found.items() if missing}


def dropped(served: Served, exporter: str, reason: str, signal: str = "traces") -> float:
    """Return what was dropped for a destination, for a reason."""
    return served.metric(f"{PREFIX[signal]}_dropped_total", exporter=exporter, reason=reason)


def dead_letters(folder: Path, exporter: str) -> list[dict[str, object]]:
    """Return the lines of a destination's dead-letter file."""
    path = folder / "journal" / "dead-letters" / f"{exporter}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def resident_mib(served: Served) -> float:
    """Return the memory of the service's process."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024

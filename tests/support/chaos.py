"""A service that is killed again and again under load, and what must be true of it afterwards."""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from delivery import FAST, imbalance, keys
from fault_backends import FaultBackend, fault_backend
from otlp_items import items
from ports import free_port
from rag_traces import rag_trace
from samples import origin
from services import Served, serving, wait_until

from otel_raglog.model import WireSpan
from otel_raglog.receive.span import decode_span
from otel_raglog_exporters.grouping import encode_request

_TRACES_A_SECOND = 120
_LONGEST_LIFE_SECONDS = 1.5
_DIES_YOUNG_SHARE = 0.2
_HOLD = {"quiet_seconds": 0.4, "orphan_quiet_seconds": 0.8}
_RETRIED_SHARE = 0.5


@dataclass
class Load:
    """An application: sends traces in pieces, and remembers which spans were acknowledged.

    A piece that was not acknowledged is given up, or sent again, as SDKs do both.
    """

    door: str
    random: random.Random
    acknowledged: list[WireSpan] = field(default_factory=list)
    tries: Counter[tuple[bytes, bytes]] = field(default_factory=Counter)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send no more, and wait for the request under way."""
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self) -> None:
        with httpx2.Client(timeout=10) as client:
            number = 0
            while not self._stop.wait(1 / _TRACES_A_SECOND):
                number += 1
                spans = [*rag_trace(self.random, number), *rag_trace(self.random, number + 1)]
                self.random.shuffle(spans)
                cut = self.random.randrange(1, len(spans))
                for piece in (spans[:cut], spans[cut:]):
                    self._send(client, piece)

    def _send(self, client: httpx2.Client, piece: Sequence[WireSpan]) -> None:
        retried = self.random.random() < _RETRIED_SHARE
        while not self._stop.is_set():
            self.tries.update(keys(piece))
            if self._is_taken(client, piece):
                self.acknowledged += piece
                return
            if not retried:
                return
            self._stop.wait(0.1)

    def _is_taken(self, client: httpx2.Client, piece: Sequence[WireSpan]) -> bool:
        headers = {"content-type": "application/x-protobuf"}
        with contextlib.suppress(httpx2.HTTPError):
            answer = client.post(self.door, content=encode_request(piece), headers=headers)
            return answer.status_code == 200
        return False


@dataclass(frozen=True)
class Outcome:
    """What was seen after the last life."""

    kills: int
    acknowledged: int
    missing: dict[str, int]
    duplicates: dict[str, int]
    conflicts: dict[str, int]
    disagreeing_traces: dict[str, int]
    imbalance: dict[str, float]

    @property
    def kept_its_promises(self) -> bool:
        """Whether nothing is missing and no two deliveries differ."""
        broken = (self.missing, self.conflicts, self.disagreeing_traces, self.imbalance)
        return not any(any(counts.values()) for counts in broken)


def run_chaos(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill a service under load ``kills`` times, at random moments of its life, then let it end.

    Of two destinations, one is down for part of the time.
    """
    random_source = random.Random(seed)
    port = free_port()
    with fault_backend("grpc") as steady, fault_backend("http") as moody:
        load = Load(f"http://127.0.0.1:{port}/v1/traces", random.Random(seed + 1))
        load.start()
        for number in range(kills):
            if random_source.random() < 0.3:
                moody.down() if number % 2 else moody.up()
            _live_and_die(folder, port, (steady, moody), random_source)
        moody.up()
        with _life(folder, port, (steady, moody)) as served:
            load.stop()
            wait_until(lambda: not served.metric("raglog_spans_pending"), 120)
            missing_items = imbalance(served, ("steady", "moody"), "traces")
            assert served.stop() == 0
        backends = {"steady": steady, "moody": moody}
        wanted = keys(load.acknowledged)
        once = {key for key, tries in load.tries.items() if tries == 1}
        return Outcome(
            kills=kills,
            acknowledged=len(wanted),
            missing={n: len(wanted - b.span_keys()) for n, b in backends.items()},
            duplicates={n: b.duplicates() for n, b in backends.items()},
            conflicts={n: len(once & set(b.conflicts())) for n, b in backends.items()},
            disagreeing_traces={n: len(_disagreeing(b)) for n, b in backends.items()},
            imbalance=missing_items,
        )


def _live_and_die(
    folder: Path, port: int, backends: tuple[FaultBackend, FaultBackend], source: random.Random
) -> None:
    """Start a service and kill it at a moment of its start, its recovery or its work."""
    dies_young = source.random() < _DIES_YOUNG_SHARE
    with _life(folder, port, backends, wait=not dies_young) as served:
        threading.Event().wait(source.uniform(0, _LONGEST_LIFE_SECONDS))
        assert served.process.poll() is None, served.log.read_text()
        served.process.kill()
        served.process.wait()


def _life(
    folder: Path, port: int, backends: tuple[FaultBackend, FaultBackend], *, wait: bool = True
) -> contextlib.AbstractContextManager[Served]:
    steady, moody = backends
    exporters: dict[str, object] = {
        "steady": {"kind": "otlp_grpc", "endpoint": steady.endpoint},
        "moody": {"kind": "otlp_http", "endpoint": moody.endpoint},
    }
    return serving(
        folder,
        exporters,
        wait=wait,
        receive={"grpc": {"port": 0}, "http": {"port": port}},
        hold=_HOLD,
        sending=FAST,
        analysis={"checks": ["rules"]},
    )


def _disagreeing(backend: FaultBackend) -> list[bytes]:
    """Return the traces of which one delivery says another verdict than another."""
    said: dict[bytes, set[tuple[str, str]]] = {}
    for recorded in list(backend.requests):
        if recorded.signal != "traces":
            continue
        for item in items(recorded.body):
            if b"raglog.run.verdict" not in item.raw:
                continue
            span = decode_span(_as_wire(item.raw))
            verdict = str(span.attributes["raglog.run.verdict"])
            faulty = str(span.attributes.get("raglog.run.faulty_stages"))
            said.setdefault(span.trace_id, set()).add((verdict, faulty))
    return [trace_id for trace_id, verdicts in said.items() if len(verdicts) > 1]


def _as_wire(raw: bytes) -> WireSpan:
    return WireSpan(b"", b"", b"", False, False, False, False, origin(), raw)


def main() -> None:
    """Run it and print what was seen; the exit status is 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20261130)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="raglog-chaos-") as folder:
        outcome = run_chaos(Path(folder), options.kills, options.seed)
    print(f"{outcome.kills} kills in {time.monotonic() - began:.0f} s, seed {options.seed}")
    print(f"{outcome.acknowledged} spans were acknowledged")
    for name in outcome.missing:
        print(
            f"  {name}: {outcome.missing[name]} missing, {outcome.duplicates[name]} delivered twice, "
            f"{outcome.conflicts[name]} with other bytes, "
            f"{outcome.disagreeing_traces[name]} traces with two verdicts"
        )
    print(f"  items that the books do not explain: {outcome.imbalance or 0}")
    sys.exit(0 if outcome.kept_its_promises else 1)


if __name__ == "__main__":
    main()

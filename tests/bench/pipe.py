"""Spans per CPU-second of the service and of rotel on the same OTLP requests, gzip out on both.

Run with ``make bench``, or ``python tests/bench/pipe.py [--json] [--kinds plain,rag,…]
[--protocols grpc,http] [--requests N] [--rounds N] [--no-journal]``. CPU time is user and system time of the
measured process, all threads; load generator and sink are processes of their own. The two
services take turns, and medians over the rounds are compared, since machines are shared.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipe_requests import KINDS, make_moulds
from pipe_subjects import Subject, running_rotel, running_service

PROTOCOLS = ("grpc", "http")
TARGETS = {"plain": 2.0, "rag": 1.0, "rag-vectors": 1.0, "mixed": 1.0}
WARM_UP_REQUESTS = 24
_SINK_PATIENCE_SECONDS = 120.0
_SETTLE_SECONDS = 1.0
_MIB = 1024 * 1024


class Peer:
    """A load generator or a sink in a process of its own."""

    def __init__(self, role: str, protocol: str, *arguments: str) -> None:
        script = Path(__file__).with_name("pipe_peers.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), role, "--protocol", protocol, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.hello = self._read()

    def ask(self, **command: float) -> dict[str, Any]:
        """Send a command and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@dataclass(frozen=True, slots=True)
class Round:
    """What one turn of a service cost."""

    spans: int
    cpu_seconds: float
    wall_seconds: float
    acknowledged_seconds: float
    bytes_in: int
    bytes_out: int
    refusals: int

    @property
    def spans_per_cpu_second(self) -> float:
        """The figure that is compared."""
        return self.spans / self.cpu_seconds


class Rig:
    """A load generator, a service and a sink in a row."""

    def __init__(self, subject: Subject, load: Peer, sink: Peer) -> None:
        self.subject = subject
        self._load = load
        self._sink = sink
        self._spans = 0
        self._bytes = 0

    def turn(self, requests: int) -> Round:
        """Send ``requests`` and wait until all their spans are in the sink."""
        began, cpu = time.monotonic(), self.subject.cpu_seconds()
        sent = self._load.ask(requests=requests)
        self._spans += sent["spans"]
        arrived = self._sink.ask(spans=self._spans, seconds=_SINK_PATIENCE_SECONDS)
        spent, ended = self.subject.cpu_seconds() - cpu, time.monotonic()
        if arrived["spans"] != self._spans:
            sys.exit(f"{self.subject.name}: {arrived['spans']} of {self._spans} spans arrived")
        bytes_out = arrived["bytes"] - self._bytes
        self._bytes = arrived["bytes"]
        return Round(
            spans=sent["spans"],
            cpu_seconds=spent,
            wall_seconds=ended - began,
            acknowledged_seconds=sent["seconds"],
            bytes_in=sent["bytes"],
            bytes_out=bytes_out,
            refusals=sent["refusals"],
        )


@contextmanager
def rig(
    name: str, kind: str, protocol: str, folder: Path, *, compressed: bool, journal: bool
) -> Iterator[Rig]:
    """Start a service by name between its own load generator and sink, warmed up."""
    with ExitStack() as stack:
        sink = Peer("sink", protocol)
        stack.callback(sink.close)
        endpoint = f"127.0.0.1:{sink.hello['port']}"
        if name == "rotel":
            subject = stack.enter_context(running_rotel(protocol, endpoint, folder))
        else:
            subject = stack.enter_context(
                running_service(protocol, endpoint, folder, checks=False, journal=journal)
            )
        arguments = ["--kind", kind, "--address", subject.address]
        load = Peer("load", protocol, *arguments, *(["--compressed"] if compressed else []))
        stack.callback(load.close)
        ready = Rig(subject, load, sink)
        ready.turn(WARM_UP_REQUESTS)
        yield ready


@dataclass(slots=True)
class Result:
    """The rounds of both services on one kind of traffic over one protocol."""

    kind: str
    protocol: str
    rounds: dict[str, list[Round]] = field(default_factory=dict)
    peak_mib: dict[str, float] = field(default_factory=dict)

    def speed(self, name: str) -> float:
        """Return the median of spans per CPU-second."""
        return statistics.median(r.spans_per_cpu_second for r in self.rounds[name])

    def spread(self, name: str) -> tuple[float, float]:
        """Return the slowest and the fastest round."""
        speeds = [r.spans_per_cpu_second for r in self.rounds[name]]
        return min(speeds), max(speeds)

    def bytes_per_span(self, name: str) -> float:
        """Return the compressed bytes on the wire per span, out."""
        rounds = self.rounds[name]
        return sum(r.bytes_out for r in rounds) / sum(r.spans for r in rounds)

    @property
    def ratio(self) -> float:
        """How many spans ours forwards in the CPU time in which rotel forwards one."""
        return self.speed("otel-raglog") / self.speed("rotel")


def compare(kind: str, protocol: str, options: argparse.Namespace, folder: Path) -> Result:
    """Measure both services in turns."""
    result = Result(kind, protocol)
    with ExitStack() as stack:
        rigs = [
            stack.enter_context(
                rig(
                    name,
                    kind,
                    protocol,
                    folder / name,
                    compressed=options.gzip_in,
                    journal=not options.no_journal,
                )
            )
            for name in ("otel-raglog", "rotel")
        ]
        for number in range(options.rounds):
            for each in rigs if number % 2 else reversed(rigs):
                turn = each.turn(options.requests)
                result.rounds.setdefault(each.subject.name, []).append(turn)
        result.peak_mib = {each.subject.name: each.subject.peak_mib() for each in rigs}
        unmapped = sum(each.subject.unmapped_traces() for each in rigs)
        if unmapped:
            sys.exit(f"{kind} over {protocol}: {unmapped} traces passed unmapped, send less")
    return result


# ------------------------------------------------------------------------- durable receive


@dataclass(frozen=True, slots=True)
class Durable:
    """What it costs to acknowledge bytes, and to append the same bytes to a file."""

    mib: float
    service_cpu_seconds: float
    service_wall_seconds: float
    append_cpu_seconds: float
    append_wall_seconds: float


def measure_durable(protocol: str, requests: int, folder: Path) -> Durable:
    """Measure the service with its journal on, against a bare ``write`` of the same bytes.

    The destination accepts connections and never answers, so that receiving is all there is.
    Wall time ends with the last acknowledgement; CPU time a little later, with what follows from
    the requests. The append is one ``write`` per request, without sync, in the same folder.
    """
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
        service = running_service(
            protocol, endpoint, folder / "service", checks=False, journal=True
        )
        subject = stack.enter_context(service)
        load = Peer("load", protocol, "--kind", "plain", "--address", subject.address)
        stack.callback(load.close)
        load.ask(requests=WARM_UP_REQUESTS)
        time.sleep(_SETTLE_SECONDS)
        cpu = subject.cpu_seconds()
        sent = load.ask(requests=requests)
        time.sleep(_SETTLE_SECONDS)
        service_cpu = subject.cpu_seconds() - cpu
    bodies = [mould.body for mould in make_moulds("plain", 1, 12)]
    cpu, wall = time.process_time(), time.monotonic()
    with (folder / "append").open("wb", buffering=0) as file:
        for number in range(requests):
            file.write(bodies[number % len(bodies)])
    append_cpu, append_wall = time.process_time() - cpu, time.monotonic() - wall
    return Durable(
        mib=sent["bytes"] / _MIB,
        service_cpu_seconds=service_cpu,
        service_wall_seconds=sent["seconds"],
        append_cpu_seconds=append_cpu,
        append_wall_seconds=append_wall,
    )


# ---------------------------------------------------------------------------------- output


def print_results(results: list[Result]) -> None:
    """Print the comparison."""
    print("k spans per CPU-second (slowest-fastest round), gzip out on both sides")
    print(
        f"{'traffic':12}{'OTLP':6}{'otel-raglog':>22}{'rotel':>22}{'ratio':>8}{'target':>8}"
        f"{'MiB peak':>14}{'bytes out/span':>18}"
    )
    for result in results:
        speeds = "".join(
            f"{result.speed(name) / 1000:9.2f} ({low / 1000:.2f}-{high / 1000:.2f})".rjust(22)
            for name in ("otel-raglog", "rotel")
            for low, high in [result.spread(name)]
        )
        peaks = " / ".join(f"{result.peak_mib[n]:.0f}" for n in ("otel-raglog", "rotel"))
        sizes = " / ".join(f"{result.bytes_per_span(n):.0f}" for n in ("otel-raglog", "rotel"))
        print(
            f"{result.kind:12}{result.protocol:6}{speeds}{result.ratio:8.2f}"
            f"{TARGETS[result.kind]:8.1f}{peaks:>14}{sizes:>18}"
        )


def print_durable(durable: dict[str, Durable]) -> None:
    """Print what durability costs."""
    print("durable receive: MiB per second (CPU / wall) and the ratio to a bare append")
    for protocol, it in durable.items():
        cpu, wall = it.mib / it.service_cpu_seconds, it.mib / it.service_wall_seconds
        bare_cpu = it.mib / max(it.append_cpu_seconds, 1e-3)
        bare_wall = it.mib / max(it.append_wall_seconds, 1e-3)
        print(
            f"{protocol:6} {cpu:8.0f} / {wall:.0f}   append {bare_cpu:.0f} / {bare_wall:.0f}"
            f"   ratio {cpu / bare_cpu:.3f} / {wall / bare_wall:.3f}"
        )


def as_json(results: list[Result], durable: dict[str, Durable]) -> dict[str, Any]:
    """Return everything that was measured."""
    return {
        "pipe": [
            asdict(result)
            | {
                "ratio": result.ratio,
                "target": TARGETS[result.kind],
                "spans_per_cpu_second": {name: result.speed(name) for name in result.rounds},
                "bytes_out_per_span": {name: result.bytes_per_span(name) for name in result.rounds},
            }
            for result in results
        ],
        "durable": {protocol: asdict(it) for protocol, it in durable.items()},
    }


def read_options() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--requests", type=int, default=48, help="of 700 kB, in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gzip-in", action="store_true", help="send compressed requests, too")
    parser.add_argument("--no-journal", action="store_true", help="ours in memory, as rotel is")
    parser.add_argument("--no-durable", action="store_true", help="leave durable receive out")
    return parser.parse_args()


def main() -> None:
    """Print the tables."""
    options = read_options()
    protocols = options.protocols.split(",")
    with tempfile.TemporaryDirectory(prefix="raglog-bench-") as name:
        folder = Path(name)
        results = [
            compare(kind, protocol, options, folder / f"{kind}-{protocol}")
            for kind in options.kinds.split(",")
            for protocol in protocols
        ]
        durable = {}
        if not options.no_durable:
            for protocol in protocols:
                (folder / protocol).mkdir()
                durable[protocol] = measure_durable(protocol, options.requests, folder / protocol)
    if options.json:
        json.dump(as_json(results, durable), sys.stdout, indent=2)
        return
    print(f"{os.cpu_count()} cores, {options.rounds} rounds of {options.requests} requests")
    print_results(results)
    if durable:
        print_durable(durable)


if __name__ == "__main__":
    main()

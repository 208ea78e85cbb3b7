"""Prints what an application's requests take longer for the in-app exporter, as a ratio.

    python tests/bench/in_app.py [ROUNDS]

One process for each case; they take turns request by request, so that whatever else the machine
does hits all alike. A request retrieves 40 documents and asks an LLM, which is waited for, and
leaves three spans of some 50 kB. "Without waiting" is the same but for that: what is left is the
making of spans, so that the ratio shows the least cost. "CPU" is the processor time of the whole
process per request with waiting, all threads, until everything was sent.
Each case is compared with spans that are made and ended but go nowhere.
"""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from in_app_kit import running_door
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from ports import free_port

from otel_raglog_exporters.in_app import RaglogSpanExporter, RaglogSpanProcessor

DOCUMENTS, DOCUMENT = 40, "Employees have 25 days of leave a year. " * 12
RETRIEVER_SECONDS, LLM_SECONDS = 0.005, 0.02
WARM_UP = 20
BASE = "spans that go nowhere"
CASES = {
    BASE: "",
    "processor, sidecar up": "up",
    "processor, sidecar down": "down",
    "processor, sidecar hanging": "hanging",
    "processor, sidecar slow (1 s)": "slow",
    "exporter in BatchSpanProcessor, up": "up",
    "exporter in BatchSpanProcessor, down": "down",
    "the SDK's OTLP/HTTP exporter, up": "up",
    "the SDK's OTLP/HTTP exporter, down": "down",
}


def make_provider(case: str, endpoint: str) -> TracerProvider:
    """Return a case's provider."""
    limits = SpanLimits(max_span_attributes=10_000)
    provider = TracerProvider(shutdown_on_exit=False, span_limits=limits)
    if case.startswith("processor"):
        provider.add_span_processor(RaglogSpanProcessor(endpoint))
    elif case.startswith("exporter"):
        provider.add_span_processor(BatchSpanProcessor(RaglogSpanExporter(endpoint)))
    elif case != BASE:
        exporter = OTLPSpanExporter(f"{endpoint}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def answer(provider: TracerProvider, *, wait: bool) -> None:
    """Serve a request."""
    tracer = provider.get_tracer("bench")
    with tracer.start_as_current_span("ask") as root:
        root.set_attribute("input.value", "How many days of leave?")
        with tracer.start_as_current_span("retrieve") as span:
            time.sleep(RETRIEVER_SECONDS if wait else 0)
            for number in range(DOCUMENTS):
                key = f"retrieval.documents.{number}.document"
                span.set_attribute(f"{key}.id", str(number))
                span.set_attribute(f"{key}.content", DOCUMENT)
                span.set_attribute(f"{key}.score", 0.5)
                span.set_attribute(f"{key}.metadata", '{"source": "handbook"}')
        with tracer.start_as_current_span("generate") as span:
            time.sleep(LLM_SECONDS if wait else 0)
            span.set_attribute("llm.input_messages.0.message.content", DOCUMENT * DOCUMENTS)
            span.set_attribute("output.value", DOCUMENT)


def serve(case: str, endpoint: str, orders: Connection) -> None:
    """Serve a request for each order, and tell how long it took."""
    logging.disable()
    provider = make_provider(case, endpoint)
    answer(provider, wait=False)  # imports, the first connection, threads
    while (order := orders.recv()) is not None:
        if order == "cpu":
            provider.force_flush(1_000)
            orders.send(time.process_time())
            continue
        began = time.perf_counter()
        answer(provider, wait=order)
        orders.send(time.perf_counter() - began)


def run_door(state: str, ports: Connection, stop: Event) -> None:
    """Be a sidecar in a state."""
    with running_door() as door:
        door.stuck = state != "up"
        ports.send(door.port)
        while not stop.wait(1.0):
            if state == "slow":  # whoever waits is answered, a second later at most
                door.stuck = False
                time.sleep(0.01)
                door.stuck = True
            door.requests.clear()


@contextmanager
def sidecars() -> Iterator[dict[str, str]]:
    """Run a sidecar in each state; yield their endpoints."""
    stop = multiprocessing.Event()
    endpoints, processes = {"": "", "down": f"http://127.0.0.1:{free_port()}"}, []
    for state in ("up", "hanging", "slow"):
        ours, theirs = multiprocessing.Pipe()
        processes.append(multiprocessing.Process(target=run_door, args=(state, theirs, stop)))
        processes[-1].start()
        endpoints[state] = f"http://127.0.0.1:{ours.recv()}"
    try:
        yield endpoints
    finally:
        stop.set()
        for process in processes:
            process.join(5)
            process.kill()


Times = dict[str, dict[bool, list[float]]]


def ask(orders: Connection, order: bool | str) -> float:
    """Give an order and return what it took."""
    orders.send(order)
    return orders.recv()


def measure(rounds: int) -> tuple[Times, dict[str, float]]:
    """Return the seconds of each case's requests, with waiting and without, and of CPU for each."""
    times: Times = {case: {True: [], False: []} for case in CASES}
    cpu: dict[str, float] = {}
    with sidecars() as endpoints:
        applications = {}
        for case, state in CASES.items():
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(target=serve, args=(case, endpoints[state], theirs))
            process.start()
            applications[case] = (process, ours)
        for wait in (True, False):
            for number in range(WARM_UP + rounds):
                for case, (_, orders) in applications.items():
                    if wait and number == WARM_UP:
                        cpu[case] = -ask(orders, "cpu")
                    seconds = ask(orders, wait)
                    if number >= WARM_UP:
                        times[case][wait].append(seconds)
            for case, (_, orders) in applications.items():
                if wait:
                    cpu[case] = (cpu[case] + ask(orders, "cpu")) / rounds
        for process, orders in applications.values():
            orders.send(None)
            process.join(5)
            process.kill()
    return times, cpu


def main() -> None:
    """Print a table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    times, cpu = measure(rounds)

    def percentile_95(values: list[float]) -> float:
        return statistics.quantiles(values, n=20)[-1]

    columns: list[tuple[Callable[[list[float]], float], bool]] = [
        (statistics.median, True), (percentile_95, True), (statistics.median, False),
    ]  # fmt: skip
    print(f"{rounds} requests a case; ratios to: {BASE}\n")
    print("| case | request, median | request, 95 % | without waiting, median | CPU |")
    print("|---|---|---|---|---|")
    for case in CASES:
        cells = []
        for figure, wait in columns:
            base = figure(times[BASE][wait])
            own = figure(times[case][wait])
            cells.append(f"{own * 1000:.1f} ms" if case == BASE else f"{own / base:.2f}")
        of_base = cpu[case] / cpu[BASE]
        cells.append(f"{cpu[case] * 1000:.1f} ms" if case == BASE else f"{of_base:.2f}")
        print(f"| {case} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

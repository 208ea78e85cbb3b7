"""Prints what a proxied call takes longer for the add-on: without a proxy, with one, with it in it.

    python tests/bench/bridge_overhead.py [ROUNDS]

All three run at once and take turns call by call, so that whatever else the machine does hits all
alike. Servers and both mitmdumps are processes of their own. Times are milliseconds at the client,
each call over a connection that is kept. "Back to back" leaves the add-on's worker no time of its
own: it works on one call while the next passes.
"""

from __future__ import annotations

import http.client
import json
import math
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from multiprocessing.synchronize import Event
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from bridge_servers import listens, running_mitmdump
from bridge_traffic import Sidecar, answer, begin_chunks, running_server, write_chunk
from ports import free_port

ADDON = Path(__file__).resolve().parents[2] / "proxy_bridge/otel_raglog_proxy_bridge/addon.py"
VARIANTS = ("no proxy", "mitmdump", "with add-on")
EVENTS, EVENT_SECONDS = 30, 0.005
PAUSE_SECONDS = 0.03
WARM_UP = 10

_source = random.Random(1)
_WORDS = "leave working days Norway employees policy contract manager request".split()  # noqa: SIM905
PROMPT = " ".join(_source.choice(_WORDS) for _ in range(1_500))
CHAT = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "temperature": 0}
).encode()
CHAT_ANSWER = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": PROMPT[:1_000]}}]}
).encode()
EMBEDDINGS = json.dumps(
    {"model": "e", "input": [PROMPT[at : at + 800] for at in range(64)]}
).encode()
EMBEDDINGS_ANSWER = json.dumps(
    {"data": [{"embedding": [_source.gauss(0, 0.03) for _ in range(1536)]} for _ in range(64)]}
).encode()
STREAM = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": PROMPT}]}).encode()  # fmt: skip
EVENT = b"data: " + json.dumps({"choices": [{"delta": {"content": "days "}}]}).encode() + b"\n\n"

CALLS = {
    "chat": ("/v1/chat/completions", CHAT),
    "embeddings 64x1536": ("/v1/embeddings", EMBEDDINGS),
    "stream": ("/v1/chat/completions", STREAM),
}


def respond(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Answer as the models do."""
    if handler.path.endswith("/embeddings"):
        answer(handler, EMBEDDINGS_ANSWER)
    elif b'"stream": true' in body:
        begin_chunks(handler)
        for _ in range(EVENTS):
            write_chunk(handler, EVENT)
            time.sleep(EVENT_SECONDS)
        write_chunk(handler, b"")
    else:
        answer(handler, CHAT_ANSWER)


def serve(kind: str, port: int, stop: Event) -> None:
    """Run a server until told to stop."""
    with running_server(respond if kind == "models" else Sidecar().respond, port):
        stop.wait()


@contextmanager
def serving(kind: str) -> Iterator[int]:
    """Run a server in a process of its own; yield its port."""
    port = free_port()
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    process = context.Process(target=serve, args=(kind, port, stop))
    process.start()
    try:
        while not listens(port):
            time.sleep(0.05)
        yield port
    finally:
        stop.set()
        process.join()


def timed(connection: http.client.HTTPConnection, url: str, body: bytes) -> tuple[float, float]:
    """Return the milliseconds to the first bytes of an answer's body, and to its last."""
    start = time.perf_counter()
    connection.request("POST", url, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read(1)
    first = time.perf_counter()
    response.read()
    last = time.perf_counter()
    return (first - start) * 1e3, (last - start) * 1e3


def measure(
    clients: dict[str, Callable[[str, bytes], tuple[float, float]]],
    path: str,
    body: bytes,
    rounds: int,
    pause: float,
) -> dict[str, list[tuple[float, float]]]:
    """Return the times of each variant, which take turns in a drawn order."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
    for at in range(rounds + WARM_UP):
        for name in _source.sample(list(clients), len(clients)):
            found = clients[name](path, body)
            if at >= WARM_UP:
                times[name].append(found)
            time.sleep(pause)
    return times


def row(label: str, times: dict[str, list[float]]) -> str:
    """Return a line of the table."""
    median = {name: statistics.median(found) for name, found in times.items()}
    p95 = {name: sorted(found)[math.ceil(0.95 * len(found)) - 1] for name, found in times.items()}
    plain, ours = VARIANTS[1:]
    cells = [f"{median[name]:8.2f} {p95[name]:8.2f}" for name in VARIANTS]
    added = f"{median[ours] - median[plain]:+7.2f} {median[ours] / median[plain]:6.2f}"
    return f"{label:<38}{' '.join(cells)} {added} {p95[ours] - p95[plain]:+8.2f}"


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    with ExitStack() as stack:
        models = stack.enter_context(serving("models"))
        sidecar = stack.enter_context(serving("sidecar"))
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        quiet = ("--set", "flow_detail=0", "--set", "termlog_verbosity=warn")
        plain = stack.enter_context(running_mitmdump(folders[0], *quiet))
        options = ("-s", str(ADDON), "--set", f"raglog_endpoint=http://127.0.0.1:{sidecar}")
        ours = stack.enter_context(running_mitmdump(folders[1], *quiet, *options))
        base = f"http://127.0.0.1:{models}"
        clients = {}
        for name, port in zip(VARIANTS, (models, plain, ours), strict=True):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            prefix = "" if port == models else base
            clients[name] = lambda path, body, c=connection, p=prefix: timed(c, p + path, body)
        heads = " ".join(f"{name:>17}" for name in VARIANTS)
        print(f"{'milliseconds':<38}{heads} {'add-on minus mitmdump':>23}")
        print(f"{'':<38}{' '.join(['  median      p95'] * 3)}  median  ratio      p95")
        for pause, manner in ((PAUSE_SECONDS, "paced"), (0.0, "back to back")):
            for kind, (path, body) in CALLS.items():
                count = rounds if kind == "chat" else max(10, rounds // 3)
                times = measure(clients, path, body, count, pause)
                parts = {"first chunk": 0, "whole": 1} if kind == "stream" else {"": 1}
                for part, at in parts.items():
                    label = f"{kind} {part}, {manner} (n={count})".replace(" ,", ",")
                    print(
                        row(label, {name: [t[at] for t in found] for name, found in times.items()})
                    )
    print(f"chat: {len(CHAT)} B in, {len(CHAT_ANSWER)} B out; embeddings: {len(EMBEDDINGS_ANSWER)} B out; stream: {EVENTS} events, one each {EVENT_SECONDS * 1e3:.0f} ms")  # fmt: skip
    for line in (
        (folders[1] / "mitmdump.log").read_text().splitlines() if folders[1].exists() else ()
    ):
        print(line)


if __name__ == "__main__":
    main()

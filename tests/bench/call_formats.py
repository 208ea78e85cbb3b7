"""Prints what reading streamed answers costs, by their length: it should double with it.

python tests/bench/call_formats.py
"""

from __future__ import annotations

import dataclasses
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

from call_samples import call_of
from test_call_formats import STREAMS

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.parsing import parse

LENGTHS = (25_000, 50_000, 100_000)


def milliseconds(name: str, length: int) -> float:
    """Return what telling and reading a stream of ``length`` events takes."""
    path, request, event = STREAMS[name]
    call = call_of({"url": f"https://host{path}", "request": request})
    exchange = dataclasses.replace(parse(call), events=(event,) * length)
    began = time.process_time()
    api = next(api for api in APIS if api.recognises(exchange))
    assert api.read is not None
    api.read(exchange)
    return 1_000 * (time.process_time() - began)


def main() -> None:
    """Print a table."""
    print(f"{'milliseconds of CPU':32}" + "".join(f"{length:>10,}" for length in LENGTHS))
    for name in STREAMS:
        row = [milliseconds(name, length) for length in LENGTHS]
        print(f"{name:32}" + "".join(f"{value:10.0f}" for value in row))


if __name__ == "__main__":
    main()

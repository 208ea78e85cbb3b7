"""Real applications behind a real proxy to their HTTP calls as call records, and to what each call was for.

    .venv/bin/python tests/apps/bridge/record.py --python .traces-venv/bin/python [NAME…]

writes `tests/golden/call_sequences/NAME.jsonl.gz` and `NAME.expected.json` for each application. It
runs in the environment that has mitmproxy; `--python` is that of the applications.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from asked import KINDS
from bridge_servers import BRIDGE, proxied, running_chroma, running_mitmdump, running_stub

OUT = Path(__file__).resolve().parents[2] / "golden" / "call_sequences"
NUMBER = "x-recorded-call"
LONGER_VECTORS = "handbook-search"  # all are short, to keep the files small
STARTED = 1_780_000_000.0
SECONDS = 180.0


def flows_of(path: Path) -> list[HTTPFlow]:
    """Return the HTTP exchanges of a flow file, in the order in which they began."""
    with path.open("rb") as file:
        flows = [flow for flow in FlowReader(file).stream() if isinstance(flow, HTTPFlow)]
    return sorted(flows, key=lambda flow: flow.request.timestamp_start)


def as_records(name: str, flows: list[HTTPFlow], hosts: dict[int, str]) -> list[dict[str, Any]]:
    """Return call records: ids by order, times counted from one fixed moment, neutral hosts."""
    first = flows[0].request.timestamp_start - STARTED
    records = []
    for number, flow in enumerate(flows, 1):
        request, response = flow.request, flow.response
        parts = urlsplit(request.pretty_url)
        host = hosts[parts.port or 80]
        records.append(
            {
                "id": f"{name}-{number:03d}",
                "method": request.method,
                "url": urlunsplit(("http", host, parts.path, parts.query, "")),
                "status": response.status_code if response else None,
                "request_headers": _content_type(request),
                "response_headers": _content_type(response),
                "request_body": request.get_text(strict=False) or "",
                "response_body": (response.get_text(strict=False) or "") if response else "",
                "started_at": round(request.timestamp_start - first, 6),
                "ended_at": round(response.timestamp_end - first, 6) if response else None,
            }
        )
    return records


def _content_type(message: Any) -> dict[str, str]:
    kind = message.headers.get("content-type") if message else None
    return {"content-type": kind} if kind else {}


def as_expected(
    name: str, flows: list[HTTPFlow], records: list[dict[str, Any]], side: dict[str, Any]
) -> dict[str, Any]:
    """Return what the application noted, by the records' ids."""
    calls = {}
    for flow, record in zip(flows, records, strict=True):
        calls[record["id"]] = side["calls"][int(flow.request.headers[NUMBER])]
    for run in side["runs"]:
        own = [key for key, call in calls.items() if call["run"] == run["run"]]
        said = [key for key in own if calls[key]["stage"] == "generator"]
        run["answered_by"] = said[-1] if said else None
    return {"application": name, "runs": side["runs"], "calls": calls}


def record_one(
    name: str, python: str, folder: Path, chroma: int, stub: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run one application behind mitmdump."""
    own = folder / name
    own.mkdir()
    saved, side = own / "flows.mitm", own / "side.json"
    with running_mitmdump(own, "-w", str(saved)) as proxy:
        settings = {
            "MODEL_ENDPOINT": f"http://127.0.0.1:{stub}/v1",
            "CHROMA_PORT": str(chroma),
        }
        subprocess.run(
            [python, str(BRIDGE / "run_app.py"), name, "--out", str(side)],
            env=proxied(proxy, **settings),
            check=True,
            timeout=SECONDS,
        )
    flows = flows_of(saved)
    records = as_records(name, flows, {stub: "stub.local:8080", chroma: "chroma.local:8000"})
    return records, as_expected(name, flows, records, json.loads(side.read_text()))


def write(name: str, records: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    """Write the two files of an application."""
    OUT.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    packed = gzip.compress(lines.encode(), compresslevel=9, mtime=0)
    (OUT / f"{name}.jsonl.gz").write_bytes(packed)
    (OUT / f"{name}.expected.json").write_text(in_lines(expected), encoding="utf-8")
    print(f"{name:20} {len(records):3} calls {len(expected['runs'])} runs {len(packed):6} bytes")


def in_lines(expected: dict[str, Any]) -> str:
    """Return JSON with a run or a call on each line."""

    def line(value: object) -> str:
        return json.dumps(value, ensure_ascii=False)

    runs = ",\n  ".join(line(run) for run in expected["runs"])
    calls = ",\n  ".join(f"{line(key)}: {line(call)}" for key, call in expected["calls"].items())
    name = line(expected["application"])
    return f'{{\n "application": {name},\n "runs": [\n  {runs}\n ],\n "calls": {{\n  {calls}\n }}\n}}\n'


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="the applications' interpreter")
    parser.add_argument("names", nargs="*", help="applications; default: all")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        chroma = stack.enter_context(running_chroma(arguments.python, folder))
        short = stack.enter_context(running_stub(arguments.python, folder / "short.log"))
        full = stack.enter_context(
            running_stub(arguments.python, folder / "full.log", STUB_DIMENSIONS="128")
        )
        for name in arguments.names or KINDS:
            stub = full if name == LONGER_VECTORS else short
            write(name, *record_one(name, arguments.python, folder, chroma, stub))


if __name__ == "__main__":
    main()

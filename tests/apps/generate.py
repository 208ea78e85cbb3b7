"""A seed to traces of the sample applications, and to the file that says what is wrong in them.

    python generate.py --seed 1 --out DIR

writes `DIR/handbook-runs.otlp.jsonl.gz` and `DIR/planted.json`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from catalogue import load_catalogue, load_handbook
from labelling import label, observe, spans_by_trace
from planning import STAGES, plan_jobs
from sink import Sink
from tracing import RESULT

HERE = Path(__file__).resolve().parent
SCRIPTS = {
    "handbook-search": "llamaindex_query.py",
    "passenger-desk": "llamaindex_rewrite.py",
    "crew-assistant": "llamaindex_chat.py",
    "office-answers": "langchain_rag.py",
    "policy-finder": "langchain_multiquery.py",
    "island-chat": "langchain_chat.py",
    "compare-desk": "langgraph_hops.py",
}
KEEPS_VECTORS = "crew-assistant"  # the others hide vectors, as most do in production
START_SECONDS = 60.0
STOP_SECONDS = 20.0


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone when the block is left."""
    process = subprocess.Popen(command, text=True, cwd=HERE, **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_chroma(port: int, process: subprocess.Popen[str]) -> None:
    """Return when the server answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=2).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise RuntimeError("Chroma did not start")


class StubControl:
    """The side channel of the stub."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"

    def set_plans(self, plans: list[dict[str, Any]]) -> None:
        """What to play from now on."""
        request = urllib.request.Request(
            f"{self.endpoint}/_plan",
            json.dumps(plans).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request).close()

    def take_log(self) -> list[dict[str, Any]]:
        """What was asked and said since the last call."""
        with urllib.request.urlopen(f"{self.endpoint}/_log") as answer:
            return json.load(answer)


def run_application(
    pipeline: str, jobs: list[dict[str, Any]], stub: StubControl, environment: dict[str, str]
) -> list[tuple[dict[str, Any], str, list[dict[str, Any]]]]:
    """Give the jobs to the application one by one; returns (plan, trace id, stub's log) of each run."""
    runs = []
    command = [sys.executable, SCRIPTS[pipeline]]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with running(command, env=environment, **pipes) as process:
        for job in jobs:
            stub.set_plans(job["plans"])
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            trace_ids = _result(process, pipeline)
            if len(trace_ids) != 1:
                message = f"{pipeline} made {len(trace_ids)} traces of one job"
                raise RuntimeError(message)
            log = stub.take_log()
            runs += [(plan, trace_ids[0], log) for plan in job["plans"]]
        process.stdin.close()
        process.wait(START_SECONDS)
    return runs


def _result(process: subprocess.Popen[str], pipeline: str) -> list[str]:
    for line in process.stdout:
        if line.startswith(RESULT):
            return json.loads(line.removeprefix(RESULT))
    message = f"{pipeline} ended early"
    raise RuntimeError(message)


def generate(seed: int, out: Path) -> Counter[str]:
    """Run everything and write both files; returns how often each stage is faulty."""
    jobs = plan_jobs(seed, load_catalogue())
    handbook = load_handbook()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        sink = stack.enter_context(Sink())
        port = free_port()
        environment = _environment(sink, port)
        chroma_command = [
            str(Path(sys.executable).parent / "chroma"),
            "run",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--path",
            folder,
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        chroma = stack.enter_context(running(chroma_command, env=environment, **quiet))
        stub_process = stack.enter_context(
            running([sys.executable, "stub_openai.py"], stdout=subprocess.PIPE)
        )
        stub = StubControl(int(stub_process.stdout.readline()))
        environment["MODEL_ENDPOINT"] = f"{stub.endpoint}/v1"
        wait_for_chroma(port, chroma)
        runs = []
        for pipeline in SCRIPTS:
            own = [job for job in jobs if job["pipeline"] == pipeline]
            hide = str(pipeline != KEEPS_VECTORS).lower()
            settings = environment | {"OPENINFERENCE_HIDE_EMBEDDINGS_VECTORS": hide}
            runs += run_application(pipeline, own, stub, settings)
            print(f"{pipeline}: {len(own)} jobs", flush=True)
    traces = spans_by_trace(sink.lines)
    entries = []
    for plan, trace_id, log in runs:
        observed = observe(traces[trace_id], plan["question"])
        entries.append(_entry(plan, trace_id, label(plan, observed, log, handbook), log))
    out.mkdir(parents=True, exist_ok=True)
    _write(out, seed, sink.lines, entries)
    return _counts(entries)


def _environment(sink: Sink, chroma_port: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return kept | {
        "ANONYMIZED_TELEMETRY": "False",
        "TRACES_ENDPOINT": sink.endpoint,
        "CHROMA_PORT": str(chroma_port),
    }


def _entry(
    plan: dict[str, Any], trace_id: str, labels: dict[str, Any], log: list[dict[str, Any]]
) -> dict[str, Any]:
    answers = [
        entry["text"]
        for entry in log
        if entry["role"] == "generator" and entry["question"] == plan["question"]
    ]
    return {
        "trace_id": trace_id,
        "question_id": plan["question_id"],
        "question": plan["question"],
        "answer": answers[-1] if answers else None,
        "pipeline": plan["pipeline"],
        "session": plan["session"],
        "turn": plan["turn"],
        "planted": [{"stage": stage, "type": kind} for stage, kind in plan["planted"]],
        "labels": {stage: labels[stage] for stage in _ordered(labels)},
        "reference": {
            "answers": [plan["answer"]],
            "evidence_ids": [need["doc"] for need in plan["needs"]],
        },
    }


def _ordered(labels: dict[str, Any]) -> list[str]:
    order = STAGES["passenger-desk"]
    return sorted(labels, key=order.index)


def _write(out: Path, seed: int, lines: list[str], entries: list[dict[str, Any]]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    (out / "handbook-runs.otlp.jsonl.gz").write_bytes(packed)
    planted = {"seed": seed, "runs": entries}
    (out / "planted.json").write_text(
        json.dumps(planted, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def _counts(entries: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter(runs=len(entries))
    for entry in entries:
        faulty = [stage for stage, value in entry["labels"].items() if value["faulty"]]
        counts["clean runs"] += not faulty
        counts.update(faulty)
        planted = {plant["stage"] for plant in entry["planted"]}
        counts["faults that arose by themselves"] += len(set(faulty) - planted)
        counts["planted faults that were absorbed"] += len(planted - set(faulty))
    return counts


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    for name, count in generate(arguments.seed, arguments.out).items():
        print(f"{count:4d} {name}")


if __name__ == "__main__":
    main()

"""A real application seen through the proxy bridge, and the same one under OpenInference: one outcome.

The application calls its embedder, Chroma, its reranker and its language model over HTTP. Once it is
instrumented; once it is not and mitmproxy stands between; once another mitmproxy stands in front.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from bridge_servers import (
    BRIDGE,
    environment,
    listens,
    proxied,
    running_chroma,
    running_mitmdump,
    running_program,
    running_stub,
    wait_for,
)
from golden_conventions import read_runs, stage_word
from ports import free_port
from services import Served, serving, wait_until

import otel_raglog_proxy_bridge
from otel_raglog.model import Chunk, Run, Stage

pytestmark = pytest.mark.timeout(600)

WAYS = ("proxied", "fronted")
ARRIVAL_SECONDS = 90.0
APP_SECONDS = 180.0
SERVICE = "ticket-desk"
ADDON = Path(otel_raglog_proxy_bridge.__file__).with_name("addon.py")
DIFFERENCES = Path(__file__).with_name("bridge_differences.yaml")


@dataclass(frozen=True)
class World:
    """The servers that the application needs, and what it is asked."""

    python: str
    settings: dict[str, str]
    questions: list[str]


@dataclass(frozen=True)
class Outcome:
    """What came of all questions: the answers given, the runs that were mapped, the verdicts."""

    answers: list[str]
    runs: list[Run]
    reports: list[dict[str, Any]]


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Iterator[World]:
    """Run the stub of the models and Chroma, and tell the stub what to play."""
    python = os.environ.get("RAGLOG_E2E_APPS")
    if not python:
        pytest.skip("RAGLOG_E2E_APPS names no Python: run `make e2e`, which makes its environment")
    folder = tmp_path_factory.mktemp("world")
    program = "import json, asked; print(json.dumps(asked.end_to_end_plans()))"
    path = os.pathsep.join([str(BRIDGE), str(BRIDGE.parent)])
    command = [python, "-c", program]
    plans = json.loads(subprocess.check_output(command, env=environment(PYTHONPATH=path)))
    with ExitStack() as stack:
        stub = stack.enter_context(running_stub(python, folder / "stub.log", STUB_DIMENSIONS="384"))
        chroma = stack.enter_context(running_chroma(python, folder))
        base = f"http://127.0.0.1:{stub}"
        httpx2.post(f"{base}/_plan", json=plans, timeout=30).raise_for_status()
        settings = {"MODEL_ENDPOINT": f"{base}/v1", "CHROMA_PORT": str(chroma)}
        yield World(python, settings, [plan["question"] for plan in plans])


@pytest.fixture(scope="module")
def instrumented(world: World, tmp_path_factory) -> Outcome:
    """Run the application under OpenInference."""
    folder = tmp_path_factory.mktemp("instrumented")
    with sidecar(folder) as served:
        endpoint = f"http://{served.addresses['http']}/v1/traces"
        answers = asked_directly(world, environment(**world.settings), "--instrument", endpoint)
        return outcome(served, folder, answers)


@pytest.fixture(scope="module", params=WAYS)
def captured(request, world: World, tmp_path_factory) -> tuple[str, Outcome]:
    """Run the application without instrumentation behind the bridge."""
    folder = tmp_path_factory.mktemp(request.param)
    app_port = free_port()
    front = f"127.0.0.1:{free_port()}" if request.param == "fronted" else None
    with sidecar(folder) as served:
        options = ["--mode", f"reverse:http://127.0.0.1:{app_port}@{front}"] if front else []
        with running_bridge(served, folder, *options) as proxy:
            settings = proxied(proxy, **world.settings)
            if front:
                answers = asked_over_http(world, settings, app_port, f"http://{front}", folder)
            else:
                answers = asked_directly(world, settings)
        return request.param, outcome(served, folder, answers)


@contextmanager
def sidecar(folder: Path) -> Iterator[Served]:
    """Run the service with a file as its destination."""
    with serving(folder, {"out": {"kind": "file", "path": str(folder / "out.jsonl")}}) as served:
        yield served


@contextmanager
def running_bridge(served: Served, folder: Path, *options: str) -> Iterator[int]:
    """Run mitmdump with the add-on, which sends what it holds when it stops."""
    endpoint = f"http://{served.addresses['http']}"
    settings = ["--set", f"raglog_endpoint={endpoint}", "--set", f"raglog_service={SERVICE}"]
    with running_mitmdump(folder, "-s", str(ADDON), *settings, *options) as port:
        yield port


def asked_directly(world: World, settings: dict[str, str], *options: str) -> list[str]:
    """Run the application as a program that answers all questions."""
    command = [world.python, str(BRIDGE / "llamaindex_app.py"), *options]
    done = subprocess.run(
        command,
        input=json.dumps(world.questions),
        env=settings,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=APP_SECONDS,
    )
    answers: list[str] = json.loads(done.stdout)
    return answers


def asked_over_http(
    world: World, settings: dict[str, str], port: int, front: str, folder: Path
) -> list[str]:
    """Run the application as a service and ask it through the reverse proxy."""
    log = folder / "app.log"
    command = [world.python, str(BRIDGE / "llamaindex_app.py"), "--serve", str(port)]
    with running_program(command, log, settings) as process:
        wait_for(lambda: listens(port), process, log)
        answers = []
        for question in world.questions:
            answer = httpx2.post(f"{front}/ask", json={"question": question}, timeout=60)
            answers.append(answer.raise_for_status().json()["answer"])
        return answers


def outcome(served: Served, folder: Path, answers: list[str]) -> Outcome:
    """Wait until every answered question has arrived; read its run, and have it judged."""
    path = folder / "out.jsonl"
    wait_until(lambda: len(answered(path)) >= len(answers), ARRIVAL_SECONDS)
    wait_until(lambda: served.metric("raglog_spans_pending") == 0, ARRIVAL_SECONDS)
    assert served.stop() == 0
    command = [sys.executable, "-m", "otel_raglog.cli", "analyze", str(path), "--format", "json"]
    reports = json.loads(subprocess.check_output(command, env=environment()))
    return Outcome(answers, answered(path), [r for r in reports if r["skip_reason"] is None])


def answered(path: Path) -> list[Run]:
    """Return the runs that can be judged; filling the index is none."""
    if not path.exists() or not path.stat().st_size:
        return []
    return [run for run in read_runs(path) if run.skip_reason is None]


def compared(run: Run, report: dict[str, Any]) -> dict[str, Any]:
    """Return all that a run says, without ids of spans, times, and names of steps."""
    (generator,) = run.generators
    return {
        "question": run.question.value,
        "answer": run.answer.value,
        "rewrites": [step.rewrites.value for step in run.rewriters],
        "rewriter_input": [step.input.value for step in run.rewriters],
        "embedded": [step.texts.value for step in run.embedders],
        "embedder_model": [step.model for step in run.embedders],
        "queries": [step.query.value for step in run.retrievers],
        "top_k": [step.top_k for step in run.retrievers],
        "filters": [step.filters for step in run.retrievers],
        "retrieved": [chunks(step.chunks.value) for step in run.retrievers],
        "retrieved_scores": [scores(step.chunks.value) for step in run.retrievers],
        "rerank_query": [step.query.value for step in run.rerankers],
        "rerank_model": [step.model for step in run.rerankers],
        "rerank_top_k": [step.top_k for step in run.rerankers],
        "rerank_candidates": [chunks(step.candidates.value) for step in run.rerankers],
        "reranked": [chunks(step.selected.value) for step in run.rerankers],
        "reranked_scores": [scores(step.selected.value) for step in run.rerankers],
        "passed": [chunks(step.selected.value) for step in run.assemblies],
        "context": [step.context.value for step in run.assemblies],
        "prompt": [step.prompt.value for step in run.assemblies],
        "messages": [(m.role, m.content) for m in generator.messages.value or ()],
        "finish_reason": generator.finish_reason,
        "tokens": (generator.tokens.prompt, generator.tokens.completion),
        "model": generator.model,
        "service": run.service,
        "session": (run.session_id, run.turn),
        "stages": {stage.value: stage_word(run, stage) for stage in Stage},
        "verdicts": {name: stage["verdict"] for name, stage in report["stages"].items()},
        "fault_types": {name: stage["fault_types"] for name, stage in report["stages"].items()},
        "warnings": {name: stage["warnings"] for name, stage in report["stages"].items()},
        "run_verdict": (report["verdict"], report["first_faulty_stage"]),
    }


def chunks(found: tuple[Chunk, ...] | None) -> list[tuple[str | None, str | None]]:
    """Return ids and texts, in order."""
    return [(chunk.id, chunk.text) for chunk in found or ()]


def scores(found: tuple[Chunk, ...] | None) -> list[float | None]:
    """Return scores as far as single precision tells them."""
    return [None if chunk.score is None else round(chunk.score, 5) for chunk in found or ()]


def by_question(result: Outcome) -> dict[str | None, dict[str, Any]]:
    """Return what is compared, by the question asked."""
    reports = {report["run_id"]: report for report in result.reports}
    return {run.question.value: compared(run, reports[run.run_id]) for run in result.runs}


def test_the_application_answers_the_same(captured, instrumented: Outcome):
    """A proxy between changes no answer."""
    assert captured[1].answers == instrumented.answers


def test_each_question_is_one_run(captured, world: World):
    """There is one run for each question, with the question as it was asked and the answer given."""
    result = captured[1]
    found = [(run.question.value, run.answer.value) for run in result.runs]
    assert found == list(zip(world.questions, result.answers, strict=True))


def test_the_runs_are_those_of_the_instrumented_application(captured, instrumented: Outcome):
    """Exactly the listed fields differ from what OpenInference says of the same application."""
    way, result = captured
    seen, reference = by_question(result), by_question(instrumented)
    assert seen.keys() == reference.keys()
    different = {
        name: (reference[question][name], values[name])
        for question, values in seen.items()
        for name in values
        if values[name] != reference[question][name]
    }
    listed = yaml.safe_load(DIFFERENCES.read_text())[way]
    assert set(different) == set(listed), {
        name: pair for name, pair in different.items() if name not in listed
    }


def test_every_listed_difference_has_a_reason():
    """The committed list speaks of ways that are tested, and says why for each field."""
    listed = yaml.safe_load(DIFFERENCES.read_text())
    assert set(listed) == set(WAYS)
    assert all(
        isinstance(why, str) and why for fields in listed.values() for why in fields.values()
    )

"""The JSON API of a real service, after bundled traces of real applications went through it."""

import json
import random
from contextlib import contextmanager
from urllib.parse import quote

import httpx2
import pytest
from rag_traces import rag_trace
from services import collect, running_sink, serving, wait_until

from otel_raglog import samples
from otel_raglog.commands.reading import read_files
from otel_raglog.errors import Rejected
from otel_raglog.model import Stage
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.registry import build_exporter

TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def planted():
    """The runs of the bundled traces, with what was planted in them."""
    with samples.open_set() as sample_set:
        return json.loads(sample_set.planted.read_text(encoding="utf-8"))["runs"]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    """A client of a service that has judged the bundled traces, and keeps their texts."""
    with samples.open_set() as sample_set:
        batches = [batch.spans for batch in read_files([sample_set.traces]).batches]
    folder = tmp_path_factory.mktemp("api")
    options = {"api": {"port": 0, "content": True}, "judge": {"when": "never"}}
    with running_sink() as sink, serving(folder, {"sink": sink.endpoint}, **options) as served:
        for spans in batches:
            served.send(spans)
        collect(sink, sum(map(len, batches)))
        wait_until(lambda: served.metric("raglog_api_runs") >= 60)
        with httpx2.Client(base_url=f"http://{served.addresses['api']}", timeout=30) as client:
            yield client
        assert served.metric("raglog_api_dropped_reports") == 0


def pages(api, **query):
    """Yield the runs of all pages."""
    cursor = {}
    while True:
        page = api.get("/api/runs", params=query | cursor).json()
        yield from page["runs"]
        if page["next_cursor"] is None:
            return
        cursor = {"cursor": page["next_cursor"]}


def test_every_run_is_listed_once_over_all_pages(api, planted):
    """Newest first."""
    runs = list(pages(api, limit=7))
    assert len({run["run_id"] for run in runs}) == len(runs) == len(planted)
    assert {run["trace_id"] for run in runs} == {run["trace_id"] for run in planted}
    times = [run["judged_at"] for run in runs]
    assert times == sorted(times, reverse=True)
    assert {run["question"] for run in runs} >= {"Where may he stay on the Brightwater instead?"}


def test_filters_select_what_the_reports_say(api):
    """Faulty retrievers of one service, for example."""
    everything = list(pages(api, limit=500))
    wanted = [r for r in everything if "retriever" in r["faulty_stages"]]
    assert wanted
    assert list(pages(api, stage="retriever", limit=2)) == wanted
    service = wanted[0]["service"]
    assert list(pages(api, stage="retriever", service=service)) == [
        run for run in wanted if run["service"] == service
    ]
    middle = everything[len(everything) // 2]["judged_at"]
    later, earlier = list(pages(api, since=middle)), list(pages(api, until=middle))
    assert len(later) + len(earlier) == len(everything)
    assert all(run["judged_at"] >= middle for run in later)


def test_a_trace_has_its_reports_with_the_planted_question(api, planted):
    """The stable JSON, with every stage."""
    for run in planted[:5]:
        found = api.get(f"/api/runs/{run['trace_id']}").json()
        assert run["question"] in {report["question"] for report in found["reports"]}
        for report in found["reports"]:
            assert set(report["stages"]) == {stage.value for stage in Stage}
            assert report["detector_version"].startswith("local-")


def test_stages_add_up_to_the_runs(api):
    """Of each service, in each stage."""
    runs, services = list(pages(api, limit=500)), api.get("/api/stages").json()["services"]
    assert {item["service"] for item in services} == {run["service"] for run in runs}
    for item in services:
        own = [run for run in runs if run["service"] == item["service"]]
        assert item["runs"] == len(own)
        for name, stage in item["stages"].items():
            assert stage["faulty"] == sum(name in run["faulty_stages"] for run in own)
            assert sum(stage[v] for v in ("faulty", "ok", "absent", "unknown")) == len(own)


def test_the_set_up_says_what_is_captured_and_what_to_do(api):
    """As `explain --setup` does of the same traces."""
    services = {item["service"]: item for item in api.get("/api/setup").json()["services"]}
    desk = services["compare-desk"]
    assert desk["conventions"] == ["OpenInference"]
    assert desk["stages"]["retriever"]["share"] == 1.0
    assert "instrument the embedding client" in desk["stages"]["embedder"]["remedy"]


def test_a_conversation_shows_where_its_referent_was_lost(api, planted):
    """The rewrite of the second turn was made to drop what the question was about."""
    (run,) = [r for r in planted if r["question"].startswith("Where may he stay")]
    found = api.get(f"/api/sessions/{quote(run['session'], safe='')}").json()
    assert [turn["turn"] for turn in found["turns"]] == [1, 2, 3]
    assert found["turns"][1]["question"] == run["question"]
    assert found["turns"][1]["rewrites"] == ["Where may a dog stay on board?"]
    (fault,) = [f for f in found["faults_over_turns"] if f["kind"] == "referent_lost"]
    assert fault["positions"] == [2]
    assert "Aurelia" in fault["what"]
    assert 'the rewrite drops "Brightwater"' in {item["evidence"] for item in fault["measured"]}


def test_it_is_json_whatever_happens(api):
    """Over a real connection."""
    for path, status in (
        ("/api/runs", 200), ("/api/runs?limit=0", 400), ("/api/runs/0", 400), ("/x", 404),
        ("/api/runs/" + "0" * 32, 404), ("/api/sessions/%3Cb%3E%2F%252F", 404),
    ):  # fmt: skip
        answer = api.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
        assert answer.json()


@contextmanager
def exporting(kind, endpoint, headers):
    """Give what sends requests with headers, and close it."""
    exporter = build_exporter(kind, {"endpoint": endpoint, "headers": headers})
    try:
        yield exporter.export
    finally:
        exporter.close()


def test_one_token_guards_the_doors_and_the_api(tmp_path):
    """Without it nothing comes in and nothing is told; with it everything works as before."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    headers = {"authorization": f"Bearer {TOKEN}"}
    receive = {"grpc": {"port": 0}, "http": {"port": 0}, "auth": {"token_file": str(file)}}
    traces = [rag_trace(random.Random(number), number) for number in range(2)]
    options = {
        "receive": receive,
        "api": {"port": 0},
        "analysis": {"checks": ["rules"], "detector": "rules-1"},
    }
    with running_sink() as sink, serving(tmp_path, {"sink": sink.endpoint}, **options) as served:
        base = f"http://{served.addresses['api']}/api/runs"
        assert httpx2.get(base).status_code == 401
        for kind, door in (("otlp_grpc", "grpc"), ("otlp_http", "http")):
            path = "" if door == "grpc" else "/v1/traces"
            endpoint = f"http://{served.addresses[door]}{path}"
            payload = encode_payload(traces[door == "grpc"])
            with exporting(kind, endpoint, {}) as export, pytest.raises(Rejected) as refusal:
                export(payload)
            assert TOKEN not in str(refusal.value)
            with exporting(kind, endpoint, headers) as export:
                assert export(payload).rejected == 0
        collect(sink, sum(map(len, traces)))
        wait_until(lambda: served.metric("raglog_api_runs") == 2)
        runs = httpx2.get(base, headers=headers).json()["runs"]
        assert [run["question"] for run in runs] == [None, None]
        assert served.metric("raglog_spans_rejected_total", reason="unauthenticated") == 2
        log = served.log.read_text()
    assert TOKEN not in log
    assert all(
        TOKEN.encode() not in file.read_bytes()
        for file in (tmp_path / "journal").rglob("*")
        if file.is_file()
    )


def test_it_can_be_turned_off(tmp_path):
    """Then no port is open and nothing is kept."""
    with (
        running_sink() as sink,
        serving(tmp_path, {"sink": sink.endpoint}, api={"enabled": False}) as served,
    ):
        assert "api" not in served.addresses
        assert served.metric("raglog_api_runs") == 0

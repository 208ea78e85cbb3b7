"""What each path answers, and how errors are told."""

import random
from urllib.parse import quote

import pytest
from kept_runs import client_of, follow_up, kept, report, store
from rag_traces import rag_trace

from otel_raglog.clock import ManualClock
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.setup_json import setup_json
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, FaultType, Stage, Trace
from otel_raglog.receive.span import decode_span
from otel_raglog.report.json_report import to_json
from otel_raglog.web.recent.setups import RecentSetups

EMPTY = {Stage.RETRIEVER: FaultType.EMPTY_RESULT}


@pytest.fixture
def client():
    """A client of an API with twenty runs, every fifth of which is faulty."""
    runs = store()
    for number in range(1, 21):
        runs.add(
            kept(report(number, EMPTY if number % 5 == 0 else None, session_id=f"s{number % 2}"))
        )
    return client_of(runs)


def test_runs_are_listed_newest_first_in_pages(client):
    """Following next_cursor to the end shows each once."""
    seen, cursor = [], None
    while True:
        query = {"limit": "7"} | ({"cursor": cursor} if cursor else {})
        page = client.get("/api/runs", params=query).json()
        seen += [int(run["trace_id"], 16) for run in page["runs"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == list(range(20, 0, -1))


def test_filters_and_pages_go_together(client):
    """A page is full of what was asked for."""
    page = client.get("/api/runs?stage=retriever&limit=3").json()
    assert [int(run["trace_id"], 16) for run in page["runs"]] == [20, 15, 10]
    page = client.get(f"/api/runs?stage=retriever&limit=3&cursor={page['next_cursor']}").json()
    assert [int(run["trace_id"], 16) for run in page["runs"]] == [5]
    assert page["next_cursor"] is None


def test_a_trace_has_all_its_reports_as_analyze_prints_them():
    """In the order in which they were judged; the id in either case."""
    runs = store()
    reports = [report(0xAB, EMPTY), report(0xAB, run_id="second")]
    for made in (*reports, report(1)):
        runs.add(kept(made))
    trace_id = (0xAB).to_bytes(16, "big").hex()
    for text in (trace_id, trace_id.upper()):
        found = client_of(runs).get(f"/api/runs/{text}")
        assert found.json() == {
            "trace_id": trace_id,
            "reports": [to_json(made) for made in reports],
        }


def test_stages_count_what_is_kept(client):
    """In the window that was asked for."""
    (service,) = client.get("/api/stages").json()["services"]
    assert service["runs"] == 20
    assert service["stages"]["retriever"]["fault_rate"] == 0.2
    assert client.get("/api/stages?since=1001").json() == {"services": []}
    assert client.get("/api/stages?service=other").json() == {"services": []}


def test_the_set_up_is_what_explain_sums_up():
    """With the remedies."""
    wires = [wire for wire in rag_trace(random.Random(1), 0) if wire.held]
    spans = tuple(decode_span(wire) for wire in wires)
    setups = RecentSetups(BUILT_IN, ManualClock(), max_age_seconds=60)
    setups.add(
        map_trace(Trace(spans[0].trace_id, spans, Completion.ROOT_QUIET, 0.0), BUILT_IN), spans
    )
    found = client_of(store(), setups=setups).get("/api/setup").json()
    assert found == {"services": setup_json(setups.services())}
    (service,) = found["services"]
    assert service["conventions"] == ["OpenInference"]
    assert service["stages"]["retriever"]["captured"] == 1
    assert service["stages"]["reranker"]["remedy"]


@pytest.mark.parametrize("session", ["s1", "a/b", "a b?c#d", "<b>", "é", ".."])
def test_a_session_is_found_by_any_id(session):
    """Applications choose them."""
    runs = store()
    runs.add(kept(follow_up(1, "Where is the Aurelia?", None, session_id=session)))
    client = client_of(runs)

    path = quote(session, safe="").replace("..", "%2E%2E")
    found = client.get(f"/api/sessions/{path}").json()
    assert found["session_id"] == session
    assert found["turns"][0]["question"] == "Where is the Aurelia?"


def test_a_session_may_be_asked_for_of_one_service():
    """Two services may count their sessions alike."""
    runs = store()
    for number, service in enumerate(("a", "b"), 1):
        runs.add(kept(follow_up(number, "Where?", None, service=service)))
    client = client_of(runs)
    assert client.get("/api/sessions/s1").json()["services"] == ["a", "b"]
    assert client.get("/api/sessions/s1?service=b").json()["services"] == ["b"]
    assert client.get("/api/sessions/s1?service=c").status_code == 404


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/api/runs?limit=0", "limit"),
        ("/api/runs?lmit=1", "lmit"),
        ("/api/runs?cursor=1", "cursor"),
        ("/api/runs?since=now", "since"),
        ("/api/runs?verdict=wrong", "verdict"),
        ("/api/runs/xyz", "trace_id"),
        ("/api/runs/" + "g" * 32, "trace_id"),
        ("/api/runs/" + "a" * 32 + "?limit=1", "limit"),
        ("/api/stages?limit=1", "limit"),
        ("/api/setup?service=a", "service"),
        ("/api/sessions/s1?turn=1", "turn"),
    ],
)
def test_a_bad_parameter_is_a_400_that_names_it(client, path, parameter):
    """In a sentence, and for programs."""
    answer = client.get(path)
    assert answer.status_code == 400
    assert answer.json()["parameter"] == parameter
    assert answer.json()["error"].startswith(f"parameter {parameter}: ")
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/api/runs/" + "0" * 32, "no report of this trace"),
        ("/api/sessions/none", "no run of this session"),
        ("/api/sessions/", "no run of this session"),
        ("/", "there are /api/runs"),
        ("/api", "there are /api/runs"),
        ("/api/runs/", "there are /api/runs"),
        ("/metrics", "there are /api/runs"),
    ],
)
def test_what_is_not_there_is_a_404_with_a_sentence(client, path, says):
    """Traces that are not kept, and paths that do not exist."""
    answer = client.get(path)
    assert answer.status_code == 404
    assert says in answer.json()["error"]
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(client, method):
    """The API reads."""
    answer = client.request(method, "/api/runs")
    assert answer.status_code == 405
    assert "GET alone" in answer.json()["error"]


def test_large_answers_are_compressed_for_who_takes_it(client):
    """Small ones are not worth it."""
    assert client.get("/api/runs").headers["content-encoding"] == "gzip"
    plain = client.get("/api/runs", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in client.get("/api/runs?limit=1").headers


def test_a_failure_is_told_without_what_it_was_about():
    """Its message may hold texts of a run."""

    class Broken:
        def newest_first(self, wanted=None):
            raise RuntimeError("the secret question")

    answer = client_of(Broken()).get("/api/runs")
    assert answer.status_code == 500
    assert "could not be answered" in answer.json()["error"]
    assert "secret" not in answer.text

"""Rows of the list, filters, and counts of stages."""

from kept_runs import kept, report

from otel_raglog.clock import ManualClock
from otel_raglog.model import FaultType, RunVerdict, Stage
from otel_raglog.web.api.parameters import RunsQuery, Window
from otel_raglog.web.api.views import iso, matches, row, stage_counts

NANOS = 10**9
EMPTY = {Stage.RETRIEVER: FaultType.EMPTY_RESULT}
CLAIM = {Stage.GENERATOR: FaultType.UNSUPPORTED_CLAIM}


def run(number=1, faulty=None, at=1_000.0, **fields):
    """Return a kept run that was judged at a time."""
    return kept(report(number, faulty, **fields), ManualClock(at))


def test_times_are_utc_and_absurd_ones_are_none():
    """Spans' clocks say anything."""
    assert iso(1_500_000_000) == "1970-01-01T00:00:01.500Z"
    assert iso(0) is None
    assert iso(-5) is None
    assert iso(2**64 - 1) is None or iso(2**64 - 1).startswith("2554")
    assert iso(10**30) is None


def test_each_filter_alone_lets_its_runs_pass():
    """Since is included, until is not."""
    found = run(1, EMPTY, service="shop", session_id="s1")
    for query in (
        {}, {"service": "shop"}, {"session": "s1"}, {"verdict": "faulty"}, {"stage": "retriever"},
        {"fault_type": "empty_result"}, {"stage": "retriever", "fault_type": "empty_result"},
        {"since": "1000"}, {"until": "1000.001"}, {"since": "999", "until": "1001"},
    ):  # fmt: skip
        assert matches(found, RunsQuery(**query)), query
    for query in (
        {"service": "sho"}, {"session": "s"}, {"verdict": "ok"}, {"stage": "generator"},
        {"fault_type": "no_relevant_chunk"}, {"stage": "generator", "fault_type": "empty_result"},
        {"since": "1000.001"}, {"until": "1000"},
    ):  # fmt: skip
        assert not matches(found, RunsQuery(**query)), query


def test_a_fault_type_is_of_the_stage_that_is_asked_for():
    """Not of another one of the same run."""
    both = run(1, EMPTY | CLAIM)
    query = {"stage": "generator", "fault_type": "empty_result"}
    assert not matches(both, RunsQuery(**query))
    assert matches(both, RunsQuery(fault_type="unsupported_claim"))


def test_a_row_tells_whether_to_look_closer():
    """Without unpacking steps or chunks into the list."""
    found = row(run(1, EMPTY, session_id="s1", turn=2))
    assert found["verdict"] == "faulty"
    assert found["fault_types"] == {"retriever": ["empty_result"]}
    assert found["first_faulty_stage"] == "retriever"
    assert found["question"] == "When does the night ferry leave?"
    assert found["judged_at"] == "1970-01-01T00:16:40.000Z"
    assert (found["session_id"], found["turn"]) == ("s1", 2)
    assert "stages" not in found


def test_stages_are_counted_per_service():
    """Rates are of what was judged; absent and unknown stages are counted beside them."""
    runs = [
        run(1, EMPTY, service="b"),
        run(2, EMPTY | CLAIM, service="b", at=2_000.0),
        run(3, service="b"),
        run(4, service="a"),
    ]
    a, b = stage_counts(runs)
    assert (a["service"], a["runs"], a["fault_rate"]) == ("a", 1, 0.0)
    assert b["verdicts"] == {"faulty": 2, "ok": 1, "unknown": 0}
    assert b["fault_rate"] == 0.6667
    retriever, generator = b["stages"]["retriever"], b["stages"]["generator"]
    assert (retriever["faulty"], retriever["ok"], retriever["fault_rate"]) == (2, 1, 0.6667)
    assert retriever["fault_types"] == {"empty_result": 2}
    assert retriever["first_faulty"] == 2
    assert (generator["faulty"], generator["first_faulty"]) == (1, 0)
    assert b["stages"]["reranker"]["absent"] == 3
    assert b["stages"]["reranker"]["fault_rate"] is None
    assert (b["oldest"], b["newest"]) == ("1970-01-01T00:16:40.000Z", "1970-01-01T00:33:20.000Z")
    assert list(b["stages"]) == [stage.value for stage in Stage]


def test_no_runs_are_no_services():
    """An empty store, or an empty window."""
    assert stage_counts([]) == []
    assert Window().service is None
    assert RunVerdict("ok") is run().verdict

"""Properties of the recent runs: whatever comes between pages, none is lost and none comes twice."""

from hypothesis import given, settings
from hypothesis import strategies as st
from kept_runs import EPOCH, client_of, kept, report, store

from otel_raglog.clock import ManualClock
from otel_raglog.model import FaultType, Stage
from otel_raglog.web.api.paging import Pages
from otel_raglog.web.api.parameters import BadParameter, RunsQuery, parse

EMPTY = {Stage.RETRIEVER: FaultType.EMPTY_RESULT}
patiently = settings(deadline=None, max_examples=60, derandomize=True)


@patiently
@given(
    first=st.integers(0, 30),
    limit=st.integers(1, 9),
    between=st.lists(
        st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=4), max_size=12
    ),
)
def test_paging_shows_each_run_that_was_there_exactly_once(first, limit, between):
    """Runs that come, and verdicts that are replaced, between two pages change nothing of that."""
    runs, pages = store(), Pages(EPOCH)
    for number in range(first):
        runs.add(kept(report(number)))
    there = {run.run_id for run in runs.newest_first()}
    seen, cursor, rounds = [], None, iter(between)
    while True:
        page, cursor = pages.page(runs.newest_first(), cursor, limit)
        seen += [run.run_id for run in page]
        assert len(page) <= limit
        assert len(seen) == len(set(seen))  # a page that comes again would come for ever
        if cursor is None:
            break
        for number, faulty in next(rounds, []):
            runs.add(kept(report(number, EMPTY if faulty else None)))
    assert there == set(seen)


@patiently
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 40), st.integers(0, 3_000)), max_size=60),
    st.integers(1, 8),
    st.integers(2_000, 30_000),
)
def test_no_bound_is_ever_passed(events, max_runs, max_bytes):
    """Whatever is added, replaced and waited for; and the books of bytes are right."""
    clock = ManualClock(1_000.0)
    runs = store(clock, max_runs=max_runs, max_bytes=max_bytes, max_age_seconds=100)
    for number, seconds, length in events:
        clock.advance(seconds)
        runs.add(kept(report(number, session_id="s" * length), clock))
        assert len(runs) <= max_runs
        assert runs.size_bytes <= max_bytes
        shown = runs.newest_first()
        assert runs.size_bytes == sum(run.size_bytes for run in shown)
        assert [r.sequence for r in shown] == sorted((r.sequence for r in shown), reverse=True)
        assert len({run.run_id for run in shown}) == len(shown)
        assert all(clock.monotonic() - run.kept_at <= 100 for run in shown)


@patiently
@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=30)), max_size=5))
def test_any_query_is_read_or_refused_by_the_name_of_a_parameter(given_parameters):
    """Nothing else is ever raised."""
    named = None
    try:
        parse(RunsQuery, given_parameters)
    except BadParameter as error:
        named = error.parameter
    assert named is None or named in {name for name, _ in given_parameters}


@patiently
@given(
    st.sampled_from(
        ["limit", "since", "until", "cursor", "verdict", "stage", "session", "service"]
    ),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40),
)
def test_any_value_is_answered_in_json(name, value):
    """With 200 or 400; markup in it is nowhere in the answer."""
    answer = client_of(store()).get("/api/runs", params={name: value})
    assert answer.status_code in {200, 400}
    assert answer.json()
    assert not set("<>&") & set(answer.text)

"""What may stand in a query, and what is said of what may not."""

import pytest

from otel_raglog.model import FaultType, RunVerdict, Stage
from otel_raglog.web.api.parameters import BadParameter, NoParameters, RunsQuery, Window, parse

NANOS = 10**9


def test_nothing_given_asks_for_the_newest_fifty():
    """All filters are off."""
    query = parse(RunsQuery, [])
    assert (query.limit, query.cursor, query.since, query.service) == (50, None, None, None)


def test_every_filter_is_read():
    """As words and numbers."""
    query = parse(
        RunsQuery,
        {"verdict": "faulty", "stage": "retriever", "fault_type": "empty_result", "session": "a/b",
         "service": "shop", "limit": "500", "since": "10", "until": "20.5"}.items(),
    )  # fmt: skip
    assert query.verdict is RunVerdict.FAULTY
    assert (query.stage, query.fault_type) == (Stage.RETRIEVER, FaultType.EMPTY_RESULT)
    assert (query.since, query.until) == (10 * NANOS, int(20.5 * NANOS))
    assert (query.limit, query.session, query.service) == (500, "a/b", "shop")


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-02T00:00:00Z", "1970-01-02T02:00:00+02:00", "1970-01-02T02:00:00 02:00", "86400",
        "1970-01-02 00:00:00Z", "8.64e4",
    ],
)  # fmt: skip
def test_times_are_seconds_or_iso_with_an_offset(text):
    """A plus that nobody escaped is a blank by the time it is here."""
    assert parse(Window, [("since", text)]).since == 86_400 * NANOS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("since", ""), ("since", "yesterday"), ("since", "2026-11-30T08:00:00"), ("since", "nan"),
        ("since", "inf"), ("since", "-1"), ("until", "1e300"), ("until", "9" * 5_000),
        ("limit", "0"), ("limit", "501"), ("limit", "-3"), ("limit", "ten"), ("limit", ""),
        ("limit", "1.5"), ("limit", "9" * 5_000), ("verdict", "bad"), ("verdict", ""),
        ("verdict", "FAULTY"), ("stage", "llm"), ("fault_type", "x"), ("lmit", "3"), ("", "x"),
        ("__class__", "x"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_the_parameter(name, value):
    """A filter that is dropped in silence would show what was not asked for."""
    with pytest.raises(BadParameter, match=f"^parameter {name}: ") as caught:
        parse(RunsQuery, [(name, value)])
    assert caught.value.parameter == name


def test_an_unknown_parameter_is_told_the_nearest():
    """And all that are known."""
    with pytest.raises(BadParameter, match=r"did you mean limit.* known here: cursor, fault_type"):
        parse(RunsQuery, [("lmit", "3")])
    with pytest.raises(BadParameter, match="takes none"):
        parse(NoParameters, [("limit", "3")])


def test_a_parameter_is_given_once():
    """Which of two would count?"""
    with pytest.raises(BadParameter, match="parameter service: is given twice"):
        parse(Window, [("service", "a"), ("service", "b")])

"""Which conversation a run belongs to, and which turn of it it is."""

from dataclasses import replace

import pytest
from span_trees import llm, oi, retriever, span, spans_of, trace_of

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.mapping.collapse import View
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.sessions import SESSION_KEYS, number_turns, session_of
from otel_raglog.mapping.tree import NONE
from otel_raglog.model import Message, present

Q = "When does the ferry leave?"


@pytest.mark.parametrize("key", SESSION_KEYS)
def test_a_session_of_any_key_on_any_span(key):
    """Baggage puts it on inner spans alone, whatever vocabulary these speak."""
    inner = retriever("r", Q, "The ferry leaves at six.", attributes={key: "chat-1"})
    (run,) = map_trace(trace_of(oi("CHAIN", "app", inner, llm("m", Q, "At six."), given=Q)))
    assert run.session_id == "chat-1"


def test_a_span_without_a_vocabulary_counts():
    """The request around a run, or a database call within it."""
    app = oi(
        "CHAIN", "app", retriever("r", Q, "x"), llm("m", Q, "At six."), given=Q, said="At six."
    )
    (run,) = map_trace(trace_of(span("POST /chat", app, attributes={"session.id": "chat-1"})))
    assert run.session_id == "chat-1"


def test_the_first_key_wins():
    """Of spans that speak no vocabulary: `session.id` before others; a mask is no id."""
    bare = {"langfuse.session.id": "c", "gen_ai.conversation.id": "b"}
    app = oi("CHAIN", "app", span("db", attributes={"session.id": "a"}), given=Q)
    trace = trace_of(span("POST /chat", app, attributes=bare))
    (run,) = map_trace(trace, ConventionSet((OpenInference(),)))
    assert run.session_id == "a"
    (run,) = map_trace(
        trace_of(oi("CHAIN", "app", given=Q, attributes={"session.id": "__REDACTED__"}))
    )
    assert run.session_id is None


def test_a_run_has_its_own_session(view_of):
    """Spans of another run do not count, those around both do."""
    mine = oi("CHAIN", "a", given=Q)
    other = oi("CHAIN", "b", given=Q, attributes={"session.id": "other"})
    view = view_of(span("batch", mine, other, attributes={"session.id": "outer"}))
    part = View(view.tree, (1,), {1: view.roles[1]}, 1)
    assert session_of(part) == "outer"
    assert view.tree.nodes[1].parent != NONE


# ------------------------------------------------------------------------- turns


def turn(start, question=Q, session="chat", turn=None, history=(), end=None):
    """Return a run of one retrieval and one answer, some milliseconds long."""
    nodes = (retriever("r", question, "x", start=start + 1, end=start + 2),)
    answer = llm("m", question, "A", start=start + 3, end=(end or start + 9) - 1)
    attributes = {"session.id": session} if session else {}
    node = oi(
        "CHAIN", "app", *nodes, answer, given=question, start=start, end=end or start + 9,
        attributes=attributes,
    )  # fmt: skip
    (run,) = map_trace(trace_of(node))
    talk = tuple(Message(role, text) for role, text in history)
    if talk:
        run = replace(run, history=present(talk))
    return replace(run, run_id=f"run-{start}", turn=turn)


def turns(*runs):
    return [run.turn for run in number_turns(runs)]


def test_runs_of_a_session_are_counted_in_order_of_time():
    """In whatever order they come."""
    assert turns(turn(300), turn(100), turn(200)) == [3, 1, 2]


def test_sessions_and_services_are_counted_apart():
    """Runs without a session are not counted, nor is a run that is alone."""
    runs = [turn(100), turn(200), turn(150, session="b"), turn(160, session=None), turn(170, "x")]
    assert turns(*runs[:4]) == [1, 2, None, None]
    assert turns(runs[0], replace(runs[1], service="other")) == [None, None]


def test_a_history_says_where_counting_begins():
    """The third turn of a talk comes after the second, also where the first is missing."""
    assert turns(turn(100), turn(200, turn=3), turn(300)) == [2, 3, 4]


def test_a_history_that_is_cut_is_no_beginning():
    """Some applications keep the last turn alone: what came before is not counted by it."""
    runs = [turn(100), turn(200, turn=2), turn(300, turn=2), turn(400)]
    assert turns(*runs) == [1, 2, 2, 3]
    assert turns(turn(100), turn(200), turn(300, turn=2)) == [None, None, 2]


def test_overlapping_runs_are_no_turns():
    """Questions of a batch do not follow one another."""
    assert turns(turn(100, end=250), turn(200)) == [None, None]


def test_runs_without_an_answer_are_no_turns():
    """An embedding call in a trace of its own."""
    (bare,) = map_trace(trace_of(retriever("r", Q, "x", attributes={"session.id": "chat"})))
    assert turns(turn(100), bare, turn(200)) == [1, None, 2]


def test_a_history_tells_of_the_run_before():
    """Without any session: the run whose question is the last one of another's history."""
    talk = [("user", "q0?"), ("assistant", "a0"), ("user", Q), ("assistant", "A")]
    assert turns(turn(100, session=None), turn(200, "And?", None, 3, talk)) == [2, 3]
    later = turn(300, session=None)
    assert turns(later, turn(200, "And?", None, 3, talk)) == [None, 3]


def test_several_turns_in_one_trace():
    """A flat trace of calls, each with the talk before it."""
    first = [("user", Q)]
    second = [*first, ("assistant", "At six."), ("user", "And at night?")]
    nodes = [
        retriever("r", Q, "x"),
        llm("m", first, "At six."),
        retriever("r", "And at night?", "y"),
        llm("m", second, "At ten."),
    ]
    runs = map_trace(trace_of(span("POST /ws", *nodes)))
    assert [(run.question.value, run.turn) for run in runs] == [(Q, 1), ("And at night?", 2)]


def test_a_single_run_is_not_counted():
    """A trace alone does not tell how many came before it."""
    (run,) = map_trace(
        trace_of(oi("CHAIN", "app", llm("m", Q, "A"), given=Q, attributes={"session.id": "c"}))
    )
    assert (run.session_id, run.turn) == ("c", None)
    assert len(spans_of(span("x"))) == 1


# ------------------------------------------------------------------------- sessions on some spans

TALK = [("user", Q), ("assistant", "At six."), ("user", "And at night?")]


def flat_talk(first=None, second=None):
    """Return a trace of two turns without a span of their own, with attributes on the LLM calls."""
    return trace_of(
        span(
            "POST /ws",
            retriever("r", Q, "x"),
            llm("m", Q, "At six.", attributes=first),
            retriever("r", "And at night?", "y"),
            llm("m", TALK, "At ten.", attributes=second),
        )
    )


@pytest.mark.parametrize("places", [(0,), (1,), (0, 1)])
def test_turns_of_one_trace_are_of_one_session(places):
    """Whichever of their spans names it: the second has the first in its history."""
    given = [{"session.id": "chat-1"} if place in places else None for place in (0, 1)]
    runs = map_trace(flat_talk(*given))
    assert [(run.session_id, run.turn) for run in runs] == [("chat-1", 1), ("chat-1", 2)]


def test_questions_of_one_request_that_know_nothing_of_each_other_keep_their_sessions():
    """They may be of several people."""
    pipelines = [
        oi("CHAIN", "app", retriever("r", q, "x"), llm("m", q, "A", attributes=key), given=q)
        for q, key in ((Q, {"session.id": "chat-1"}), ("How much is it?", None))
    ]
    runs = map_trace(trace_of(span("POST /batch", *pipelines)))
    assert [run.session_id for run in runs] == ["chat-1", None]


@pytest.mark.parametrize("place", ["search", "answer", "request within"])
def test_sessions_on_a_child_alone_are_counted(place):
    """The root knows nothing of the conversation; turns are counted all the same."""

    def asked(question, start):
        keys = {place: {"session.id": "chat-1"}}
        node = oi(
            "CHAIN", "app",
            retriever(
                "r", question, "x", attributes=keys.get("search"), start=start + 1, end=start + 2
            ),
            llm("m", question, "A", attributes=keys.get("answer"), start=start + 3, end=start + 4),
            span("GET", attributes=keys.get("request within"), start=start + 5, end=start + 6),
            given=question, start=start, end=start + 9,
        )  # fmt: skip
        (run,) = map_trace(trace_of(node))
        return replace(run, run_id=f"run-{start}")

    assert turns(asked(Q, 100), asked("And at night?", 200)) == [1, 2]


def test_a_blank_session_is_none():
    """An attribute that was set to nothing does not hide the id on a span below."""
    app = oi(
        "CHAIN", "app", llm("m", Q, "A", attributes={"session.id": "chat-1"}),
        given=Q, attributes={"session.id": "  "},
    )  # fmt: skip
    (run,) = map_trace(trace_of(app))
    assert run.session_id == "chat-1"


# ------------------------------------------------------------------------- runs that help


def test_runs_that_help_are_no_turns():
    """A title in a trace of its own lies between two turns, and knows the first of them."""
    title = [("system", "Give this talk a title."), ("user", f"{Q}\nAt six."), ("assistant", "")]
    (helper,) = map_trace(
        trace_of(
            llm("m", title[:2], "Ferry", attributes={"session.id": "chat"}, start=150, end=160)
        )
    )
    assert turns(turn(100), helper, turn(200)) == [1, None, 2]


def test_a_run_that_helps_keeps_no_turn_of_the_talk_that_it_is_given():
    """The next turn has that number."""
    asked = [("user", Q), ("assistant", "At six."), ("user", "Give this conversation a title.")]
    (helper,) = map_trace(
        trace_of(llm("m", asked, "Ferry", attributes={"session.id": "chat"}, start=150, end=160))
    )
    talk = [("user", Q), ("assistant", "A")]
    assert helper.turn == 2
    assert turns(turn(100), helper, turn(200, "And?", "chat", 2, talk)) == [1, None, 2]


def test_a_hashed_id_is_a_session_and_a_masked_one_is_none():
    """The hash is the same wherever the id is: it tells conversations apart."""
    hashed = f"[redacted:{'0a' * 16}]"
    for given, expected in ((hashed, hashed), ("[redacted]", None)):
        app = oi("CHAIN", "app", retriever("r", Q, "x"), llm("m", Q, "At six."), given=Q)
        (run,) = map_trace(trace_of(span("POST /chat", app, attributes={"session.id": given})))
        assert run.session_id == expected

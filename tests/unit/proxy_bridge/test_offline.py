"""Files of calls are replayed as if they happened now."""

from __future__ import annotations

import json

from otel_raglog_proxy_bridge.classifying import Classifier, by_known_api
from otel_raglog_proxy_bridge.line import Line, LineOptions
from otel_raglog_proxy_bridge.model import Call, Side
from otel_raglog_proxy_bridge.offline import runs_of

SECOND = 1_000_000_000


def chat(number, started, ended, prompt="A question of some length", answer="An answer"):
    return Call(
        str(number),
        "POST",
        "http://h/v1/chat/completions",
        200,
        request_body=json.dumps({"messages": [{"role": "user", "content": prompt}]}),
        response_body=json.dumps({"choices": [{"message": {"content": answer}}]}),
        started_ns=int(started * SECOND),
        ended_ns=int(ended * SECOND),
    )


def line():
    return Line(LineOptions("app"), Classifier((by_known_api(),)))


def ids(runs):
    return [[read.call.id for read in run.calls] for run in runs]


def test_calls_far_apart_are_runs_of_their_own():
    """Time passes as it did: what was quiet for long is over."""
    assert ids(runs_of(line(), [chat(1, 1, 2), chat(2, 500, 501)])) == [["1"], ["2"]]


def test_the_order_in_the_file_does_not_matter():
    """Flow files are written when calls end, HARs when they begin."""
    calls = [chat(1, 1, 2), chat(2, 500, 501)]
    assert ids(runs_of(line(), calls[::-1])) == [["1"], ["2"]]


def test_a_front_call_takes_what_happened_during_it():
    """Though it stands in the file where it ended, or before."""
    front = Call(
        "f", "POST", "http://app/ask", 200, request_body='{"question": "Leave?"}',
        response_body='{"answer": "27"}', started_ns=SECOND, ended_ns=9 * SECOND, side=Side.FRONT,
    )  # fmt: skip
    for calls in ([front, chat(1, 2, 3)], [chat(1, 2, 3), front]):
        (run,) = runs_of(line(), calls)
        assert run.front.question == "Leave?"
        assert ids([run]) == [["1"]]


def test_calls_without_times_follow_each_other():
    """As in cassettes."""
    calls = [chat(n, 0, 0) for n in range(3)]
    (run,) = runs_of(line(), calls)
    assert ids([run]) == [["0", "1", "2"]]


def test_nothing_gives_nothing():
    """An empty file."""
    assert list(runs_of(line(), [])) == []

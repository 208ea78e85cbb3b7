"""What a front proxy reads of a pipeline's own API: question, answer, session."""

from __future__ import annotations

import json
import re

import pytest

from otel_raglog_proxy_bridge.fronts import FrontOptions, read_front
from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.parsing import parse


def front(
    request=None, response=None, *, url="http://app/ask", method="POST", options=None, **headers
):
    body = request if isinstance(request, str) else "" if request is None else json.dumps(request)
    said = (
        response if isinstance(response, str) else "" if response is None else json.dumps(response)
    )
    call = Call(
        "f",
        method,
        url,
        200,
        {
            "content-type": headers.get("sent", "application/json"),
            "traceparent": headers.get("trace", ""),
        },
        {"content-type": headers.get("got", "application/json")},
        body,
        said,
    )
    return read_front(parse(call), options)


@pytest.mark.parametrize(
    ("request_body", "question"),
    [
        ({"question": "Leave?"}, "Leave?"),
        ({"query": "Leave?", "top_k": 3}, "Leave?"),
        ({"input": {"question": "Leave?"}}, "Leave?"),
        ({"data": {"message": "Leave?"}}, "Leave?"),
        ({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Leave?"}]}, "Leave?"),
        ({"model": "rag", "messages": [{"role": "user", "content": [{"type": "text", "text": "Leave?"}]}]}, "Leave?"),
        ('"Leave?"', "Leave?"),
        ({"prompt": "Leave?"}, "Leave?"),
    ],
)  # fmt: skip
def test_the_question_is_found_by_the_names_that_apis_give_it(request_body, question):
    """In JSON, under a wrapper, as the last user's message, or as the body itself."""
    assert front(request_body, {"answer": "27"}).question == question


def test_the_question_may_be_in_the_url_or_a_form():
    """GET APIs and forms."""
    assert front(url="http://app/ask?q=Leave%3F", method="GET").question == "Leave?"
    form = "application/x-www-form-urlencoded"
    assert front("question=Leave%3F&x=1", "{}", sent=form).question == "Leave?"


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ({"answer": "27 days", "sources": []}, "27 days"),
        ({"result": {"response": "27 days"}}, "27 days"),
        ({"choices": [{"message": {"role": "assistant", "content": "27 days"}}]}, "27 days"),
        ('"27 days"', "27 days"),
        ('data: {"token": "27"}\n\ndata: {"token": " days"}\n\n', "27 days"),
        ('data: {"choices": [{"delta": {"content": "27"}}]}\n\ndata: {"choices": [{"delta": {"content": " days"}}]}\n\ndata: [DONE]\n\n', "27 days"),
        ('data: {"delta": "27"}\n\ndata: {"delta": " days"}\n\ndata: {"answer": "27 days"}\n\n', "27 days"),
    ],
)  # fmt: skip
def test_the_answer_is_found_by_name_or_put_together_of_its_pieces(response, answer):
    """Streams too, whose last event may have it all again."""
    found = front({"question": "Leave?"}, response).answer
    assert found.replace("27days", "27 days") == answer


def test_pieces_of_a_stream_keep_their_spaces():
    """Words are not glued together."""
    stream = "".join(
        f'data: {{"token": "{piece}"}}\n\n' for piece in ("Leave", " is", " 27", " days")
    )
    assert front({"question": "Leave?"}, stream).answer == "Leave is 27 days"


def test_plain_text_is_an_answer_and_a_web_page_is_none():
    """A body of type text/plain is what was said."""
    assert front({"question": "Leave?"}, "27 days", got="text/plain").answer == "27 days"
    assert front({"question": "Leave?"}, "<html>", got="text/html").answer == ""
    assert (
        front(
            {"question": "Leave?"},
            "data: 27\n\ndata:  days\n\ndata: [DONE]\n\n",
            got="text/event-stream",
        ).answer
        == "27 days"
    )


def test_a_call_without_a_question_is_none():
    """Health checks, uploads, pages."""
    assert front(method="GET", url="http://app/health") is None
    assert front({"file": 3}, {"ok": True}) is None
    assert front("", "") is None


def test_options_name_places_and_paths():
    """Where names do not tell."""
    options = FrontOptions("frage.text", "antwort.0", re.compile("^/v1/"))
    body = {"frage": {"text": "Urlaub?"}}
    found = front(body, {"antwort": ["27"]}, url="http://app/v1/x", options=options)
    assert (found.question, found.answer) == ("Urlaub?", "27")
    assert front(body, {"antwort": ["27"]}, url="http://app/other", options=options) is None


def test_options_say_which_paths_and_methods_ask():
    """Then no name of a path speaks against it; a preflight and a redirect still ask nothing."""
    options = FrontOptions(paths=re.compile("^/v1/feedback$"))
    url = "http://app/v1/feedback"
    body = {"question": "Leave?"}
    assert front(body, {"answer": "27"}, url=url) is None
    assert front(body, {"answer": "27"}, url=url, options=options).question == "Leave?"
    assert front(body, {"answer": "27"}, url=url, method="PUT", options=options) is not None
    url += "?question=Leave%3F"
    assert front(url=url, method="OPTIONS", options=FrontOptions("question")) is None


def test_session_and_trace_are_read():
    """They are the caller's."""
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    found = front({"question": "Leave?", "session_id": "s1"}, {"answer": "27"}, trace=trace)
    assert (found.session, found.trace_id, found.parent_id) == ("s1", "a" * 32, "b" * 16)


@pytest.mark.parametrize(
    "odd", [None, 7, [], {}, [[]], {"question": {"question": {"question": []}}}, "x", [None]]
)
def test_odd_bodies_never_raise(odd):
    """Whatever an API takes."""
    front(json.dumps(odd), json.dumps(odd))
    front({"question": "Leave?"}, json.dumps({"answer": odd}))

"""Expressions: what they may be, and what they find."""

import json
import subprocess
import sys

import pytest
from unknown_calls import exchange_of

from otel_raglog_proxy_bridge.expressions import (
    MappingError,
    check_expression,
    data_of,
    found_by,
)

DATA = data_of(
    exchange_of(
        {"q": "why"}, {"hits": [{"id": 1}, {"id": 2}]}, url="https://a.test/v1/find?limit=3"
    )
)


def test_expressions_look_at_request_response_query_and_path():
    """The parameters of the URL are texts, the path is a list of segments."""
    assert found_by("request.q", DATA) == "why"
    assert found_by("response.hits[].id", DATA) == [1, 2]
    assert found_by("query.limit", DATA) == "3"
    assert found_by("path[-1]", DATA) == "find"


def test_events_of_a_stream_are_a_list():
    """In the order in which they came."""
    streamed = data_of(exchange_of({}, events=[{"t": "a"}, {"t": "b"}]))
    assert found_by("events[].t", streamed) == ["a", "b"]


@pytest.mark.parametrize("expression", ["response.none[0].x", "join(', ', request.q)", "abs(path)"])
def test_what_finds_nothing_or_fails_is_none(expression):
    """A mapping meets answers of all shapes."""
    assert found_by(expression, DATA) is None


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("response.[", "is no JMESPath"),
        ("respons.hits", "begins with 'respons'.*did you mean response"),
        ("`1`", "refers to none of request"),
        ("response." + "a" * 2_000, "longer than 1000"),
        ("[request, request]" + "|[@,@]" * 20, "multiply"),
        ("join(response.a, response.b)", "multiply"),
        ("to_string(" * 20 + "request" + ")" * 20, "multiply"),
    ],
)
def test_wrong_expressions_say_what_is_wrong(expression, problem):
    """Also those that would take all memory."""
    with pytest.raises(MappingError, match=problem):
        check_expression(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "response.hits[].{id: id, text: [0], score: score}",
        "[request.chat_history, request.message][]",
        "response.choices[0].message.content || response.text",
        "sort_by(response.hits, &score)[].id",
        "response.hits[?kind == 'text'].body",
        'response."@search.score"',
    ],
)
def test_ordinary_expressions_are_right(expression):
    """Whoever wrote them."""
    check_expression(expression)
    check_expression(expression, trusted=False)


@pytest.mark.parametrize(
    "expression",
    [
        "request.x || 'the capital of France is Paris'",
        'response."9f86d081884c7d65".text',
        "request.x || 'sk-abcDEF123ghiJKL456mno'",
        'response.{"Ann Lee, born 1980": id}',
        "request.x || `[1, 2, 3]`",
    ],
)
def test_what_no_person_wrote_holds_no_content(expression):
    """An LLM could copy a secret or an answer out of a call into a file."""
    check_expression(expression)
    with pytest.raises(MappingError, match="holds a"):
        check_expression(expression, trusted=False)


def test_a_missing_library_is_named_with_its_extra():
    """The base install has no JMESPath."""
    code = (
        "import sys; sys.modules['jmespath'] = None\n"
        "from otel_raglog_proxy_bridge import structural, mapping_store, asking\n"
        "from otel_raglog_proxy_bridge.expressions import check_expression, MappingError\n"
        "try: check_expression('request')\n"
        "except MappingError as problem: print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "otel-raglog[proxy]" in done.stdout, json.dumps(done.stderr)

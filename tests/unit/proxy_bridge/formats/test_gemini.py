"""Google's Gemini, by its own API and by Vertex AI: the model and the operation in the path."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.formats.gemini import either, listed, parts_text
from otel_raglog_proxy_bridge.model import ChatMessage

ASKED = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


@pytest.mark.parametrize(
    ("method", "url", "name"),
    [
        ("POST", "/v1beta/models/g:generateContent", "gemini.generate_content"),
        ("POST", "/proxy/google/v1/models/g:streamGenerateContent", "gemini.generate_content"),
        ("POST", "/v1/projects/p/locations/l/endpoints/7:generateContent", "gemini.generate_content"),
        ("POST", "/v1beta/models/g:countTokens", "gemini.housekeeping"),
        ("POST", "/v1beta/models/g:batchGenerateContent", "gemini.housekeeping"),
        ("POST", "/v1/publishers/google/models/imagen-4:predict", "gemini.housekeeping"),
        ("POST", "/v1beta/cachedContents", "gemini.housekeeping"),
        ("POST", "https://oauth2.googleapis.com/token", "gemini.housekeeping"),
        ("GET", "/v1beta/models/g", "openai.models"),
    ],
)  # fmt: skip
def test_operations_are_told_by_what_follows_the_colon(method, url, name):
    """Whatever stands before it."""
    assert told(exchange_of(url, ASKED, method=method)) == name


def test_fields_are_read_in_both_spellings():
    """Google's APIs read camel case and snake case alike."""
    assert either({"taskType": "a"}, "taskType") == either({"task_type": "a"}, "taskType") == "a"
    assert either(None, "taskType") is None


def test_one_of_a_list_may_stand_alone():
    """Clients leave out the brackets around one content or one part."""
    assert listed({"text": "a"}) == [{"text": "a"}]
    assert listed([1]) == [1]
    assert listed(None) == []
    assert parts_text({"parts": {"text": "a"}}) == "a"


def test_thoughts_are_no_text():
    """Parts of a message are lines, those of an answer run on."""
    parts = {"parts": [{"text": "hm", "thought": True}, {"text": "a"}, {"text": "b"}]}
    assert parts_text(parts) == "a\nb"
    assert parts_text(parts, "") == "ab"


def test_a_result_beside_a_text_leaves_the_text():
    """A result alone leaves no user's message."""
    result = {"functionResponse": {"name": "f", "response": {"a": 1}}}
    contents = [{"role": "user", "parts": [result, {"text": "So?"}]},
                {"role": "user", "parts": [result]}]  # fmt: skip
    reading = read(exchange_of("/v1/models/g:generateContent", {"contents": contents}))
    assert reading.messages == (
        ChatMessage("tool", '{"a": 1}'),
        ChatMessage("user", "So?"),
        ChatMessage("tool", '{"a": 1}'),
    )

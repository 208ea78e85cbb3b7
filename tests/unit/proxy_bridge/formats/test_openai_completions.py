"""OpenAI's older completions: a prompt in, its continuation out."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

TEXT = {"choices": [{"index": 0, "text": "Ho"}]}


@pytest.mark.parametrize(
    ("path", "request_body", "response", "name"),
    [
        ("/v1/completions", {"prompt": "Hi", "model": "m"}, None, "openai.completions"),
        ("/v1/completions", {"prompt": "Hi", "max_tokens": 4}, None, "openai.completions"),
        ("/v1/completions", {"prompt": "p1", "user": "u1"}, {"completed": True}, None),
        ("/v1/completions", {"prompt": [1, 2], "model": "m"}, None, "openai.completions"),
        ("/v1/engines/e/completions", {"prompt": "Hi"}, None, "openai.completions"),
        ("/inference", {"prompt": "Hi"}, TEXT, "openai.completions"),
        ("/inference", None, TEXT, "openai.completions"),
        ("/inference", {"prompt": "Hi"}, {"images": []}, None),
    ],
)
def test_completions_are_told_by_address_or_by_both_bodies(path, request_body, response, name):
    """A prompt alone may ask for a picture."""
    assert told(exchange_of(path, request_body, response)) == name


def test_token_ids_are_no_prompt():
    """The answer is still read."""
    reading = read(exchange_of("/v1/completions", {"prompt": [1, 2]}, TEXT))
    assert reading.messages == ()
    assert reading.answer == "Ho"


def test_a_prompt_is_left_out_of_the_answer_only_when_echoed():
    """A model may begin with the same words."""
    both = {"choices": [{"text": "Hi there"}]}
    assert read(exchange_of("/v1/completions", {"prompt": "Hi"}, both)).answer == "Hi there"
    echoed = {"prompt": "Hi", "echo": True}
    assert read(exchange_of("/v1/completions", echoed, both)).answer == " there"

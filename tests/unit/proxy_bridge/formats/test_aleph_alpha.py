"""Aleph Alpha's API: complete and semantic embeddings."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("request_body", "response", "name"),
    [
        ({"prompt": "Hi", "maximum_tokens": 9}, None, "aleph_alpha.complete"),
        ({"prompt": "Hi"}, {"completions": []}, "aleph_alpha.complete"),
        ({"prompt": "Hi", "max_tokens_to_sample": 9}, None, "anthropic.complete"),
        ({"done": True}, None, None),
    ],
)
def test_completions_of_two_apis_share_an_address(request_body, response, name):
    """They are told by the name of their token limit."""
    assert told(exchange_of("/complete", request_body, response)) == name


def test_a_picture_in_a_prompt_is_no_text():
    """A prompt without text leaves no message."""
    prompt = [{"type": "image", "data": "AA=="}]
    asked = {"model": "l", "prompt": prompt, "maximum_tokens": 1}
    assert read(exchange_of("/complete", asked)).messages == ()

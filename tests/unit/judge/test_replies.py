"""Bodies of both APIs: text, tokens, ends."""

import pytest

from otel_raglog.errors import Rejected
from otel_raglog.judge.client import Reply, Usage
from otel_raglog.judge.replies import AnthropicMessage, ChatCompletion


def message(*blocks, stop="end_turn", **usage):
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    body = {"content": content, "stop_reason": stop, "model": "m", "usage": usage}
    return AnthropicMessage.model_validate(body)


def completion(content="x", reason="stop", refusal=None, **usage):
    choice = {"message": {"content": content, "refusal": refusal}, "finish_reason": reason}
    return ChatCompletion.model_validate({"choices": [choice], "usage": usage or None})


def test_the_text_of_a_message_is_that_of_its_blocks():
    """What the model thought is no part of it."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    found = message(thought, '{"a"', ": 1}", input_tokens=3, output_tokens=2)
    assert found.reply() == Reply('{"a": 1}', Usage(3, 2))


def test_tokens_from_the_cache_are_counted_apart():
    """Anthropic tells them beside the others, OpenAI among them."""
    found = message(
        "x", input_tokens=3, cache_read_input_tokens=5, cache_creation_input_tokens=None
    )
    assert found.tokens() == Usage(3, 0, 5, 0)
    details = {"cached_tokens": 5}
    found = completion(prompt_tokens=8, completion_tokens=2, prompt_tokens_details=details)
    assert found.tokens() == Usage(3, 2, 5, 0)


def test_more_cached_tokens_than_there_are_make_none_negative():
    """Whatever a server tells."""
    found = completion(prompt_tokens=2, prompt_tokens_details={"cached_tokens": 5})
    assert found.tokens() == Usage(0, 0, 2, 0)


@pytest.mark.parametrize(("total", "expected"), [(30, 22), (10, 2), (5, 2), (0, 2), (None, 2)])
def test_thoughts_that_are_in_the_total_alone_are_counted(total, expected):
    """As Gemini's server tells them; a total that is too small takes nothing away."""
    found = completion(prompt_tokens=8, completion_tokens=2, total_tokens=total)
    assert found.tokens() == Usage(8, expected)


def test_a_server_may_tell_no_tokens():
    """As some compatible ones do."""
    assert completion().tokens() == Usage()


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_replies_that_are_cut_off_are_incomplete(stop):
    """With both APIs' words."""
    assert not message("x", stop=stop).reply().complete
    assert not completion(reason="length").reply().complete
    assert message("x").reply().complete
    assert completion().reply().complete


@pytest.mark.parametrize(
    "body",
    [
        message("No.", stop="refusal"),
        completion(refusal="No."),
        completion(reason="content_filter"),
    ],
)
def test_a_model_that_declines_is_an_error(body):
    """With the tokens still to be had."""
    with pytest.raises(Rejected, match="declined") as raised:
        body.reply()
    assert raised.value.reason == "refused"
    assert body.tokens() == Usage()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<think>a {b}</think>\n{1}", "{1}"),
        ("a thought</think>{1}", "{1}"),
        ("<think>without an end", ""),
        ('{"piece": "the tag </think>"}', '{"piece": "the tag </think>"}'),
        ("```json\n{1}\n```", "{1}"),
        (None, ""),
    ],
)
def test_thoughts_and_fences_are_no_part_of_a_completion(content, text):
    """A tag inside of the JSON is."""
    assert completion(content).reply().text == text

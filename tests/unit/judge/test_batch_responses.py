"""Files of responses: both forms, every end of a request, and damage."""

import gzip
import json

import pytest
from anthropic.types.messages import MessageBatchIndividualResponse
from openai.types.chat import ChatCompletion

from otel_raglog.errors import BadInput
from otel_raglog.judge.batch_responses import BatchResponse, UnreadableLine, read_responses
from otel_raglog.judge.client import Reply, Usage


def message(text="{}", stop="end_turn"):
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [{"type": "text", "text": text}], "stop_reason": stop, "stop_sequence": None,
        "usage": {
            "input_tokens": 7, "output_tokens": 3,
            "cache_read_input_tokens": 2, "cache_creation_input_tokens": None,
        },
    }  # fmt: skip


def succeeded(**more):
    return {"custom_id": "a", "result": {"type": "succeeded", "message": message(**more)}}


def failed(kind, **more):
    return {"custom_id": "a", "result": {"type": kind, **more}}


def completion(text="{}", reason="stop", refusal=None):
    return {
        "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-x",
        "choices": [{
            "index": 0, "finish_reason": reason, "logprobs": None,
            "message": {"role": "assistant", "content": text, "refusal": refusal},
        }],
        "usage": {
            "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
    }  # fmt: skip


def answered(body, status=200):
    response = {"status_code": status, "request_id": "q", "body": body}
    return {"id": "b1", "custom_id": "a", "response": response, "error": None}


def read(tmp_path, *lines):
    path = tmp_path / "responses.jsonl"
    path.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))
    return path, list(read_responses([path]))


def test_the_samples_here_are_what_the_apis_send():
    """By the types of their own libraries."""
    MessageBatchIndividualResponse.model_validate(succeeded())
    error = {"type": "error", "error": {"type": "api_error", "message": "x"}, "request_id": None}
    MessageBatchIndividualResponse.model_validate(failed("errored", error=error))
    ChatCompletion.model_validate(completion())


def test_a_message_is_a_reply_with_its_tokens(tmp_path):
    """Tokens that were read from a cache apart."""
    path, (found,) = read(tmp_path, succeeded(text='{"x": 1}'))
    reply = Reply('{"x": 1}', Usage(7, 3, 2, 0))
    assert found == BatchResponse(f"{path}, line 1", "a", reply, "claude-x")


def test_a_completion_is_a_reply_with_its_tokens(tmp_path):
    """OpenAI counts cached tokens among those of the prompt."""
    path, (found,) = read(tmp_path, answered(completion(text='{"x": 1}')))
    reply = Reply('{"x": 1}', Usage(7, 3, 2, 0))
    assert found == BatchResponse(f"{path}, line 1", "a", reply, "gpt-x")


@pytest.mark.parametrize(
    "line", [succeeded(stop="max_tokens"), answered(completion(reason="length"))]
)
def test_a_reply_that_was_cut_off_is_incomplete(tmp_path, line):
    """As its client online says."""
    _, (found,) = read(tmp_path, line)
    assert (found.reply.complete, found.failure) == (False, "")


@pytest.mark.parametrize(
    ("line", "failure"),
    [
        (failed("expired"), "expired"),
        (failed("canceled"), "canceled"),
        (
            failed("errored", error={"type": "error", "error": {"type": "overloaded_error"}}),
            "overloaded_error",
        ),
        (failed("errored", error={"error": {"type": "Your text: ..."}}), "errored"),
        (succeeded(stop="refusal"), "refused"),
        (succeeded(text=""), "empty_reply"),
        (failed("succeeded", message=None), "message_missing"),
        (failed("succeeded"), "message_missing"),
        (
            failed("succeeded", message={"content": 5}),
            "malformed_response at result.message.content",
        ),
        (failed("vanished"), "malformed_response at result.type"),
        (
            {
                "custom_id": "a",
                "response": None,
                "error": {"code": "batch_expired", "message": "x"},
            },
            "batch_expired",
        ),
        ({"custom_id": "a", "response": None, "error": None}, "no_response"),
        (
            answered({"error": {"type": "invalid_request_error", "code": None}}, 400),
            "invalid_request_error",
        ),
        (answered("not even JSON", 502), "http_502"),
        (answered(completion(text=None, refusal="No.")), "refused"),
        (answered(completion(reason="content_filter")), "refused"),
        (answered({"choices": [], "model": "m"}), "malformed_response at choices"),
        (answered(None), "malformed_response at response.body"),
    ],
)
def test_every_failure_has_a_word(tmp_path, line, failure):
    """The provider's where it gives one, and never its text, which may quote the request."""
    _, (found,) = read(tmp_path, line)
    assert (found.custom_id, found.failure) == ("a", failure)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "is no JSON"),
        ("[]", "has no custom_id"),
        ({"custom_id": 5, "result": {}}, "has no custom_id"),
        ({"custom_id": "a", "params": {}}, "perhaps a file of requests"),
    ],
)
def test_lines_of_no_batch_api_are_named(tmp_path, line, why):
    """And cost the others nothing."""
    path, found = read(tmp_path, succeeded(), line, "", succeeded())
    assert [type(each) for each in found] == [BatchResponse, UnreadableLine, BatchResponse]
    assert found[1].where == f"{path}, line 2"
    assert why in found[1].why


def test_packed_files_are_read(tmp_path):
    """And damage is named where it begins; what came before it is kept."""
    content = "".join(json.dumps(succeeded(text=f"{n}")) + "\n" for n in range(2_000)).encode()
    path = tmp_path / "responses.jsonl.gz"
    path.write_bytes(gzip.compress(content))
    assert len(list(read_responses([path]))) == 2_000
    path.write_bytes(gzip.compress(content)[:-500])
    *whole, last = read_responses([path])
    assert len(whole) > 0
    assert "damaged" in last.why


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    """That names it."""
    with pytest.raises(BadInput, match=r"gone\.jsonl"):
        list(read_responses([tmp_path / "gone.jsonl"]))

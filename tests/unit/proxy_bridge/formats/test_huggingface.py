"""Hugging Face's inference: inputs in, a generated text, vectors or similarities out."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.formats.huggingface import embedded, model_in_path


@pytest.mark.parametrize(
    ("path", "request_body", "response", "name"),
    [
        ("/", {"inputs": "Hi", "parameters": {"max_new_tokens": 9}}, None, "huggingface.text_generation"),
        ("/", {"inputs": "Hi"}, [{"generated_text": "Ho"}], "huggingface.text_generation"),
        ("/", {"inputs": "Hi"}, {"generated_text": "Ho"}, "huggingface.text_generation"),
        ("/generate", {"inputs": "Hi"}, None, "huggingface.text_generation"),
        ("/", {"inputs": "Hi"}, [0.5], "huggingface.feature_extraction"),
        ("/", {"inputs": "Hi"}, [[{"label": "good", "score": 0.9}]], None),
        ("/", {"inputs": "Hi"}, None, None),
        ("/", {"inputs": {"question": "a", "context": "b"}}, {"answer": "b"}, None),
    ],
)  # fmt: skip
def test_what_inputs_are_for_is_told_by_parameters_address_or_answer(
    path, request_body, response, name
):
    """Inputs alone, and classes of them, are left to others."""
    assert told(exchange_of(path, request_body, response)) == name


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/models/org/name", "org/name"),
        ("/hf-inference/models/org/name/pipeline/feature-extraction", "org/name"),
        ("/pipeline/feature-extraction/org/name", "org/name"),
        ("/models/gpt2", "gpt2"),
        ("/", None),
    ],
)
def test_the_path_may_name_the_model(path, model):
    """An endpoint of one's own does not."""
    assert model_in_path(exchange_of(path)) == model


def test_a_prompt_is_stripped_only_from_the_beginning():
    """A model may repeat it later."""
    answered = [{"generated_text": "Well, Hi"}]
    assert read(exchange_of("/generate", {"inputs": "Hi"}, answered)).answer == "Well, Hi"


def test_vectors_of_tokens_are_none_of_a_text():
    """A vector, and a list of vectors, are."""
    assert embedded([1, 2]) == ((1.0, 2.0),)
    assert embedded([[1, 2], [3, 4]]) == ((1.0, 2.0), (3.0, 4.0))
    assert embedded([[[1, 2]]]) == ()
    assert embedded({"error": "x"}) == ()


def test_a_translation_is_no_generation():
    """It puts a given text into other words, and has no part in a pipeline's stages."""
    answer = [{"translation_text": "My name is hare"}]
    assert told(exchange_of("/models/x/t5", {"inputs": "Mein Name ist Hase"}, answer)) is None

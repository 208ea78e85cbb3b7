"""Google's embeddings, by the Gemini API and by Vertex AI's predictions."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

GOOGLE = "/v1/projects/p/locations/l/publishers/google/models/"


@pytest.mark.parametrize(
    ("path", "request_body", "name"),
    [
        ("/v1beta/models/e:embedContent", {"content": {}}, "gemini.embed_content"),
        ("/v1beta/models/e:batchEmbedContents", {"requests": []}, "gemini.embed_content"),
        (GOOGLE + "text-e:predict", {"instances": [{"content": "a"}]}, "vertex.embeddings"),
        (GOOGLE + "multimodalembedding:predict", {"instances": [{"text": "a"}]}, "vertex.embeddings"),
        (GOOGLE + "tabular:predict", {"instances": [{"age": 7}]}, None),
    ],
)  # fmt: skip
def test_embeddings_are_told_from_other_predictions(path, request_body, name):
    """A prediction embeds when its instances have a content, or the model's name says so."""
    assert told(exchange_of(path, request_body)) == name


def test_an_embedding_that_is_missing_leaves_none():
    """Each belongs to the text at its place."""
    asked = {"instances": [{"content": "a"}, {"content": "b"}]}
    answered = {"predictions": [{"embeddings": {"values": [1]}}, {}]}
    reading = read(exchange_of(GOOGLE + "e:predict", asked, answered))
    assert reading.inputs == ("a", "b")
    assert reading.vectors == ()
    assert reading.tokens is None


def test_a_classifier_of_texts_embeds_nothing():
    """It takes a content, too, but answers with labels."""
    asked = {"instances": [{"mimeType": "text/plain", "content": "a"}]}
    labels = {"predictions": [{"displayNames": ["x"], "confidences": [0.9]}]}
    path = "/v1/projects/p/locations/l/endpoints/123:predict"
    assert told(exchange_of(path, asked, labels)) is None
    assert told(exchange_of(path, asked)) is None

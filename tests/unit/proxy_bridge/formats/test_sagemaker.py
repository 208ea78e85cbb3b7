"""SageMaker's endpoints: invocations of whatever model stands behind them."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

PATH = "/endpoints/e/invocations"


@pytest.mark.parametrize(
    ("path", "request_body", "response", "name"),
    [
        (PATH, {"messages": []}, None, "sagemaker.generation"),
        (PATH, {"inputs": "a", "parameters": {"max_new_tokens": 1}}, None, "sagemaker.generation"),
        (PATH + "-response-stream", {"messages": []}, None, "sagemaker.generation"),
        (PATH, {"text_inputs": "a"}, {"embedding": [1]}, "sagemaker.embedding"),
        (PATH, {"instances": [[1, 2]]}, {"predictions": [3]}, None),
        ("/invocations", {"instances": [[1, 2]]}, None, None),
    ],
)
def test_an_invocation_is_told_by_its_bodies(path, request_body, response, name):
    """Models of all kinds stand behind endpoints."""
    assert told(exchange_of(path, request_body, response)) == name


def test_one_vector_may_stand_without_a_list():
    """The endpoint's name stands for the model."""
    reading = read(exchange_of(PATH, {"text_inputs": "a"}, {"embedding": [1, 2]}))
    assert reading.vectors == ((1.0, 2.0),)
    assert reading.model == "e"

"""IBM's watsonx.ai: generation, chat, embeddings and rerank, by model or by deployment."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told

IBM = "https://us-south.ml.cloud.ibm.com"


@pytest.mark.parametrize(
    ("method", "url", "name"),
    [
        ("POST", "/ml/v1-beta/generation/text?version=1", "watsonx.generation"),
        ("POST", "/ml/v1/deployments/d/text/generation_stream", "watsonx.generation"),
        ("POST", "/ml/v1/text/chat_stream?version=1", "watsonx.chat"),
        ("POST", "/ml/v1/text/tokenization", "watsonx.housekeeping"),
        ("POST", "https://iam.cloud.ibm.com/identity/token", "watsonx.housekeeping"),
        ("GET", "/ml/v4/instances/i", "watsonx.housekeeping"),
        ("GET", IBM + "/ml/v1/foundation_model_specs", "watsonx.housekeeping"),
        ("GET", "https://api.dataplatform.cloud.ibm.com/v2/projects/p", "watsonx.housekeeping"),
        ("GET", "/v2/projects/p", None),
    ],
)
def test_operations_are_told_by_address(method, url, name):
    """Only what any API could be called is told by IBM's host."""
    assert told(exchange_of(url, {"input": "Hi"}, method=method)) == name

"""All APIs that the bridge knows, in the order in which they are asked."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import CallStage


def test_housekeeping_is_asked_last():
    """A call that runs a model is never put aside by its address."""
    names = [api.name for api in APIS]
    assert names.index("openai.management") > names.index("openai.chat")
    assert names.index("openai.background_response") < names.index("openai.responses")


def test_particular_addresses_come_before_shapes():
    """A chat at an endpoint of SageMaker's is the endpoint's, though its shape is OpenAI's."""
    asked = {"messages": [{"role": "user", "content": "Hi"}]}
    answered = {"choices": [{"message": {"content": "Ho"}}]}
    assert told(exchange_of("/endpoints/e/invocations", asked, answered)) == "sagemaker.generation"
    assert told(exchange_of("/anywhere", asked, answered)) == "openai.chat"


@pytest.mark.parametrize(
    ("path", "request_body", "response"),
    [
        ("/api/interactions", {"input": "called the customer"}, {"id": 3, "status": "logged"}),
        ("/conversations", {"inputs": [{"a": 1}]}, {"id": 1}),
        ("/api/agents/7/run", {"inputText": "restart the service"}, {"job": "x"}),
        ("/api/embed", {"input": "https://video.example/1"}, {"html": "<iframe/>"}),
        ("/embed", {"inputs": "https://video.example/1"}, {"html": "<iframe/>"}),
        ("/embeddings", {"input": "https://video.example/1"}, {"html": "<iframe/>"}),
        ("/query", {"topK": 3, "id": "7"}, {"rows": []}),
        ("/collections/9/search", {"searches": ["blue"]}, {"products": []}),
        ("/search", {"q": "blue shoes", "format": "json"}, {"results": [{"sku": "1"}]}),
        ("/threads/3/runs", {"stream": True}, {"id": 1}),
    ],
)
def test_an_ordinary_service_with_a_known_address_is_of_no_stage(path, request_body, response):
    """What it is asked or what it answers tells it from the API whose address it shares."""
    name = told(exchange_of(path, request_body, response))
    api = next((api for api in APIS if api.name == name), None)
    assert api is None or api.stage is CallStage.IRRELEVANT

"""All APIs that the bridge knows, in the order in which they are asked."""

from __future__ import annotations

from call_exchanges import exchange_of, told

from otel_raglog_proxy_bridge.formats.registry import APIS


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

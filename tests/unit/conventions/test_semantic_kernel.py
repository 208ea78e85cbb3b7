"""What spans of Semantic Kernel say beside the GenAI conventions."""

from span_trees import span, spans_of

from otel_raglog.conventions.semantic_kernel import LOOP, SemanticKernel
from otel_raglog.model import FieldStatus, Role

SCOPE = "semantic_kernel.functions.kernel_function"


def read(attributes, name="x", scope=SCOPE):
    (one,) = spans_of(span(name, attributes=attributes, scope=scope))
    return SemanticKernel().read(one)


def test_a_call():
    """A call has model, tokens and an enum's name as finish reason, but no messages."""
    facts = read(
        {
            "gen_ai.operation.name": "text_completions",
            "gen_ai.request.model": "m",
            "gen_ai.response.finish_reason": "FinishReason.STOP",
            "gen_ai.usage.input_tokens": 3,
        }
    )
    assert (facts.role, facts.model, facts.finish_reason) == (Role.LLM, "m", "stop")
    assert facts.tokens.prompt == 3
    assert facts.messages.status is FieldStatus.NOT_CAPTURED


def test_a_function():
    """Functions are tools, with arguments and result where sensitive data is traced."""
    facts = read(
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "handbook-search",
            "gen_ai.tool.call.arguments": '{"query": "why?"}',
            "gen_ai.tool.call.result": "found",
        }
    )
    assert (facts.role, facts.query.value, facts.tool_name) == (
        Role.TOOL,
        "why?",
        "handbook-search",
    )


def test_the_loop():
    """The loop around functions is a chain, whoever exports it."""
    assert read({"sk.available_functions": "f"}, LOOP, "other").role is Role.CHAIN
    assert read({"sk.available_functions": "f"}, "x", "other").role is Role.UNKNOWN


def test_dotnet():
    """The scope of the .NET package is known too."""
    facts = read({"gen_ai.operation.name": "chat"}, scope="Microsoft.SemanticKernel.Diagnostics")
    assert facts.role is Role.LLM


def test_foreign_spans():
    """A finish reason of another instrumentation is left to the GenAI conventions."""
    assert read({"gen_ai.response.finish_reason": "stop"}, scope="other") is None

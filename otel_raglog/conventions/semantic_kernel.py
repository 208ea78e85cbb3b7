"""Spans of Semantic Kernel to facts.

Keys are those of ``semantic-kernel`` 1.45 for Python and of the .NET package: the GenAI
conventions, with the operation ``text_completions`` and an enum's name as finish reason. What was
said goes to log records; only the arguments and results of functions are on spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import WANTED, GenAiReader
from otel_raglog.model import Role, Span, SpanFacts

NAME = "semantic_kernel"
LOOP = "AutoFunctionInvocationLoop"
_NOTE = "Semantic Kernel writes messages to log records, which are not read"

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted("messages", ("gen_ai.input.messages", "gen_ai.user.message/content"), note=_NOTE),
        Wanted("output_messages", ("gen_ai.output.messages", "gen_ai.choice/message"), note=_NOTE),
        Wanted("model", ("gen_ai.response.model", "gen_ai.request.model")),
        Wanted("tokens", ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")),
        Wanted("finish_reason", ("gen_ai.response.finish_reason",)),
    ),
    Role.TOOL: WANTED[Role.TOOL],
    Role.AGENT: WANTED[Role.AGENT],
    Role.CHAIN: (Wanted("input", note="the loop around functions has no input of its own"),),
}


@dataclass(frozen=True, slots=True)
class SemanticKernel:
    """What Semantic Kernel writes beside the GenAI conventions."""

    name: str = NAME
    title: str = "Semantic Kernel"
    marker_prefixes: tuple[str, ...] = (
        "sk.",
        "semantic_kernel.",
        "gen_ai.response.finish_reason",
        "gen_ai.tool.description",
    )
    marker_names: tuple[str, ...] = (LOOP,)
    wanted: Mapping[Role, tuple[Wanted, ...]] = field(default_factory=lambda: _WANTED)
    remedy: str = (
        "Semantic Kernel writes messages to log records, which are not read, even with "
        "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true (functions get "
        "their arguments and results by it): instrument the model's client as well"
    )

    def read(self, span: Span) -> SpanFacts | None:
        """Return what the span says, ``None`` when it is not of Semantic Kernel."""
        return _Reader(span, self.name).facts() if _is_ours(span) else None


def _is_ours(span: Span) -> bool:
    if span.scope_name.lower().replace(".", "_").startswith(("semantic_kernel", "microsoft_sem")):
        return True
    return span.name == LOOP or any(key.startswith("sk.") for key in span.attributes)


class _Reader(GenAiReader):
    """Reads one span; every method returns one fact."""

    def find_role(self) -> Role:
        return Role.CHAIN if self.span.name == LOOP else super().find_role()

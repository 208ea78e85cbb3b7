"""Spans of Semantic Kernel to facts.

Keys are those of ``semantic-kernel`` 1.45 for Python and of the .NET package: the GenAI
conventions, with the operation ``text_completions`` and an enum's name as finish reason. What was
said goes to log records; only the arguments and results of functions are on spans.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import WANTED, GenAiDialect, GenAiReader
from otel_raglog.model import Role

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


class _Reader(GenAiReader):
    """Reads one span; every method returns one fact."""

    def find_role(self) -> Role:
        return Role.CHAIN if self.span.name == LOOP else super().find_role()


class SemanticKernel(GenAiDialect):
    """What Semantic Kernel writes beside the GenAI conventions."""

    name = NAME
    title = "Semantic Kernel"
    marker_prefixes = ("sk.", "semantic_kernel.")
    marker_names = (LOOP,)
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "Semantic Kernel writes messages to log records, which are not read, even with "
        "SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true (functions get "
        "their arguments and results by it): instrument the model's client as well"
    )
    sender_scopes = ("semantic_kernel", "Microsoft.SemanticKernel")

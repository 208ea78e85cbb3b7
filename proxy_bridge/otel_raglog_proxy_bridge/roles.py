"""What the calls of a model in a run were for, where no step of the run tells."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog_proxy_bridge.linking import Ties, documents_in, ties_of, words_shared
from otel_raglog_proxy_bridge.model import Document, LlmReading
from otel_raglog_proxy_bridge.runs import CapturedRun

REWRITER = "rewriter"
GENERATOR = "generator"

_SAME_INSTRUCTIONS = 0.95
"""Share of a rewriter's prompt that another has when it is told the same, with more to go by."""


def other_roles(run: CapturedRun, known: Mapping[str, str]) -> Mapping[str, str]:
    """Return roles of calls that are not in ``known``, by call id; those that nothing tells are out.

    A model that was shown documents found before it, and asked for no tool, answers: a try that
    failed, a sub-question, a round of refinement. One that is told what a rewriter of the run was
    told rewrites, also when it finds that there is nothing more to ask.
    """
    found: list[Document] = []
    rewriters: list[Ties] = []
    roles: dict[str, str] = {}
    for read in run.calls:
        if read.reading is None:
            continue
        ties = ties_of(read.reading)
        if isinstance(read.reading, LlmReading):
            role = known.get(read.call.id)
            if role == REWRITER:
                rewriters.append(ties)
            elif role is None and documents_in(ties.seen, found):
                roles[read.call.id] = GENERATOR
            elif role is None and any(
                words_shared(told.seen, ties.seen) >= _SAME_INSTRUCTIONS for told in rewriters
            ):
                roles[read.call.id] = REWRITER
        found.extend(ties.found)
        found.extend(ties.given)
    return roles

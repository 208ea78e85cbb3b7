"""A plan and the prompt that really arrived to what the stub's language model says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from catalogue import Catalogue, holds

REWRITER_PROMPT = re.compile(
    r"standalone question|different versions of the given|rewrite the question|search queries, one per line",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reply:
    """What the model says, why it stopped, and what it did (for the log that labels are checked against)."""

    text: str
    finish_reason: str
    role: str
    did: str


def reply(plan: dict[str, Any], prompt: str, catalogue: Catalogue) -> Reply:
    """Rewriter prompts get the planned rewrites; all others an answer from the prompt's own context."""
    if REWRITER_PROMPT.search(prompt):
        return Reply("\n".join(plan["rewrites"]), "stop", "rewriter", "rewrite")
    return _answer(plan, prompt, catalogue)


def _answer(plan: dict[str, Any], prompt: str, catalogue: Catalogue) -> Reply:
    present = [need for need in plan["needs"] if holds(prompt, need["quote"])]
    complete = len(present) == len(plan["needs"])
    mode = plan["generator"]
    if mode == "should_abstain" and not present:
        return Reply(plan["wrong"], "stop", "generator", mode)
    if mode == "off_question" and (other := _other_answer(plan, prompt, catalogue)):
        return Reply(other, "stop", "generator", mode)
    if complete and mode in plan["says"]:
        finish_reason = "length" if mode == "output_truncated" else "stop"
        return Reply(plan["says"][mode], finish_reason, "generator", mode)
    if complete:
        return Reply(plan["answer"], "stop", "generator", "honest")
    if present:
        text = " ".join(need["says"] for need in present)
        return Reply(f"{text} {plan['partial']}", "stop", "generator", "honest_partial")
    return Reply(plan["refusal"], "stop", "generator", "honest_refusal")


def _other_answer(plan: dict[str, Any], prompt: str, catalogue: Catalogue) -> str | None:
    """A sentence that the context does support, but that answers another question."""
    asked = {need["doc"] for need in plan["needs"]}
    for question in catalogue.questions.values():
        for need in question.needs:
            if need.doc not in asked and holds(prompt, need.quote):
                return need.says
    return None

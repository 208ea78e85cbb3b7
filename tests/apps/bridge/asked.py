"""The names of the recorded applications to what they are asked, with the stub's plans; nothing is faulty."""

from __future__ import annotations

import random
from typing import Any

from catalogue import Catalogue, load_catalogue
from faults import EMPTY
from planning import Slot, _plan

ONE_REWRITE, THREE_REWRITES, HOPS, TURNS = (
    "passenger-desk",
    "policy-finder",
    "compare-desk",
    "crew-assistant",
)
PAGES = frozenset(
    [
        "fares-2023",
        "fares-2024",
        "fares-2025",
        "fares-groups",
        "fares-islander-card",
        "fleet-aurelia",
        "fleet-brightwater",
        "onboard-assistance",
        "onboard-pets-aurelia",
        "onboard-pets-brightwater",
        "terminals-lost-property-ellery",
        "terminals-lost-property-sandmouth",
        "terminals-parking-ellery",
        "terminals-parking-sandmouth",
    ]
)
"""The pages of the handbook that the recorded applications have in their index."""

SINGLE = ("fare-2024", "islander-card", "dog-aurelia", "group-discount", "wheelchairs")
SPLIT = ("bicycles-2024-2023", "parking-two-sites", "cars-two-vessels")
CONVERSATION = {"": "dogs", "condense-chat": "parking", "island-chat": "parking"}
END_TO_END = (
    "fare-2024",
    "islander-card",
    "dog-aurelia",
    "group-discount",
    "aurelia-passengers",
    "parking-two-sites",
)

KINDS = {
    "handbook-search": (ONE_REWRITE, SINGLE[:3]),
    "passenger-desk": (ONE_REWRITE, SINGLE[:3]),
    "crew-assistant": (TURNS, ()),
    "office-answers": (ONE_REWRITE, SINGLE[1:4]),
    "policy-finder": (THREE_REWRITES, SINGLE[2:4]),
    "island-chat": (TURNS, ()),
    "compare-desk": (HOPS, SPLIT[:2]),
    "hyde-desk": (ONE_REWRITE, SINGLE[:2]),
    "fusion-desk": (THREE_REWRITES, SINGLE[1:3]),
    "subquestion-desk": (HOPS, SPLIT[:2]),
    "multistep-desk": (HOPS, SPLIT[1:]),
    "react-desk": (ONE_REWRITE, SINGLE[:2]),
    "router-desk": (ONE_REWRITE, SINGLE[1:3]),
    "llmrank-desk": (ONE_REWRITE, SINGLE[:2]),
    "refine-desk": (ONE_REWRITE, SINGLE[2:4]),
    "memory-search": (ONE_REWRITE, SINGLE[:3]),
    "stream-desk": (ONE_REWRITE, SINGLE[3:]),
    "condense-chat": (TURNS, ()),
    "parallel-search": (ONE_REWRITE, SINGLE[:4]),
    "parallel-rewrites": (THREE_REWRITES, SINGLE[:4]),
    "retrying-desk": (ONE_REWRITE, SINGLE[:2]),
    "bm25-desk": (ONE_REWRITE, SINGLE[:3]),
    "guarded-desk": (ONE_REWRITE, SINGLE[1:3]),
    "fanout-desk": (THREE_REWRITES, SINGLE[:2]),
    "agent-desk": (ONE_REWRITE, SINGLE[:2]),
    "web-agent": (ONE_REWRITE, SINGLE[2:4]),
}
TOGETHER = {"parallel-search": 2, "parallel-rewrites": 2}
"""How many questions are asked at once."""


def plans_for(name: str) -> list[dict[str, Any]]:
    """What `name` is asked, one plan a question, in order."""
    catalogue = load_catalogue()
    rng = random.Random(f"bridge {name}")
    kind, questions = KINDS[name]
    if kind == TURNS:
        return _conversation(rng, catalogue, CONVERSATION.get(name, CONVERSATION[""]))
    plans = [_planned(rng, catalogue, kind, question) for question in questions]
    if name == "handbook-search":
        nothing = _planned(rng, catalogue, kind, "voucher") | {"collection": EMPTY}
        plans.insert(2, nothing)  # the application answers by itself when nothing is found
    return plans


def end_to_end_plans() -> list[dict[str, Any]]:
    """Plans for the six questions of the end-to-end application."""
    catalogue = load_catalogue()
    rng = random.Random("bridge end to end")
    return [_planned(rng, catalogue, ONE_REWRITE, question) for question in END_TO_END]


def _planned(rng: random.Random, catalogue: Catalogue, kind: str, question: str) -> dict[str, Any]:
    return _plan(rng, Slot(kind, question=catalogue.questions[question]))


def _conversation(rng: random.Random, catalogue: Catalogue, name: str) -> list[dict[str, Any]]:
    turns = catalogue.conversations[name]
    session = f"session-{name}"
    return [
        _plan(rng, Slot(TURNS, turns, number, session, question=catalogue.questions[turn.question]))
        for number, turn in enumerate(turns, 1)
    ]

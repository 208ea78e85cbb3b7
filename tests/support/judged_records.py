"""A run record with references, and findings of judges about it, as plain JSON."""

from __future__ import annotations

import copy
from typing import Any

QUESTION = "When was the Alvar Bridge opened?"
HELD = "The Alvar Bridge was opened in 1931."
OTHER = "Bees of the valley feed on heather."


def run_record(run_id: str = "r1", **changes: Any) -> dict[str, Any]:
    """Return a sound run with every stage; ``None`` takes a key out."""
    record = {
        "id": run_id,
        "pipeline": "p",
        "group": "g",
        "question": QUESTION,
        "rewrites": ["opening year of the Alvar Bridge"],
        "embedder_input": "opening year of the Alvar Bridge",
        "retrieved": [{"id": "d1", "text": HELD}, {"id": "d2", "text": OTHER}],
        "reranked": [{"id": "d1"}, {"id": "d2"}],
        "passed": ["d1"],
        "prompt": f"Context: {HELD}\n\n{QUESTION}",
        "answer": "It was opened in 1931.",
        "reference": {"answers": ["1931"], "evidence_ids": ["d1"]},
    }
    record |= changes
    return {key: value for key, value in record.items() if value is not None}


def findings(**changes: Any) -> dict[str, Any]:
    """Return findings by which the run is sound; ``stage__field`` changes one of them."""
    found = copy.deepcopy(_SOUND)
    for key, value in changes.items():
        stage, _, name = key.partition("__")
        if name:
            found[stage][name] = value
        else:
            found[stage] = value
    return found


_SOUND: dict[str, Any] = {
    "rewriter": {
        "dropped_constraints": [],
        "added_constraints": [],
        "changed_entities": [],
        "intent_changed": False,
    },
    "embedder": {"passage_like": False, "altered": []},
    "retriever": {"needed_chunks": ["c1"]},
    "reranker": {"needed_excluded": []},
    "assembly": {"needed_lost": [], "blank_slots": 0},
    "generator": {
        "unstated": [],
        "omitted_items": [],
        "prompt_holds_answer": "yes",
        "refuses": False,
        "other_question": False,
        "cut_off": False,
    },
}

"""The recorded calls of `tests/golden/call_sequences` and what each was for, as the application knew."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "golden" / "call_sequences"


@dataclass(frozen=True)
class RecordedRun:
    """One question: `answered_by` is the call that gave the answer, `None` where no call did."""

    number: int
    question: str
    answer: str
    answered_by: str | None
    session: str | None
    turn: int | None


@dataclass(frozen=True)
class Sequence:
    """The calls of one application, as call records; by call its stage and its run's number."""

    name: str
    path: Path
    records: tuple[dict[str, Any], ...]
    stages: dict[str, str]
    runs_of_calls: dict[str, int | None]
    runs: tuple[RecordedRun, ...]

    def calls_of(self, number: int, *, only_stages: bool = True) -> list[str]:
        """Return the ids of a run's calls; without those that are of no stage."""
        return [
            call
            for call, run in self.runs_of_calls.items()
            if run == number and not (only_stages and self.stages[call] == "irrelevant")
        ]


def sequence_names() -> list[str]:
    """Return the names of the applications, sorted."""
    return sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


def read_sequence(name: str) -> Sequence:
    """Read what was recorded of an application."""
    path = FOLDER / f"{name}.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    expected = json.loads((FOLDER / f"{name}.expected.json").read_text(encoding="utf-8"))
    calls = expected["calls"]
    return Sequence(
        name,
        path,
        tuple(json.loads(line) for line in lines),
        {key: call["stage"] for key, call in calls.items()},
        {key: call["run"] for key, call in calls.items()},
        tuple(
            RecordedRun(
                run["run"],
                run["question"],
                run["answer"],
                run["answered_by"],
                run["session"],
                run["turn"],
            )
            for run in expected["runs"]
        ),
    )

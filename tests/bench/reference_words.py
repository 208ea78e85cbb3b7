"""How often answers that are called right by their words are right, on the judged runs.

::

    python tests/bench/reference_words.py

Reads ``../shared/data/runs/judged.jsonl.gz``, in which a strong LLM judged each answer.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path

from otel_raglog.lab.references.correctness import states_reference

RUNS = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs" / "judged.jsonl.gz"


def main() -> None:
    """Print how many answers are called right, and how these were judged."""
    if not RUNS.exists():
        sys.exit(f"{RUNS} is missing: it lies beside this project, not in it")
    judged: Counter[str] = Counter()
    runs = 0
    with gzip.open(RUNS, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            runs += 1
            reference = record["reference"]
            if states_reference(record["answer"], reference["answers"], record["question"]):
                judged[reference["judged_answer"]] += 1
    parts = ", ".join(f"{count} {what}" for what, count in judged.most_common())
    print(f"{judged.total()} of {runs} answers are called right; judged: {parts}")


if __name__ == "__main__":
    main()

"""How well the lab's label rules agree with judged run records: the table of docs/lab.md.

Run with ``python tests/bench/lab_labels.py``. It reads ../shared/data, which lies beside this
project and is not part of it. The rules see the runs and the known evidence, the judges saw the
runs and the reference answers.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path

from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.lab.corpus import read_corpus
from otel_raglog.lab.labels import label
from otel_raglog.lab.laboratory import Lab
from otel_raglog.lab.splits import TRAINING_CORPORA

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
RUNS = DATA / "runs" / "judged.jsonl.gz"


def main() -> None:
    """Print the table."""
    if not RUNS.exists():
        sys.exit(f"{RUNS} is missing: it lies beside this project, not in it")
    corpora = [read_corpus(DATA / "corpora" / name) for name in TRAINING_CORPORA]
    lab = Lab(corpora, (), MiniLmEncoder())
    table: dict[str, Counter[str]] = {}
    with gzip.open(RUNS, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            # The judged runs name their injections otherwise.
            found = label({**record, "injected": None}, *lab.known(record)).labels
            for stage, judged in record["labels"].items():
                own = found.get(stage)
                if own is None or own.faulty is None:
                    entry = "open"
                else:
                    entry = f"{own.faulty == judged['faulty']} {judged['faulty']}"
                table.setdefault(stage, Counter())[entry] += 1
    print("stage: agree of decided (faults found of faults, clean called faulty), left open")
    for stage, counts in table.items():
        faults, clean = counts["True True"], counts["True False"]
        missed, false = counts["False True"], counts["False False"]
        print(
            f"  {stage:10} {faults + clean} of {faults + clean + missed + false} "
            f"({faults} of {faults + missed}, {false}), {counts['open']} open"
        )


if __name__ == "__main__":
    main()

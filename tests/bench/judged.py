"""How well the detector agrees with judged run records: the table of docs/detector.md.

Run with ``python tests/bench/judged.py [FILE]``. FILE holds run records with labels; by default it
is ../shared/data/runs/judged.jsonl.gz, which lies beside this project and is not part of it. The
constants of rules-1 were set while looking at the runs whose group's SHA-256 begins with an even
byte ("design"); the others are "held out".
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from otel_raglog.building import build_analyser
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import RunVerdict, StageVerdict
from otel_raglog.options import Analysis

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs" / "judged.jsonl.gz"
Counts = dict[str, Counter[str]]


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of ``path``."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def half(record: Mapping[str, Any]) -> str:
    """Return which half of the groups a record belongs to."""
    digest = hashlib.sha256(str(record.get("group", record["id"])).encode()).digest()
    return "held out" if digest[0] % 2 else "design"


def cell(counts: Counter[str]) -> str:
    """Return precision, recall, F1 and false-positive rate of true/false positives/negatives."""
    tp, fp, fn, tn = (counts[name] for name in ("tp", "fp", "fn", "tn"))
    precision, recall = tp / max(1, tp + fp), tp / max(1, tp + fn)
    f1 = 2 * tp / max(1, 2 * tp + fp + fn)
    floor = 2 * (tp + fn) / max(1, 2 * (tp + fn) + fp + tn)
    return (
        f"{tp + fn:4} of {tp + fp + fn + tn:4}   {precision:.2f} / {recall:.2f} / {f1:.2f} / "
        f"{fp / max(1, fp + tn):.3f}   {floor:.2f}"
    )


def outcome(*, flagged: bool, faulty: bool) -> str:
    """Return the cell of the confusion matrix."""
    if flagged:
        return "tp" if faulty else "fp"
    return "fn" if faulty else "tn"


def main() -> None:
    """Print the table."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    if not path.exists():
        sys.exit(f"{path} is missing: it lies beside this project, not in it; name another file")
    analyser = build_analyser(Analysis(), quote_text=False, failures=LoggingFailures())
    halves: dict[str, Counts] = {"design": {}, "held out": {}}
    for record in read(path):
        report = analyser.judge(run_from_record(record))
        table = halves[half(record)]
        for stage, verdict in report.verdicts.items():
            label = record["labels"].get(stage.value)
            if label is None:
                continue
            entry = outcome(
                flagged=verdict.verdict is StageVerdict.FAULTY, faulty=bool(label["faulty"])
            )
            table.setdefault(stage.value, Counter())[entry] += 1
            table.setdefault("pooled", Counter())[entry] += 1
        entry = outcome(
            flagged=report.verdict is RunVerdict.FAULTY,
            faulty=any(label["faulty"] for label in record["labels"].values()),
        )
        table.setdefault("run", Counter())[entry] += 1
    for name, table in halves.items():
        print(f"{name}: faulty of all, precision / recall / F1 / FPR, F1 of always faulty")
        for row in [key for key in table if key not in {"pooled", "run"}] + ["pooled", "run"]:
            print(f"  {row:10} {cell(table[row])}")


if __name__ == "__main__":
    main()

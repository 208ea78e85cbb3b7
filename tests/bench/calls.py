"""Measure the bridge's rules on the recorded calls of many providers, against labels made by reading.

Usage: python tests/bench/calls.py [--calls ../shared/calls/recorded-calls.jsonl] [--half test|dev]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from call_labels import Compared, compare  # noqa: E402

from otel_raglog_proxy_bridge.classifying import Classifier  # noqa: E402
from otel_raglog_proxy_bridge.telling import tellers  # noqa: E402

_SHOWN = 90


def main() -> None:
    """Print a table for each half, and what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--calls", type=Path, default=ROOT.parent / "shared/calls/recorded-calls.jsonl"
    )
    parser.add_argument("--half", choices=["test", "dev"])
    options = parser.parse_args()
    if not options.calls.exists():
        sys.exit(f"calls: {options.calls} is missing: it lies beside this project")
    records = [json.loads(line) for line in options.calls.read_text().splitlines()]
    rows = list(compare(records, Classifier(tellers())))
    for half in [options.half] if options.half else ["dev", "test"]:
        report(half, [row for row in rows if row.half == half])


def report(half: str, rows: list[Compared]) -> None:
    """Print one half."""
    decided = [row for row in rows if row.decided]
    right = [row for row in decided if row.stage_is_right]
    stages = [row for row in rows if row.label != "irrelevant"]
    read = [row for row in stages if row.stage_is_right and not row.wrong]
    print(f"half {half}: {len(rows)} calls, {len(stages)} of a stage")
    print(f"  decided by a rule        {share(len(decided), len(rows))}")
    print(f"  right, of those decided  {share(len(right), len(decided))}")
    print(f"  all values right         {share(len(read), len(stages))} of the calls of a stage")
    for stage, count in sorted(Counter(row.label for row in rows).items()):
        mine = [row for row in rows if row.label == stage]
        good = sum(row.decided and row.stage_is_right for row in mine)
        values = sum(row.stage_is_right and not row.wrong for row in mine)
        print(f"    {stage:11} {count:4} calls, stage right {good:4}, values right {values:4}")
    for row in rows:
        if not row.decided:
            print(f"  undecided: {row.call_id} {row.label} {row.url[:_SHOWN]}")
        elif not row.stage_is_right:
            rule = row.read.decision.rule
            print(
                f"  wrong: {row.call_id} is {row.label}, {rule} says {row.read.decision.stage}: {row.url[:_SHOWN]}"
            )
        elif row.wrong:
            print(f"  misread: {row.call_id} {row.read.decision.rule} {row.url[:_SHOWN]}")
            for key, (wanted, found) in row.wrong.items():
                print(f"      {key}: {str(wanted)[:_SHOWN]!r}, read {str(found)[:_SHOWN]!r}")


def share(part: int, whole: int) -> str:
    """Return a share in words."""
    return f"{part:4} of {whole:4}  {100 * part / max(1, whole):5.1f} %"


if __name__ == "__main__":
    main()

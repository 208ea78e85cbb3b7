"""Prints what it costs to find a call's run, by the number of runs that are open.

    python tests/bench/grouping.py

Each kind of call is put into a grouper with so many open runs, in one process; times are
milliseconds, the least of three. What is looked for is the growth from row to row.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from bridge_calls import Pipeline

from otel_raglog_proxy_bridge.model import ReadCall
from otel_raglog_proxy_bridge.runs import Grouper, GroupingOptions

OPEN_RUNS = (10, 100, 1_000)


def grouper_with(open_runs: int, app: Pipeline) -> Grouper:
    """Return a grouper with so many runs of an embedder and a search."""
    grouper = Grouper(GroupingOptions(most_runs=10_000))
    for number in range(open_runs):
        text = f"Passage {number} of the book is on {number} things that are in no other. " * 5
        question = f"What does passage {number} say of things?"
        grouper.add(app.at(number / 1_000).embed(question))
        grouper.add(app.search(question, text))
    return grouper


def milliseconds(grouper: Grouper, call: ReadCall) -> float:
    """Return what adding ``call`` takes."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        grouper.add(call)
        times.append(time.perf_counter() - began)
    return 1_000 * min(times)


def main() -> None:
    """Print a table."""
    print(f"{'open runs':>10} {'embed':>8} {'rerank':>8} {'chat 4 kB':>10} {'chat 1 MB':>10}")
    for open_runs in OPEN_RUNS:
        row = []
        for kind in ("embed", "rerank", "short", "long"):
            app = Pipeline()
            grouper = grouper_with(open_runs, app)
            passages = ["Some passage of another book altogether."] * 5
            call = {
                "embed": lambda app=app: app.embed("Some other question of some length?"),
                "rerank": lambda app=app, p=passages: app.rerank("Another question?", p, [0, 1]),
                "short": lambda app=app: app.chat("Some passage of another book. " * 130, "So"),
                "long": lambda app=app: app.chat("Some passage of another book. " * 33_000, "So"),
            }[kind]()
            row.append(milliseconds(grouper, call))
        print(f"{open_runs:>10} {row[0]:8.2f} {row[1]:8.2f} {row[2]:10.2f} {row[3]:10.2f}")


if __name__ == "__main__":
    main()

"""Measure how long the checks of a run take together, against the slowest, and what asking costs here.

    python tests/bench/judge.py [--runs 20]

A scripted server answers each check after a delay of its own. Printed are the time of a run over
that of its slowest check, and the CPU of this process for a run, calls, prompts and parsing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from handbook_runs import make_run
from judge_server import JudgeServer

from otel_raglog.building import build_asker
from otel_raglog.options import Judge

DELAYS = {
    "graded_stage": 0.2,
    "graded_generator": 0.25,
    "verification": 0.3,
    "evidence_flow": 0.4,
    "statements": 0.35,
}


def main() -> None:
    """Ask about runs one after the other, first with delays, then without."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    run = make_run(rewrites=["vacation days"], embedded=["vacation days"], selected=["vacation"])
    with JudgeServer() as server:
        asker = build_asker(Judge(endpoint=server.url_anthropic), None)
        asker.ask(run)  # connections are made
        server.delays.update(DELAYS)
        times = []
        for _ in range(runs):
            started = time.perf_counter()
            outcome = asker.ask(run)
            times.append(time.perf_counter() - started)
            if outcome.abstained:
                sys.exit(f"checks without an answer: {dict(outcome.abstained)}")
        slowest, together = max(DELAYS.values()), sum(DELAYS.values())
        median = statistics.median(times)
        print(f"{outcome.calls} checks, delays {together:.2f} s in all, the slowest {slowest} s")
        print(
            f"a run took {median:.3f} s (median of {runs}): {median / slowest:.2f} times the slowest"
        )
        server.delays.clear()
        began = time.process_time()
        for _ in range(runs):
            asker.ask(run)
        spent = time.process_time() - began
        print(f"CPU of a run, the scripted server's included: {1000 * spent / runs:.1f} ms")
        asker.close()


if __name__ == "__main__":
    main()

"""Prints what keeping reports for the JSON API costs, beside judging them.

python tests/bench/recent_reports.py

Times are CPU seconds of one thread over the bundled traces, as ratios to those of judging them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from otel_raglog import samples
from otel_raglog.building import build_analyser
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.clock import SystemClock
from otel_raglog.commands.reading import read_files
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.explained_trace import explain_trace
from otel_raglog.options import Analysis
from otel_raglog.web.recent.keeping import Keeping
from otel_raglog.web.recent.runs import RecentRuns, keep
from otel_raglog.web.recent.setups import RecentSetups

ROUNDS = 3
_MUCH = 1 << 40


def seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of this thread that some work takes, of a few rounds."""
    times = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


def main() -> None:
    """Print a table."""
    clock = SystemClock()
    analyser = build_analyser(
        Analysis(encoder_threads=1),
        quote_text=False,
        failures=LoggingFailures(),
        conventions=BUILT_IN,
    )
    with samples.open_set() as sample_set:
        traces = [analyser.decode(held) for held in read_files([sample_set.traces]).traces()]
    began = time.process_time()
    judged = [(analyser.reports(trace), trace.spans) for trace in traces]
    judging = time.process_time() - began
    reports = [report for found, _ in judged for report in found]
    runs = RecentRuns(max_runs=10**6, max_bytes=_MUCH, max_age_seconds=3_600, clock=clock)
    setups = RecentSetups(BUILT_IN, clock, max_age_seconds=3_600)
    keeping = Keeping(runs, setups, clock, content=False, max_waiting_bytes=_MUCH)

    def add() -> None:
        for found, _ in judged:
            keeping.add(found, {}, traces=1, size_bytes=1)

    def digest(*, content: bool) -> None:
        for report in reports:
            runs.add(keep(report, clock, content=content))

    def explain() -> None:
        for found, spans in judged:
            explain_trace(spans, [report.run for report in found], BUILT_IN)

    rows = {
        "judging (all of its threads)": judging,
        "adding, on the analysis thread": seconds(add),
        "keeping without texts, beside it": seconds(lambda: digest(content=False)),
        "keeping with texts, beside it": seconds(lambda: digest(content=True)),
        "reading the set-up closely, beside it": seconds(explain),
    }
    print(f"{len(traces)} traces, {len(reports)} runs")
    print(f"{'':40}{'ms a run':>10}{'of judging':>12}")
    for name, spent in rows.items():
        print(f"{name:40}{1_000 * spent / len(reports):10.4f}{spent / judging:12.4%}")
    for content in (False, True):
        sizes = sorted(keep(report, clock, content=content).size_bytes for report in reports)
        print(
            f"bytes of a kept run, {'with' if content else 'without'} texts: median {sizes[len(sizes) // 2]:,}"
        )


if __name__ == "__main__":
    main()

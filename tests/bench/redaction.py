"""CPU that redaction costs, beside what a run costs without it, and its growth with a text's length.

    python tests/bench/redaction.py

The traces are those of the pipe's benchmark (4 spans of 7.2 kB, 8 chunks). ``send`` redacts the
request that a destination gets (once for all that take it), ``view`` the spans of which explanations
and LLMs are shown, mapped a second time; ``judge`` is the whole local line without redaction. Of each
trace the least of some is taken. The second table should double from column to column.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from mapping import traces_of_the_pipe

from otel_raglog.analysis import Analyser
from otel_raglog.building import build_analyser
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.model import HeldTrace
from otel_raglog.options import Analysis, Redaction
from otel_raglog.redaction.building import build_redaction
from otel_raglog.redaction.finding import FINDERS
from otel_raglog_exporters.grouping import encode_payload

T = TypeVar("T")

REPEATS = 3
MOST_TRACES = 6
EVERYTHING = Redaction(
    patterns=("email", "phone", "card", "iban", "key"),
    mask_keys=("user.*", "*.customer.*"),
)
ONE_KEY = Redaction(mask_keys=("user.id",))
LENGTHS = (50_000, 100_000, 200_000, 400_000)
PIECES = (
    "a",
    "a@",
    "a.",
    "4 ",
    "45",
    "+4",
    "DE89 ",
    "0 1",
    "(030) ",
    "%40",
    "The ferry leaves at 7. ",
)


def cpu_ms(work: Callable[[T], object], items: Sequence[T]) -> float:
    """Return the milliseconds of CPU that ``work`` takes for one item, on average."""
    least = [float("inf")] * len(items)
    for _ in range(REPEATS):
        for number, item in enumerate(items):
            started = time.process_time()
            work(item)
            least[number] = min(least[number], time.process_time() - started)
    return sum(least) * 1000 / len(items)


def main() -> None:
    """Print two tables."""
    traces = traces_of_the_pipe()[:MOST_TRACES]
    payloads = [encode_payload(trace.spans) for trace in traces]
    analyser = build_analyser(
        Analysis(encoder_cache_vectors=1, encoder_cache_token_mib=0, encoder_threads=1),
        quote_text=False,
        failures=LoggingFailures(),
    )

    def judge(held: HeldTrace) -> None:
        analyser.reports(analyser.decode(held))

    judged = cpu_ms(judge, traces)
    print(f"judge, without redaction: {judged:.2f} ms of CPU a trace")
    for name, options in (("all patterns", EVERYTHING), ("one key alone", ONE_KEY)):
        redaction = build_redaction(options)
        assert redaction is not None
        plain = replace(analyser, checks=())
        viewing = replace(plain, redaction=redaction)

        def read(held: HeldTrace, line: Analyser) -> None:
            line.mapped(line.decode(held))

        sent = cpu_ms(redaction.payload, payloads)
        viewed = cpu_ms(partial(read, line=viewing), traces)
        viewed -= cpu_ms(partial(read, line=plain), traces)
        print(
            f"{name:14} send {sent:6.2f} ms ({sent / judged:.3f} of judge), "
            f"view {viewed:6.2f} ms ({viewed / judged:.3f})"
        )
    print(f"\n{'milliseconds of CPU':24}" + "".join(f"{length:>10,}" for length in LENGTHS))
    for piece in PIECES:
        for name, finder in FINDERS.items():
            row = []
            for length in LENGTHS:
                text = piece * (length // len(piece))
                row.append(cpu_ms(lambda given, find=finder: list(find(given)), [text]))
            print(f"{name:6} {piece[:16]!r:17}" + "".join(f"{value:10.1f}" for value in row))


if __name__ == "__main__":
    main()

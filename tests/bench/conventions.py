"""CPU per span of reading, beside the number of registered conventions that do not match.

Run with ``python tests/bench/conventions.py``. Each row reads the spans of the bundled sample traces with the registered
conventions and with that many more, none of which has a marker on these spans; the last column is the ratio to the first row,
measured in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from otel_raglog import samples
from otel_raglog.analysis import Analyser
from otel_raglog.clock import SystemClock
from otel_raglog.commands.reading import read_files
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.registry import CONVENTIONS
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.model import Role, Span, SpanFacts

REPEATS = 9


@dataclass(frozen=True)
class Foreign:
    """A convention that has eight markers, two of them in namespaces that are in use."""

    number: int
    title: str = "foreign"
    marker_names: tuple[str, ...] = ()
    wanted: Mapping[Role, tuple[Wanted, ...]] = field(default_factory=dict)
    remedy: str = ""

    @property
    def name(self) -> str:
        """A name."""
        return f"foreign_{self.number}"

    @property
    def marker_prefixes(self) -> tuple[str, ...]:
        """Markers that no span has."""
        own = [f"vendor{self.number}.part{part}." for part in range(6)]
        return (*own, f"llm.vendor{self.number}.", f"input.vendor{self.number}.")

    def read(self, span: Span) -> SpanFacts | None:
        """Never asked."""
        raise AssertionError(span.name)


def spent(conventions: ConventionSet, spans: list[Span]) -> tuple[float, float]:
    """Return microseconds of CPU per span: choosing the conventions, and all of reading."""
    chosen, read = [], []
    for _ in range(REPEATS):
        started = time.process_time()
        for span in spans:
            conventions.speaking(span)
        chosen.append(time.process_time() - started)
        started = time.process_time()
        for span in spans:
            conventions.read(span)
        read.append(time.process_time() - started)
    return tuple(statistics.median(times) / len(spans) * 1e6 for times in (chosen, read))


def main() -> None:
    """Print the table."""
    with samples.open_set() as bundled:
        held = read_files([bundled.traces]).traces()
    analyser = Analyser((), Rules1(), SystemClock())
    spans = [span for trace in held for span in analyser.decode(trace).spans]
    print(f"{len(spans)} spans of the bundled samples; microseconds of CPU per span")
    print(f"{'conventions':>12} {'choosing':>10} {'reading':>10} {'ratio':>7}")
    first = 0.0
    for more in (0, 10, 100, 1000):
        conventions = ConventionSet([*(Foreign(n) for n in range(more)), *CONVENTIONS])
        spent(conventions, spans[:200])
        choosing, reading = spent(conventions, spans)
        first = first or reading
        print(
            f"{len(conventions.conventions):>12} {choosing:>10.1f} {reading:>10.1f} {reading / first:>7.2f}"
        )


if __name__ == "__main__":
    main()

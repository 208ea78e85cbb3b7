"""What leaves together: traces, and what is said of their runs by now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from otel_raglog.analysis import Assessed
from otel_raglog.model import HeldTrace, Report, Span, WireSpan


@dataclass(slots=True)
class Judged:
    """Traces that leave together, with what is said of their runs.

    ``spans`` are their decoded spans by id, ``other_tops`` the topmost spans of the traces of a
    joined run that do not bear its verdict, ``late`` spans that came since. ``exemplars`` are the
    runs that were marked so, ``counted`` tells that metrics have them. ``charge`` are the bytes that
    the room where it waits counts for it.
    """

    traces: tuple[HeldTrace, ...]
    assessed: tuple[Assessed, ...]
    spans: Mapping[bytes, Span]
    other_tops: tuple[bytes, ...] = ()
    late: list[WireSpan] = field(default_factory=list)
    exemplars: frozenset[str] = frozenset()
    counted: bool = False
    charge: int = 0

    @property
    def answered(self) -> bool:
        """Whether the LLM has answered about every run that it was asked about."""
        return all(each.asked is None or each.asked.done for each in self.assessed)

    @property
    def size_bytes(self) -> int:
        """Memory that the spans take."""
        return sum(trace.size_bytes for trace in self.traces)

    @property
    def pending(self) -> bool:
        """Whether an LLM is asked about a run, as :meth:`settle` left it, answered since or not."""
        return any(each.asked is not None for each in self.assessed)

    def settle(self) -> list[Report]:
        """Return the reports: final where nothing is waited for, else those of the local tier.

        What is final now is so for good: of it nothing follows.
        """
        self.assessed = tuple(
            each if each.asked is not None and not each.asked.done else Assessed(each.final())
            for each in self.assessed
        )
        return [each.report for each in self.assessed]

    def reports(self) -> list[Report]:
        """Return the final reports; those of the local tier where the LLM has not answered."""
        return [
            each.final() if each.asked is None or each.asked.done else each.report
            for each in self.assessed
        ]

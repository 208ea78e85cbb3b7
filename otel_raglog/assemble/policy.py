"""When a trace is due, as pure functions of its times: a policy and two questions to it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from otel_raglog.errors import ConfigError
from otel_raglog.model import Completion, WireSpan


@dataclass(frozen=True, slots=True)
class CompletionPolicy:
    """How long spans are held for their trace, and how much of them.

    ``quiet_seconds`` of quiet complete a trace whose root has arrived,
    ``orphan_quiet_seconds`` one without (more than two flush intervals of the SDKs' batch
    processors); ``max_wait_seconds`` after its first held span a trace goes in any case.
    ``remember_traces`` released trace ids are remembered to recognise late spans.

    Raises:
        ConfigError: a value is out of range.
    """

    quiet_seconds: float = 5.0
    orphan_quiet_seconds: float = 15.0
    max_wait_seconds: float = 120.0
    max_spans_per_trace: int = 10_000
    max_open_traces: int = 20_000
    max_held_bytes: int = 256 * 1024 * 1024
    remember_traces: int = 100_000

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            least = 1 if option.name.startswith("max_") and isinstance(value, int) else 0
            if not value >= least:
                raise ConfigError(f"{option.name}: {value!r} is less than {least}")

    def quiet_deadline(self, touched_at: float, *, rooted: bool) -> float:
        """Return when a trace that was last touched at ``touched_at`` has been quiet enough."""
        return touched_at + (self.quiet_seconds if rooted else self.orphan_quiet_seconds)

    def wait_deadline(self, opened_at: float) -> float:
        """Return when a trace that was opened at ``opened_at`` has waited long enough."""
        return opened_at + self.max_wait_seconds

    def deadline(self, opened_at: float, touched_at: float, *, rooted: bool) -> float:
        """Return when the trace is due: at the earlier of its two deadlines."""
        quiet = self.quiet_deadline(touched_at, rooted=rooted)
        return min(quiet, self.wait_deadline(opened_at))

    def completion(self, opened_at: float, touched_at: float, *, rooted: bool) -> Completion:
        """Return why the trace is due at its deadline; quiet wins when both fall together."""
        if self.quiet_deadline(touched_at, rooted=rooted) <= self.wait_deadline(opened_at):
            return Completion.ROOT_QUIET if rooted else Completion.ORPHAN_QUIET
        return Completion.MAX_WAIT


def is_root(span: WireSpan) -> bool:
    """Return whether the span's parent, if any, is outside the service that sent it."""
    return not span.parent_id or span.remote_parent

"""The traces of files to those that some wanted ones need, so that the others are not read.

A run's turn is told by the runs of its session, and a joined run has traces of its session: both
bear the session id somewhere in their bytes. Without a session, a later run tells the turn, whose
history has the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from otel_raglog.analysis import Analyser
from otel_raglog.mapping.fragments import JoinBy
from otel_raglog.model import HeldTrace, Run
from otel_raglog.options import Join

MOST_WANTED = 20
"""Wanted traces beyond which all traces are read: to look for so much takes as long."""

_PLAIN = re.compile(r"[A-Za-z0-9 _.-]+")
"""What stands in JSON, and in JSON within JSON, as it is."""

_FEWEST_CHARACTERS = 4


def begins(trace_id: bytes, beginning: str) -> bool:
    """Tell whether the id of a trace begins so, in hex."""
    return trace_id.hex().startswith(beginning)


def needed(
    traces: Sequence[HeldTrace], beginning: str, analyser: Analyser, how: Join | None
) -> list[HeldTrace]:
    """Return the traces whose ids begin so, and those without which their runs read otherwise."""
    wanted = [trace for trace in traces if begins(trace.trace_id, beginning)]
    if not wanted:
        return []
    by_service = how is not None and JoinBy(how.by) is JoinBy.SERVICE
    if by_service or len(wanted) > MOST_WANTED:
        return list(traces)
    probes: set[bytes] = set()
    for trace in wanted:
        for run in analyser.mapped(analyser.decode(trace)).runs:
            probe = _probe(run)
            if probe is None:
                return list(traces)
            probes.add(probe)
    probes.discard(b"")
    return [
        trace for trace in traces if begins(trace.trace_id, beginning) or _holds_any(trace, probes)
    ]


def _probe(run: Run) -> bytes | None:
    """Return what the traces that tell of a run hold: empty when none does, ``None`` for unknown.

    A number as the session id may not stand in the bytes as text.
    """
    text = run.session_id or run.question.value or ""
    if not text.strip():
        return b""
    piece = max(_PLAIN.findall(text), key=len, default="").strip()
    if len(piece) < _FEWEST_CHARACTERS or text.strip().isdigit():
        return None
    return piece.encode()


def _holds_any(trace: HeldTrace, probes: set[bytes]) -> bool:
    return any(
        probe in span.raw or probe in span.origin.resource
        for span in trace.spans
        for probe in probes
    )

"""Captured calls read from a file to runs, as if they happened now: the live path, replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from otel_raglog_proxy_bridge.line import Line
from otel_raglog_proxy_bridge.model import Call, Side
from otel_raglog_proxy_bridge.runs import CapturedRun

_BEGIN = 0
_END = 1


def runs_of(line: Line, calls: Sequence[Call]) -> Iterator[CapturedRun]:
    """Yield the runs that ``calls`` make up, in the order in which they are over.

    Each call begins and ends at its own time; calls without times follow each other.
    """
    moments = [moment for place, call in enumerate(calls) for moment in _moments(place, call)]
    for now, _, _, kind, call in sorted(moments, key=lambda moment: moment[:4]):
        yield from line.tick(now)
        if kind == _END:
            yield from line.add(call)
        elif call.side is Side.FRONT:
            line.begin_front(call.id, now, call.request_headers.get("traceparent", ""))
        else:
            line.begin(call.id, now)
    yield from line.flush()


def _moments(place: int, call: Call) -> Iterator[tuple[int, int, int, int, Call]]:
    """Yield when a call began and ended, so that they sort: at one moment ends come first.

    A call that took no time begins, then ends, before or after others as a whole.
    """
    began = call.started_ns or place
    ended = max(began, call.ended_ns)
    yield began, 1, place, _BEGIN, call
    yield ended, int(began == ended), place, _END, call

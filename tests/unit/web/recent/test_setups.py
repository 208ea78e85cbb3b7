"""What the set-up of services is summed up from: recent traces, not all, and not for ever."""

import random
from dataclasses import replace

from rag_traces import rag_trace

from otel_raglog.clock import ManualClock
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.explained_trace import explain_trace
from otel_raglog.explaining.setup import SetupSummary
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, Stage, Trace
from otel_raglog.receive.span import decode_span
from otel_raglog.web.recent.setups import RecentSetups


def traces(count, seed=1):
    """Return traces of three services in turn, each with its runs."""
    source = random.Random(seed)
    found = []
    for number in range(count):
        spans = tuple(decode_span(wire) for wire in rag_trace(source, number) if wire.held)
        trace = Trace(spans[0].trace_id, spans, Completion.ROOT_QUIET, 0.0)
        found.append((map_trace(trace, BUILT_IN), spans))
    return found


def setups(clock=None, max_age_seconds=3_600):
    """Return an empty one."""
    return RecentSetups(BUILT_IN, clock or ManualClock(), max_age_seconds=max_age_seconds)


def test_it_is_what_explain_setup_sums_up():
    """The same traces, the same summary, for each service by itself."""
    found, summary = setups(), SetupSummary()
    for runs, spans in traces(9):
        found.add(runs, spans)
        summary.add(runs, explain_trace(spans, runs, BUILT_IN).spans)
    assert found.services() == summary.services()
    assert [item.service for item in found.services()] == ["shop-0", "shop-1", "shop-2"]
    (retriever,) = [s for s in found.services()[0].stages if s.stage is Stage.RETRIEVER]
    assert (retriever.captured, retriever.of) == (3, 3)


def test_beyond_the_first_hundred_one_a_second_is_read():
    """So that reading closely costs little of a busy service."""
    clock = ManualClock()
    found = setups(clock)
    ((runs, spans),) = traces(1)
    for _ in range(150):
        found.add(runs, spans)
    assert found.services()[0].traces == 100
    for _ in range(3):
        clock.advance(1.0)
        found.add(runs, spans)
        found.add(runs, spans)
    assert found.services()[0].traces == 103


def test_only_the_last_hundred_to_two_hundred_count():
    """What was mended is forgotten."""
    clock = ManualClock()
    found = setups(clock)
    ((runs, spans),) = traces(1)
    counts = []
    for _ in range(500):
        clock.advance(1.0)
        found.add(runs, spans)
        counts.append(found.services()[0].traces)
    assert counts[:100] == list(range(1, 101))
    assert max(counts) == 200
    assert min(counts[100:]) > 100 - 1


def test_services_that_say_nothing_any_more_are_forgotten():
    """By age, and the oldest of too many."""
    clock = ManualClock()
    found = setups(clock, max_age_seconds=60)
    for runs, spans in traces(2):
        found.add(runs, spans)
        clock.advance(40)
    assert [item.service for item in found.services()] == ["shop-1"]


def test_services_are_bounded():
    """Names come from outside."""
    found = setups()
    ((runs, spans),) = traces(1)
    for number in range(25):
        found.add([replace(runs[0], service=f"s{number:02}")], spans)
    assert [item.service for item in found.services()] == [f"s{n:02}" for n in range(5, 25)]


def test_nothing_at_all_is_no_service():
    """A trace without runs tells nothing."""
    found = setups()
    found.add((), ())
    assert found.services() == ()

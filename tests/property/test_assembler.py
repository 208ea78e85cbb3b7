"""The assembler against a naive model: no span is lost or duplicated, whatever happens."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from otel_raglog.assemble.assembler import Actions, Assembler
from otel_raglog.assemble.policy import CompletionPolicy, is_root
from otel_raglog.model import Completion, Origin, WireSpan

POLICY = CompletionPolicy(
    quiet_seconds=5,
    orphan_quiet_seconds=15,
    max_wait_seconds=40,
    max_spans_per_trace=6,
    max_open_traces=4,
    max_held_bytes=8_000,
    remember_traces=5,
)
ORIGIN = Origin(b"", b"")

specs = st.fixed_dictionaries(
    {
        "trace": st.integers(0, 11),
        "parent_id": st.sampled_from([b"", b"p" * 8, b"p" * 8]),
        "remote_parent": st.sampled_from([False, False, False, True]),
        "held": st.sampled_from([True, True, False]),
        "finishes_run": st.sampled_from([False] * 7 + [True]),
        "size": st.sampled_from([0, 0, 0, 900, 3_000, 9_000]),
    }
)
gaps = st.sampled_from([0.0, 0.5, 1.0, 4.0, 5.0, 10.0, 15.0, 50.0])


def wire(number: int, spec: dict) -> WireSpan:
    return WireSpan(
        trace_id=spec["trace"].to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        parent_id=spec["parent_id"],
        remote_parent=spec["remote_parent"] and bool(spec["parent_id"]),
        held=spec["held"],
        finishes_run=spec["finishes_run"],
        spoofed=False,
        origin=ORIGIN,
        raw=bytes(spec["size"]),
    )


@dataclass
class NaiveTrace:
    trace_id: bytes
    opened: float
    touched: float
    rooted: bool = False
    spans: list[WireSpan] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(span.size_bytes for span in self.spans)

    @property
    def deadline(self) -> float:
        return min(self.touched + (5 if self.rooted else 15), self.opened + 40)

    @property
    def completion(self) -> Completion:
        if self.touched + (5 if self.rooted else 15) <= self.opened + 40:
            return Completion.ROOT_QUIET if self.rooted else Completion.ORPHAN_QUIET
        return Completion.MAX_WAIT


@dataclass
class NaiveAssembler:
    """The rules, spelled out over plain lists that are searched each time.

    ``traces`` is ordered by the last touch, ``remembered`` by the last use. The rules leave
    the order of traces due at the same moment open: ``tie_order`` says it.
    """

    now: float = 0.0
    traces: list[NaiveTrace] = field(default_factory=list)
    remembered: list[bytes] = field(default_factory=list)
    late: list[WireSpan] = field(default_factory=list)
    released: list[tuple[bytes, tuple[WireSpan, ...], Completion]] = field(default_factory=list)
    tie_order: list[bytes] = field(default_factory=list)

    def find(self, trace_id: bytes) -> NaiveTrace | None:
        return next((trace for trace in self.traces if trace.trace_id == trace_id), None)

    def release(self, trace: NaiveTrace, completion: Completion) -> None:
        self.traces.remove(trace)
        self.released.append((trace.trace_id, tuple(trace.spans), completion))
        self.remembered = [*self.remembered, trace.trace_id][-POLICY.remember_traces :]

    def touch(self, trace: NaiveTrace) -> None:
        trace.touched = self.now
        self.traces.remove(trace)
        self.traces.append(trace)

    def tie(self, trace: NaiveTrace) -> int:
        return self.tie_order.index(trace.trace_id) if trace.trace_id in self.tie_order else 0

    def expire(self) -> None:
        due = [trace for trace in self.traces if trace.deadline <= self.now]
        for trace in sorted(due, key=lambda trace: (trace.deadline, self.tie(trace))):
            self.release(trace, trace.completion)

    def shutdown(self) -> None:
        self.expire()
        for trace in sorted(self.traces, key=lambda trace: (trace.opened, self.tie(trace))):
            self.release(trace, Completion.SHUTDOWN)

    def hold(self, span: WireSpan) -> None:
        if span.trace_id in self.remembered:
            self.remembered.remove(span.trace_id)
            self.remembered.append(span.trace_id)
            self.late.append(span)
            return
        trace = self.find(span.trace_id)
        if trace and len(trace.spans) == POLICY.max_spans_per_trace:
            self.release(trace, Completion.SPAN_LIMIT)
            self.late.append(span)
            return
        if trace is None:
            if len(self.traces) == POLICY.max_open_traces:
                self.release(self.traces[0], Completion.EVICTED)
            trace = NaiveTrace(span.trace_id, self.now, self.now)
            self.traces.append(trace)
        self.touch(trace)
        trace.rooted |= is_root(span)
        trace.spans.append(span)
        if trace.size > POLICY.max_held_bytes:
            self.release(trace, Completion.EVICTED)
        while sum(trace.size for trace in self.traces) > POLICY.max_held_bytes:
            self.release(self.traces[0], Completion.EVICTED)

    def add(self, spans: list[WireSpan]) -> None:
        self.expire()
        for span in spans:
            if span.held:
                self.hold(span)
        passing = dict.fromkeys(s.trace_id for s in spans if not s.held and is_root(s))
        for trace in filter(None, map(self.find, passing)):
            self.touch(trace)
            trace.rooted = True
        finished = dict.fromkeys(s.trace_id for s in spans if s.finishes_run)
        for trace in filter(None, map(self.find, finished)):
            self.release(trace, Completion.EXPLICIT)
        self.expire()

    def take(self) -> tuple[list, list]:
        late, released = self.late, self.released
        self.late, self.released = [], []
        return late, released


class AssemblerMachine(RuleBasedStateMachine):
    """Any interleaving of requests, waits and shutdowns, on the assembler and on the model."""

    def __init__(self) -> None:
        super().__init__()
        self.assembler = Assembler(POLICY)
        self.model = NaiveAssembler()
        self.entered = 0
        self.left: Counter[bytes] = Counter()

    def compare(self, actions: Actions, advance: Callable[[], None]) -> None:
        """Let the model do the same, and compare what comes out of both."""
        self.model.tie_order = [trace.trace_id for trace in actions.released]
        advance()
        late, released = self.model.take()
        assert list(actions.late) == late
        assert [(t.trace_id, t.spans, t.completion) for t in actions.released] == released
        assert all(0 <= t.waited_seconds <= self.model.now for t in actions.released)
        assert list(self.assembler._remembered) == self.model.remembered
        released_spans = [span for trace in actions.released for span in trace.spans]
        for span in (*actions.forward, *actions.late, *released_spans):
            self.left[span.span_id] += 1

    @rule(specs=st.lists(specs, max_size=6), gap=gaps)
    def request(self, specs: list[dict], gap: float) -> None:
        spans = [wire(self.entered + number, spec) for number, spec in enumerate(specs)]
        self.entered += len(spans)
        self.model.now += gap
        actions = self.assembler.add(spans, self.model.now)
        assert actions.forward == tuple(span for span in spans if not span.held)
        self.compare(actions, lambda: self.model.add(spans))

    @rule(gap=gaps)
    def wait(self, gap: float) -> None:
        self.model.now += gap
        self.compare(self.assembler.tick(self.model.now), self.model.expire)

    @rule()
    def wait_until_due(self) -> None:
        deadline = self.assembler.next_deadline()
        if deadline is not None:
            assert self.assembler.tick(deadline - 1e-6) == Actions()
            self.model.now = deadline
            actions = self.assembler.tick(deadline)
            assert actions.released
            self.compare(actions, self.model.expire)

    @rule()
    def shut_down(self) -> None:
        self.compare(self.assembler.shutdown(self.model.now), self.model.shutdown)
        assert self.assembler.open_traces == 0

    @invariant()
    def every_span_is_in_one_place(self) -> None:
        """Each span went out once, or is held."""
        assert set(self.left.values()) <= {1}
        assert self.entered == len(self.left) + self.assembler.held_spans

    @invariant()
    def bounds_hold(self) -> None:
        """Never more than the policy allows, and the gauges tell the truth."""
        assert self.assembler.open_traces == len(self.model.traces) <= POLICY.max_open_traces
        assert self.assembler.held_bytes == sum(t.size for t in self.model.traces)
        assert self.assembler.held_bytes <= POLICY.max_held_bytes
        assert self.assembler.held_spans == sum(len(t.spans) for t in self.model.traces)

    @invariant()
    def an_open_trace_is_not_a_remembered_one(self) -> None:
        """While an id is remembered it is not released a second time."""
        assert not self.assembler._opened.keys() & self.assembler._remembered.keys()

    @invariant()
    def next_deadline_is_the_earliest(self) -> None:
        """The worker may sleep until then and misses nothing."""
        deadlines = [trace.deadline for trace in self.model.traces]
        assert self.assembler.next_deadline() == min(deadlines, default=None)


AssemblerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None
)
TestAssemblerMachine = AssemblerMachine.TestCase


@given(
    specs=st.lists(specs, max_size=12).map(
        lambda all_of: [spec | {"finishes_run": False, "size": 0} for spec in all_of]
    ),
    data=st.data(),
)
@settings(max_examples=80, deadline=None)
def test_order_and_split_of_requests_do_not_matter_inside_the_quiet_window(specs, data):
    """The same spans, in any order over any requests, are released in the same company."""
    spans = [wire(number, spec) for number, spec in enumerate(specs)]
    shuffled = data.draw(st.permutations(spans))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(spans)), max_size=4)))
    bounds = [0, *cuts, len(spans)]
    requests = [shuffled[start:end] for start, end in itertools.pairwise(bounds)]

    at_once = Assembler()
    at_once.add(spans, 0.0)
    split = Assembler()
    for number, request in enumerate(requests):
        split.add(request, number * 4.9 / len(requests))

    def companies(assembler: Assembler) -> set[frozenset[bytes]]:
        released = assembler.tick(1_000.0).released
        return {frozenset(span.span_id for span in trace.spans) for trace in released}

    assert companies(split) == companies(at_once)

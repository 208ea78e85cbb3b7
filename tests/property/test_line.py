"""From requests to runs: how spans travel changes nothing about what is understood."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from rag_traces import rag_trace

from otel_raglog.analysis import Analyser
from otel_raglog.assemble.assembler import Assembler
from otel_raglog.assemble.policy import CompletionPolicy
from otel_raglog.building import build_markers
from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.otlp_json import split_json
from otel_raglog_exporters.grouping import encode_request
from otel_raglog_exporters.otlp_json import request_to_json

ANALYSER = Analyser(build_checks(None), Rules1(), ManualClock())
POLICY = CompletionPolicy(quiet_seconds=5, orphan_quiet_seconds=15)
TRACES = [rag_trace(random.Random(number), number) for number in range(3)]
SPANS = [span for trace in TRACES for span in trace]


def reports(requests):
    """Return run and verdicts by trace, as the service reaches them from request bodies."""
    assembler, released = Assembler(POLICY), []
    for number, (body, split) in enumerate(requests):
        batch = split(body, Limits(), build_markers())
        released += assembler.add(batch.spans, number / 100).released
    released += assembler.tick(1000.0).released
    found = {}
    for held in released:
        (report,) = ANALYSER.reports(ANALYSER.decode(held))
        assert held.trace_id not in found
        found[held.trace_id] = (report.run, report.verdicts)
    return found


EXPECTED = reports([(encode_request(SPANS), split_protobuf)])


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_split_order_repetition_and_protocol_do_not_matter(data):
    """Any requests that hold the same spans, some of them twice, give the same runs."""
    repeated = data.draw(st.lists(st.sampled_from(SPANS), max_size=8))
    spans = data.draw(st.permutations(SPANS + repeated))
    requests = []
    while spans:
        size = data.draw(st.integers(1, len(spans)))
        part, spans = spans[:size], spans[size:]
        if data.draw(st.booleans()):
            requests.append((encode_request(part), split_protobuf))
        else:
            requests.append((request_to_json(encode_request(part)).encode(), split_json))
    assert reports(requests) == EXPECTED

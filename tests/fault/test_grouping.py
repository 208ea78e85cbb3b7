"""T19: what is sent twice is judged once."""

import random

from delivery import FAST, assert_conserved, keys
from fault_backends import fault_backend
from rag_traces import rag_trace
from services import serving

from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.span import decode_span

RULES = {"checks": ["rules"]}


def verdicts(backend):
    """Return what each delivered span says of its run, in order of delivery."""
    spans = [
        decode_span(span)
        for recorded in backend.kept()
        for span in split_protobuf(recorded.body, Limits(), Markers((), ())).spans
    ]
    said = [(span.name, span.attributes.get("raglog.run.verdict")) for span in spans]
    return [(name, verdict) for name, verdict in said if verdict is not None]


def test_t19_a_retry_after_a_lost_acknowledgement_makes_no_second_verdict(tmp_path):
    """While the trace is open, both copies bear the one verdict; afterwards they inherit it."""
    trace = rag_trace(random.Random(1), 0)
    with fault_backend("grpc") as backend:
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(trace)
            served.send(trace, "otlp_http")
            backend.wait_for(2 * len(trace))
            assert served.metric("raglog_runs_total") == 1
            assert backend.conflicts() == []
            served.send(trace)
            backend.wait_for(3 * len(trace))
            assert served.metric("raglog_runs_total") == 1
            assert served.metric("raglog_spans_received_total") == 3 * len(trace)
            assert_conserved(served, "b")
        assert backend.span_keys() == keys(trace)
        assert len({verdict for _, verdict in verdicts(backend)}) == 1

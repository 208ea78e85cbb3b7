"""What goes out of a report that comes after its spans."""

from itertools import count

from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from samples import GENERATOR, RETRIEVER, TOP, TRACE_ID, decoded_span, make_report, origin

from otel_raglog.model import FaultType, JudgeUse, Stage, Tier
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.report.carriers import carriers

SPANS = {span_id: decoded_span(span_id) for span_id in (TOP, RETRIEVER, GENERATOR)}
RESOURCES = dict.fromkeys(SPANS, origin("shop").resource)


def sent(report=None, spans=SPANS):
    """Return the carriers by the span that they are linked to, as (raw span, message)."""
    ids = count(1)
    report = report or make_report(
        {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK},
        tier=Tier.LLM,
        detector_version="llm-1",
        judge=JudgeUse("m", calls=5, cost_usd=0.002),
    )
    found = {}
    for raw in carriers(
        report,
        spans,
        RESOURCES,
        supersedes="local-1",
        options=AnnotationOptions(),
        new_id=lambda size: next(ids).to_bytes(size, "big"),
    ):
        message = SpanMessage.FromString(raw.raw)
        (link,) = message.links
        found[link.span_id] = raw, message
    return found


def attributes(message):
    """Return the attributes of one kind of value by key."""
    return {
        item.key: getattr(item.value, item.value.WhichOneof("value")) for item in message.attributes
    }


def test_each_judged_span_has_one_of_its_own():
    """The link names target and trace; no carrier is in the target's trace, nor in another's."""
    found = sent()
    assert found.keys() == {TOP, RETRIEVER, GENERATOR}
    messages = [message for _, message in found.values()]
    assert {message.links[0].trace_id for message in messages} == {TRACE_ID}
    assert len({message.trace_id for message in messages}) == 3
    assert all(message.trace_id != TRACE_ID and not message.parent_span_id for message in messages)


def test_it_says_what_it_replaces_and_that_it_is_an_evaluation():
    """So that no detector, ours included, takes it for a step of a run."""
    for raw, message in sent().values():
        found = attributes(message)
        assert found["raglog.supersedes"] == "local-1"
        assert found["openinference.span.kind"] == "EVALUATOR"
        assert found["raglog.run.id"] == TRACE_ID.hex()
        assert ScopeSpans.FromString(raw.origin.scope).scope.name == "otel_raglog"
        assert raw.origin.resource == origin("shop").resource


def test_run_and_stage_speak_as_they_would_on_the_spans():
    """The run's verdict for the top span, the stage's with its event for the step's span."""
    found = sent()
    top, retriever = attributes(found[TOP][1]), found[RETRIEVER][1]
    assert top["raglog.run.verdict"] == "faulty"
    assert top["raglog.detector.tier"] == "llm"
    assert top["raglog.judge.calls"] == 5
    assert top["raglog.analysis.cost_usd"] == 0.002
    assert attributes(retriever)["raglog.verdict"] == "faulty"
    assert [event.name for event in retriever.events] == ["gen_ai.evaluation.result"]
    assert retriever.start_time_unix_nano == SPANS[RETRIEVER].end_unix_nano


def test_a_span_that_is_not_there_is_no_target():
    """A top span that never came has no carrier; the others do."""
    assert sent(spans={RETRIEVER: SPANS[RETRIEVER]}).keys() == {RETRIEVER}

"""Many traces to what each service captures, what it does not, and what to do about it."""

from dataclasses import replace

from samples import decoded_span, make_run
from span_trees import embedding, llm, oi, retriever, span, trace_of

from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.explaining.explained_trace import explain_trace
from otel_raglog.explaining.setup import SetupSummary
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Stage

QUESTION = "How long are refunds possible?"
ANSWER = "Refunds are possible for 30 days."
PROMPT = f"Context:\n{ANSWER}\n\nQuestion: {QUESTION}"
GENAI_CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
GENAI_EMBED = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"}


def summary(*traces):
    """Return the summary of traces, each given as its roots."""
    found = SetupSummary()
    for number, roots in enumerate(traces):
        trace_id = bytes([number]) * 16
        trace = trace_of(*(roots if isinstance(roots, tuple) else (roots,)), trace_id=trace_id)
        runs = map_trace(trace)
        found.add(runs, explain_trace(trace.spans, runs, BUILT_IN).spans)
    return found.services()


def rag(*more, attributes=None):
    """Return an ordinary run without an embedder."""
    return oi(
        "CHAIN",
        "query",
        retriever("Retriever", QUESTION, ("d1", ANSWER)),
        llm("ChatModel", PROMPT, ANSWER),
        *more,
        given=QUESTION,
        said=ANSWER,
        attributes=attributes,
    )


def findings(service):
    """Return the findings of a service by kind."""
    return {finding.kind: finding for finding in service.findings}


def stages(service):
    """Return the stages of a service by stage."""
    return {item.stage: item for item in service.stages}


def test_stages_are_counted_over_the_runs_of_a_service():
    """How often, from which spans, under which convention."""
    (service,) = summary(rag(), rag(), rag(embedding("Embed", QUESTION)))
    assert (service.service, service.traces, service.runs) == ("shop-bot", 3, 3)
    found = stages(service)
    assert (found[Stage.RETRIEVER].captured, found[Stage.RETRIEVER].of) == (3, 3)
    assert found[Stage.RETRIEVER].span_names == (("Retriever", 3),)
    assert found[Stage.RETRIEVER].conventions == ("OpenInference",)
    assert found[Stage.EMBEDDER].captured == 1
    assert found[Stage.EMBEDDER].missing == 2
    assert round(found[Stage.EMBEDDER].share, 2) == 0.33
    assert found[Stage.REWRITER].absent == 3


def test_a_missing_stage_has_a_reason_and_a_remedy():
    """The most frequent one; what was captured needs none."""
    (service,) = summary(rag())
    found = stages(service)
    assert "no span of its embedder" in found[Stage.EMBEDDER].why
    assert "instrument the embedding client too" in found[Stage.EMBEDDER].remedy
    assert found[Stage.RETRIEVER].remedy == ""


def test_services_are_apart_and_in_order():
    """Each application is connected by itself."""
    found = SetupSummary()
    for name in ("b", "a"):
        found.add([make_run(service=name)], ())
    assert [service.service for service in found.services()] == ["a", "b"]


def test_run_records_count_as_runs_without_spans():
    """Their steps have no names."""
    found = SetupSummary()
    found.add([make_run()], (), traces=0)
    (service,) = found.services()
    assert (service.traces, service.runs) == (0, 1)
    assert "nothing_read" not in findings(service)


def test_no_runs_are_no_service():
    """A group without reports says nothing."""
    found = SetupSummary()
    found.add([], ())
    assert found.services() == ()


def test_skipped_traces_are_counted_by_reason_with_examples():
    """Three of them are named, so that one can look."""
    (service,) = summary(*(span("GET /") for _ in range(5)))
    finding = findings(service)["no_genai_spans"]
    assert finding.count == 5
    assert finding.traces == tuple(bytes([number]).hex() * 16 for number in range(3))
    assert service.counted == 0
    assert findings(service)["nothing_read"].count == 5
    assert "docs/custom-conventions.md" in findings(service)["nothing_read"].remedy


def test_fragments_are_told_when_both_sides_are_there():
    """An embedding by itself is no run; with LLM calls by themselves it may be a part of one."""
    (service,) = summary(embedding("E", QUESTION), llm("C", PROMPT, ANSWER))
    finding = findings(service)["fragments"]
    assert finding.count == 2
    assert "join.enabled" in finding.remedy
    assert "one span around each question" in finding.remedy
    (alone,) = summary(embedding("E", QUESTION), rag())
    assert "fragments" not in findings(alone)


def test_fragments_do_not_spoil_the_shares():
    """Stages are counted in the runs of questions."""
    (service,) = summary(embedding("E", QUESTION), rag())
    assert (service.runs, service.counted) == (2, 1)
    assert stages(service)[Stage.RETRIEVER].share == 1.0


def test_evaluators_that_were_left_out_are_counted():
    """Their spans are no steps of the application."""
    (service,) = summary(rag(oi("EVALUATOR", "judge", llm("J", "ok?", "yes"))))
    assert findings(service)["evaluators"].count == 1
    (service,) = summary(rag(oi("CHAIN", "ToneEvaluator.run", said={"score": 1})))
    assert findings(service)["evaluators"].count == 1


def test_spans_with_several_vocabularies_are_counted():
    """Nothing is counted twice, and one should know."""
    both = oi("LLM", "C", attributes=GENAI_CHAT)
    (service,) = summary(rag(both))
    assert "OpenInference and OpenTelemetry GenAI" in findings(service)["several_conventions"].what


def test_a_sender_of_genai_keys_is_one_vocabulary():
    """OpenLLMetry's spans are its own and GenAI's, and one instrumentation wrote them."""
    one = span("C", attributes={**GENAI_CHAT, "traceloop.span.kind": "task"})
    (service,) = summary(rag(one))
    assert "several_conventions" not in findings(service)


def test_spans_of_unread_vocabularies_are_counted(monkeypatch):
    """By the name of the vocabulary."""
    monkeypatch.setattr("otel_raglog.explaining.span_reading.recognise", lambda span: "SomeTracer")
    (service,) = summary(span("x", attributes={"some.key": "x"}))
    assert "SomeTracer" in findings(service)["unread"].what


def test_runs_without_a_session_are_counted():
    """Unless they have one."""
    (service,) = summary(rag(), rag(attributes={"session.id": "s"}))
    assert findings(service)["no_session"].count == 1
    assert "(1 of 2)" in findings(service)["no_session"].what
    (whole,) = summary(rag(attributes={"session.id": "s"}))
    assert "no_session" not in findings(whole)


def test_losses_are_counted_by_remedy():
    """What was dropped differs from span to span."""
    lossy = [retriever("R", QUESTION, ("d", ANSWER), dropped=number) for number in (1, 2)]
    (service,) = summary(oi("CHAIN", "q", *lossy, llm("C", PROMPT, ANSWER), given=QUESTION))
    assert findings(service)["evicted"].count == 2


def test_content_that_is_off_names_the_switch():
    """As the convention says."""
    (service,) = summary(span("chat", attributes=GENAI_CHAT))
    assert "CAPTURE_MESSAGE_CONTENT" in findings(service)["not_captured"].remedy


def test_content_that_is_on_in_another_trace_is_on():
    """Then the switch would change nothing for a span that never has any."""
    said = {
        **GENAI_CHAT,
        "gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
        "gen_ai.output.messages": '[{"role":"x","parts":[{"type":"text","content":"Yo"}]}]',
    }
    (service,) = summary(span("embeddings", attributes=GENAI_EMBED), span("chat", attributes=said))
    remedy = findings(service)["not_captured"].remedy
    assert "CAPTURE_MESSAGE_CONTENT" not in remedy
    assert "gen_ai.input.messages yourself" in remedy


def test_however_many_findings_there_are_they_stay_few():
    """Somebody may send a different limit with every span."""
    found = SetupSummary()
    base = decoded_span(attributes={"openinference.span.kind": "CHAIN"})
    for number in range(300):
        attributes = {**base.attributes, **{f"k{n}": "x" for n in range(number)}}
        item = replace(base, attributes=attributes, dropped_attributes_count=1)
        found.add([make_run()], explain_trace([item], (), BUILT_IN).spans)
    (service,) = found.services()
    assert len(service.findings) < 110

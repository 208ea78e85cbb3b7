"""What is written on spans, and what is never touched."""

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from samples import (
    GENERATOR,
    RETRIEVER,
    TOP,
    decoded_span,
    make_report,
    make_run,
)

from otel_raglog.model import (
    FaultType,
    JudgeUse,
    RunVerdict,
    Stage,
    StageState,
    StageVerdict,
    UnknownReason,
    Verdict,
)
from otel_raglog.report.annotations import (
    MAX_VALUE_BYTES,
    AnnotationOptions,
    annotate,
    annotate_joined,
    annotate_late,
    cut,
)

SPANS = {span_id: decoded_span(span_id) for span_id in (TOP, RETRIEVER, GENERATOR)}
PLAIN = AnnotationOptions()


def attributes(data):
    """Return the attributes in serialized span bytes."""
    message = SpanMessage.FromString(data)
    values = {}
    for item in message.attributes:
        kind = item.value.WhichOneof("value")
        value = getattr(item.value, kind)
        if kind == "array_value":
            value = [element.string_value for element in value.values]
        values[item.key] = value
    return values


def events(data):
    """Return the events in serialized span bytes, as (name, attributes)."""
    message = SpanMessage.FromString(data)
    return [
        (
            event.name,
            event.time_unix_nano,
            {
                item.key: getattr(item.value, item.value.WhichOneof("value"))
                for item in event.attributes
            },
        )
        for event in message.events
    ]


def test_the_top_span_tells_of_the_run():
    """All run attributes of the contract are on the topmost span, and only there."""
    run = make_run(session_id="s1", turn=2)
    report = make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}, run=run)
    added = annotate([report], SPANS, PLAIN, exemplars=frozenset({run.run_id}))
    top = attributes(added[TOP])
    assert top == {
        "raglog.run.id": run.run_id,
        "raglog.run.verdict": "faulty",
        "raglog.run.faulty_stages": ["retriever"],
        "raglog.run.first_faulty_stage": "retriever",
        "raglog.run.complete": True,
        "raglog.run.completion": "file_end",
        "raglog.detector.version": "rules-1",
        "raglog.detector.tier": "local",
        "raglog.analysis.duration_ms": 12.0,
        "raglog.analysis.cost_usd": 0.0,
        "raglog.session.id": "s1",
        "raglog.session.turn": 2,
        "raglog.exemplar": True,
    }
    assert "raglog.run.id" not in attributes(added[RETRIEVER])


def test_each_judged_span_bears_its_stage_and_an_event():
    """Attributes for queries, an evaluation event stamped with the span's end for viewers."""
    report = make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK})
    added = annotate([report], SPANS, PLAIN)[RETRIEVER]
    assert attributes(added) == {
        "raglog.stage": "retriever",
        "raglog.verdict": "faulty",
        "raglog.fault.probability": 0.9,
        "raglog.fault.threshold": 0.5,
        "raglog.fault.types": ["no_relevant_chunk"],
        "raglog.explanation": "retriever is wrong",
    }
    assert events(added) == [
        (
            "gen_ai.evaluation.result",
            2_000_000_000,
            {
                "gen_ai.evaluation.name": "raglog.retriever",
                "gen_ai.evaluation.score.label": "faulty",
                "gen_ai.evaluation.score.value": 0.9,
                "gen_ai.evaluation.explanation": "retriever is wrong",
            },
        )
    ]


@pytest.mark.parametrize(
    ("faulty", "stage"),
    [
        ({Stage.ASSEMBLY: FaultType.EVIDENCE_DROPPED}, "assembly"),
        ({Stage.GENERATOR: FaultType.INCOMPLETE}, "generator"),
        ({}, "generator"),
    ],
)
def test_a_span_of_two_stages_speaks_of_the_faulty_one(faulty, stage):
    """One raglog.stage per span, one event per verdict."""
    added = annotate([make_report(faulty)], SPANS, PLAIN)[GENERATOR]
    assert attributes(added)["raglog.stage"] == stage
    names = [values["gen_ai.evaluation.name"] for _, _, values in events(added)]
    assert names == ["raglog.assembly", "raglog.generator"]


def test_steps_judged_singly_bear_their_own_verdict():
    """Of two rewrites only the bad one is marked faulty."""
    run = make_run()
    steps = run.retrievers * 2
    first, second = b"\x0a" * 8, b"\x0b" * 8
    steps = tuple(
        type(step)(type(step.origin)(span_id, (span_id,)), step.query, step.chunks)
        for step, span_id in zip(steps, (first, second), strict=True)
    )
    run = make_run(retrievers=steps)
    report = make_report({Stage.RETRIEVER: FaultType.EMPTY_RESULT}, run=run)
    single = (
        Verdict(Stage.RETRIEVER, StageVerdict.OK, probability=0.2, threshold=0.5, step=0),
        Verdict(Stage.RETRIEVER, StageVerdict.FAULTY, probability=0.9, threshold=0.5, step=1),
    )
    whole = report.verdicts[Stage.RETRIEVER]
    verdicts = dict(report.verdicts) | {
        Stage.RETRIEVER: type(whole)(
            whole.stage, whole.verdict, None, 0.9, 0.5, whole.fault_types, steps=single
        )
    }
    report = make_report(run=run, verdicts=verdicts, verdict=RunVerdict.FAULTY)
    added = annotate([report], {first: decoded_span(first), second: decoded_span(second)}, PLAIN)
    assert attributes(added[first])["raglog.verdict"] == "ok"
    assert attributes(added[second])["raglog.verdict"] == "faulty"


def test_an_unknown_stage_says_so_on_its_span():
    """A redacted stage is visible as unknown, without a probability."""
    report = make_report()
    verdicts = dict(report.verdicts) | {
        Stage.RETRIEVER: Verdict(
            Stage.RETRIEVER, StageVerdict.UNKNOWN, UnknownReason.REDACTED, explanation="hidden"
        )
    }
    report = make_report(verdicts=verdicts, verdict=RunVerdict.UNKNOWN)
    added = annotate([report], SPANS, PLAIN)[RETRIEVER]
    assert attributes(added) == {
        "raglog.stage": "retriever",
        "raglog.verdict": "unknown",
        "raglog.explanation": "hidden",
    }


@pytest.mark.parametrize(
    "reason", ["no_genai_spans", "no_stages", "no_retrieval", "evaluation", "no_spans"]
)
def test_what_is_no_rag_run_stays_as_it_is(reason):
    """A plain chat call, or an HTTP request, passes byte for byte."""
    report = make_report(run=make_run(skip_reason=reason), skip_reason=reason)
    assert annotate([report], SPANS, PLAIN) == {}


@pytest.mark.parametrize("reason", ["unread_convention", "embedding_only", "no_question"])
def test_a_rag_run_that_was_not_judged_says_why_on_its_top_span(reason):
    """Nobody has to guess why there is no verdict."""
    nothing = dict.fromkeys(Stage, StageState(0, reason=UnknownReason.SKIPPED))
    run = make_run(retrievers=(), assemblies=(), generators=(), stages=nothing, skip_reason=reason)
    report = make_report(run=run, skip_reason=reason, verdict=RunVerdict.UNKNOWN)
    added = annotate([report], SPANS, PLAIN)
    assert set(added) == {TOP}
    assert attributes(added[TOP])["raglog.skip_reason"] == reason
    assert attributes(added[TOP])["raglog.run.verdict"] == "unknown"


def test_openinference_evaluations_come_behind_existing_ones():
    """The option appends indices and overwrites nothing."""
    taken = {"evaluations.4.evaluation.name": "mine", "trace.evaluations.0.evaluation.name": "x"}
    spans = {TOP: decoded_span(TOP, taken), RETRIEVER: decoded_span(RETRIEVER, taken)}
    added = annotate([make_report()], spans, AnnotationOptions(openinference_evaluations=True))
    retriever, top = attributes(added[RETRIEVER]), attributes(added[TOP])
    assert retriever["evaluations.5.evaluation.name"] == "raglog.retriever"
    assert retriever["evaluations.5.evaluation.score"] == 0.1
    assert top["trace.evaluations.1.evaluation.label"] == "ok"


def test_a_run_of_several_traces_names_them_once():
    """The other traces' topmost spans say where the run is, and are no runs themselves."""
    report = make_report(run=make_run(joined_traces=(b"\x01" * 16, b"\x02" * 16)))
    top = attributes(annotate([report], SPANS, PLAIN)[TOP])
    assert top["raglog.run.joined_traces"] == ["01" * 16, "02" * 16]
    assert attributes(annotate_joined(report)) == {"raglog.run.id": report.run.run_id}


def test_late_spans_inherit_the_verdict():
    """A late span says which run it belongs to and how that was judged."""
    report = make_report({Stage.GENERATOR: FaultType.INCOMPLETE})
    assert attributes(annotate_late([report])) == {
        "raglog.run.id": report.run.run_id,
        "raglog.run.verdict": "faulty",
        "raglog.run.faulty_stages": ["generator"],
    }


def test_late_spans_of_a_trace_with_several_runs_get_the_worst():
    """Which run it belongs to cannot be told, so no run id is claimed."""
    reports = [make_report(), make_report({Stage.RETRIEVER: FaultType.EMPTY_RESULT})]
    inherited = attributes(annotate_late(reports))
    assert inherited == {
        "raglog.run.verdict": "faulty",
        "raglog.run.faulty_stages": ["retriever"],
    }


@pytest.mark.parametrize("character", ["a", "é", "漢", "🙂"])
def test_values_stay_below_tempos_limit(character):
    """A cut falls between characters and is marked."""
    text = cut(character * 3000)
    assert len(text.encode()) <= MAX_VALUE_BYTES < 2048
    assert text.endswith("…")
    assert cut(character) == character


def test_a_lone_surrogate_does_not_stop_the_pipe():
    """JSON escapes can carry text that has no UTF-8 form."""
    assert cut("a\ud800b") == "a?b"


def test_what_is_shared_between_reports_does_not_change_them():
    """The same report gives the same bytes, whatever was annotated in between."""
    faulty = make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK})
    first = annotate([faulty], SPANS, PLAIN)
    assert annotate([make_report()], SPANS, PLAIN) != first
    assert annotate([faulty], SPANS, PLAIN) == first


def test_the_top_span_tells_what_an_llm_was_asked():
    """Or why it was not; a cost that is not known is not called nothing."""
    use = JudgeUse(
        "m",
        calls=5,
        cost_usd=None,
        abstained=(("statements", "timeout"),),
        suspected=(("instruction", "answer"),),
    )
    top = attributes(annotate([make_report(judge=use)], SPANS, PLAIN)[TOP])
    assert top["raglog.judge.model"] == "m"
    assert top["raglog.judge.calls"] == 5
    assert top["raglog.judge.abstained"] == ["statements: timeout"]
    assert top["raglog.judge.injection_suspected"] == ["instruction: answer"]
    assert "raglog.analysis.cost_usd" not in top
    skipped = make_report(judge=JudgeUse("m", skipped="budget"))
    top = attributes(annotate([skipped], SPANS, PLAIN)[TOP])
    assert top["raglog.judge.skipped"] == "budget"
    assert "raglog.judge.calls" not in top

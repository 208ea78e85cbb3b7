"""The line from held spans to reports."""

import random
from dataclasses import replace

from rag_traces import RAG_SPANS, rag_trace

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import (
    Completion,
    HeldTrace,
    MeasurementStatus,
    Stage,
    StageVerdict,
    Tier,
    UnknownReason,
)
from otel_raglog.options import Redaction
from otel_raglog.redaction.building import build_redaction


def analyser():
    """Return an analyser without an encoder: rules alone."""
    return Analyser(build_checks(None), Rules1(), ManualClock())


def held(spans, completion=Completion.ROOT_QUIET):
    """Return the held spans as one released trace."""
    kept = tuple(span for span in spans if span.held)
    return HeldTrace(kept[0].trace_id, kept, completion, 5.0)


def test_a_trace_becomes_one_report_per_run():
    """With every stage, the detector's version and how the trace was released."""
    subject = analyser()
    trace = subject.decode(held(rag_trace(random.Random(1), 0)))
    (report,) = subject.reports(trace)
    assert len(trace.spans) == RAG_SPANS
    assert set(report.verdicts) == set(Stage)
    assert report.verdicts[Stage.RETRIEVER].verdict is StageVerdict.OK
    assert report.verdicts[Stage.REWRITER].verdict is StageVerdict.ABSENT
    assert (report.detector_version, report.tier) == ("rules-1", Tier.LOCAL)
    assert report.complete


def test_a_partial_trace_says_so_and_claims_no_stage_absent():
    """A stage that was not seen may still have been there."""
    subject = analyser()
    trace = subject.decode(held(rag_trace(random.Random(1), 0), Completion.MAX_WAIT))
    (report,) = subject.reports(trace)
    assert report.run.completion is Completion.MAX_WAIT
    assert not report.complete
    rewriter = report.verdicts[Stage.REWRITER]
    assert (rewriter.verdict, rewriter.reason) == (StageVerdict.UNKNOWN, UnknownReason.INCOMPLETE)


def test_an_unreadable_span_costs_itself_alone():
    """The rest of its trace is judged; the span itself is forwarded by others."""
    trace = held(rag_trace(random.Random(1), 0))
    broken = replace(trace.spans[0], raw=b"\x0a\xff")
    subject = analyser()
    decoded = subject.decode(replace(trace, spans=(broken, *trace.spans[1:])))
    assert len(decoded.spans) == RAG_SPANS - 1
    assert len(subject.reports(decoded)) == 1


def test_the_time_spent_is_on_the_report():
    """Mapping and judging together, on the clock that was given."""

    class Ticking(ManualClock):
        def perf_counter(self):
            return self.advance(1.0)

    subject = Analyser(build_checks(None), Rules1(), Ticking())
    (report,) = subject.reports(subject.decode(held(rag_trace(random.Random(1), 0))))
    assert report.analysis_seconds == 2.0


def test_a_run_with_thousands_of_chunks_is_judged_by_rules_alone():
    """Encoding them would take the time of a hundred other runs; the report says so."""

    class Refuses:
        def encode(self, texts):
            raise AssertionError(texts)

    subject = Analyser(build_checks(Refuses()), Rules1(), ManualClock())
    record = {
        "id": "big",
        "question": "When does the ferry leave?",
        "retrieved": [{"id": f"d{n}", "text": f"Ferry {n} leaves at 9."} for n in range(300)],
        "answer": "At 9.",
        "prompt": "When does the ferry leave? "
        + " ".join(f"Ferry {n} leaves at 9." for n in range(300)),
    }
    report = subject.judge(run_from_record(record))
    assert report.verdicts[Stage.RETRIEVER].verdict is StageVerdict.OK
    assert "rules alone" in " ".join(report.run.notes)
    assert not [item for item in report.measurements if item.status is MeasurementStatus.FAILED]


def test_a_search_whose_chunks_have_no_text_is_not_sound():
    """That it found something says nothing of whether it helps."""
    record = {
        "id": "r1",
        "question": "Who is the chief?",
        "retrieved": [{"id": "a", "text": ""}, {"id": "b", "text": "   "}],
        "prompt": "Answer.\nWho is the chief?",
        "answer": "I do not know.",
    }
    verdict = analyser().judge(run_from_record(record)).verdicts[Stage.RETRIEVER]
    assert (verdict.verdict, verdict.reason) == (StageVerdict.UNKNOWN, UnknownReason.ABSTAINED)


def test_with_redaction_the_true_text_is_judged_and_the_redacted_one_shown():
    """All that is read is hidden, and the verdicts are the same."""
    spans = held(rag_trace(random.Random(1), 0))
    plain = analyser()
    hiding = replace(
        plain, redaction=build_redaction(Redaction(mask_keys=["*.content", "*.value"]))
    )
    (expected,) = plain.reports(plain.decode(spans))
    (report,) = hiding.reports(hiding.decode(spans))
    assert {stage: (v.verdict, v.probability) for stage, v in report.verdicts.items()} == {
        stage: (v.verdict, v.probability) for stage, v in expected.verdicts.items()
    }
    assert replace(report.run, view=None) == expected.run
    assert report.run.question.value == "When does the night ferry to Sandmouth leave?"
    assert "22:15" not in str(report.run.shown)
    assert "Sandmouth" not in str(report.verdicts)

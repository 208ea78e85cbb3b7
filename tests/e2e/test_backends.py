"""What a real backend holds after the bundled traces went through a real service.

Each test runs once per backend: Arize Phoenix over OTLP/gRPC, MLflow over OTLP/HTTP with a header.
"""

from collections import Counter

import pytest

from otel_raglog.model import RunVerdict, Stage, StageVerdict

STAGE_NAMES = frozenset(f"raglog.{stage}" for stage in Stage)

pytestmark = pytest.mark.timeout(600)


def test_every_span_arrives_once(arrival):
    """The backend holds each span that was sent, with its name and parent, and nothing else."""
    assert Counter(span.key for span in arrival.at_backend) == Counter(
        span.key for span in arrival.sent
    )
    assert places(arrival.at_backend) == places(arrival.sent)


def test_the_service_counts_what_it_delivered(arrival):
    """Its metrics say that all spans were forwarded and none was lost, and it ends with 0."""
    assert arrival.forwarded == len(arrival.sent)
    assert arrival.lost == 0
    assert arrival.exit_code == 0


def test_each_run_is_judged_on_its_top_span(arrival):
    """Each run of the applications has one span that bears the verdict on it."""
    tops = [span for span in arrival.at_backend if "raglog.detector.version" in span.verdicts]
    assert Counter(top.trace_id for top in tops) == Counter(
        run["trace_id"] for run in arrival.planted
    )
    for top in tops:
        faulty = top.verdicts["raglog.run.faulty_stages"]
        assert set(faulty) <= set(Stage)
        assert top.verdicts["raglog.run.verdict"] in set(RunVerdict)
        assert (top.verdicts["raglog.run.verdict"] == RunVerdict.FAULTY) == bool(faulty)
        assert top.verdicts["raglog.run.complete"] is True
        assert top.verdicts["raglog.run.id"]


def test_stages_are_judged_on_their_spans(arrival):
    """Retriever and generator bear stage and verdict, and an event for each stage on the span."""
    judged = [span for span in arrival.at_backend if "raglog.stage" in span.verdicts]
    assert {Stage.RETRIEVER, Stage.GENERATOR} <= {span.verdicts["raglog.stage"] for span in judged}
    for span in judged:
        verdict = span.verdicts["raglog.verdict"]
        assert verdict in set(StageVerdict)
        events = {event["gen_ai.evaluation.name"]: event for event in span.evaluations}
        assert len(events) == len(span.evaluations) >= 1
        event = events[f"raglog.{span.verdicts['raglog.stage']}"]
        assert event["gen_ai.evaluation.score.label"] == verdict
        assert event.get("gen_ai.evaluation.score.value") == span.verdicts.get(
            "raglog.fault.probability"
        )
    assert judged == [span for span in arrival.at_backend if span.evaluations]


def test_faulty_runs_name_stages_that_are_faulty_on_their_spans(arrival):
    """Some run is faulty, since faults were planted, and a span of its trace says where."""
    faulty = {
        (span.trace_id, stage)
        for span in arrival.at_backend
        for stage in span.verdicts.get("raglog.run.faulty_stages", ())
    }
    on_spans = {
        (span.trace_id, event["gen_ai.evaluation.name"].removeprefix("raglog."))
        for span in arrival.at_backend
        for event in span.evaluations
        if event["gen_ai.evaluation.score.label"] == StageVerdict.FAULTY
    }
    assert faulty
    assert faulty == on_spans


def test_the_backend_holds_what_a_sink_gets(arrival):
    """Every attribute and event that the service adds is stored with its value and its type."""
    at_sink = {span.key: span for span in arrival.at_sink}
    for span in arrival.at_backend:
        assert span == at_sink[span.key]
        types = {key: type(value) for key, value in span.verdicts.items()}
        assert types == {key: type(value) for key, value in at_sink[span.key].verdicts.items()}


def test_the_backend_s_own_notes_tell_each_verdict(arrival):
    """An annotation or assessment for each judged stage on its span, and for each run on its trace."""
    words = {
        (note.target, note.name.removesuffix(".verdict")): note
        for note in arrival.notes
        if note.kind == "span" and note.label
    }
    expected = {
        (span.span_id, event["gen_ai.evaluation.name"]): event
        for span in arrival.at_backend
        for event in span.evaluations
    }
    assert words.keys() == expected.keys()
    for place, event in expected.items():
        assert words[place].label == event["gen_ai.evaluation.score.label"]
        assert words[place].explanation == event.get("gen_ai.evaluation.explanation")
    if any(note.name.endswith(".verdict") for note in arrival.notes):  # where words have no score
        scores = {
            (note.target, note.name): note.score
            for note in arrival.notes
            if note.kind == "span" and not note.name.endswith(".verdict")
        }
        assert scores == {
            place: event["gen_ai.evaluation.score.value"]
            for place, event in expected.items()
            if "gen_ai.evaluation.score.value" in event
        }
    runs = sorted((note.target, note.label) for note in arrival.notes if note.kind == "trace")
    tops = [span for span in arrival.at_backend if "raglog.detector.version" in span.verdicts]
    assert runs == sorted((top.trace_id, top.verdicts["raglog.run.verdict"]) for top in tops)


def test_people_see_the_verdicts_on_the_right_spans(arrival):
    """On the page of a faulty run's trace: its verdict, and a chip of each stage below its span."""
    if not arrival.page:
        pytest.skip("no Chromium here, or a backend whose pages we do not know")
    trace_id, *texts = arrival.page
    spans = [span for span in arrival.at_backend if span.trace_id == trace_id]
    names, chips, last = {span.name for span in spans}, set(), ""
    for text in texts:
        if text in names:
            last = text
        elif text in STAGE_NAMES:
            chips.add((last, text))
    expected = {
        (span.name, event["gen_ai.evaluation.name"])
        for span in spans
        for event in span.evaluations
        if "gen_ai.evaluation.score.value" in event
    }
    assert chips == expected
    # Other traces are listed beside it.
    about_it = texts[texts.index(trace_id) :]
    assert about_it[about_it.index("raglog.run") + 1] == "faulty"


def places(spans):
    """Return name and parent of each span."""
    return {span.key: (span.name, span.parent_id) for span in spans}

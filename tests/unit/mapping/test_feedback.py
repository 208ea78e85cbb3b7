"""What counts as a user's verdict that an answer was bad."""

from dataclasses import replace

import pytest
from samples import decoded_span

from otel_raglog.mapping.feedback import is_disliked
from otel_raglog.model import SpanEvent


def annotated(place: str, **fields):
    """Return a span with an annotation at ``place``."""
    return decoded_span(attributes={f"{place}.{key}": value for key, value in fields.items()})


def evaluated(**fields):
    """Return a span with an evaluation event."""
    attributes = {f"gen_ai.evaluation.{key}": value for key, value in fields.items()}
    event = SpanEvent("gen_ai.evaluation.result", 0, attributes)
    return replace(decoded_span(), events=(event,))


@pytest.mark.parametrize(
    "span",
    [
        annotated("annotations.0.annotation", name="quality", label="bad", annotator_kind="HUMAN"),
        annotated("trace.annotations.2.annotation", name="user feedback", label="Thumbs-Down"),
        annotated(
            "evaluations.0.evaluation", name="correctness", score=0.0, annotator_kind="human"
        ),
        annotated("annotations.0.annotation", name="helpful", label="no", annotator_kind="HUMAN"),
        annotated("annotations.0.annotation", name="thumbs_down", score=1),
        annotated("annotations.0.annotation", name="thumbs_down", label="true"),
        annotated("annotations.0.annotation", name="incorrect", label=True, annotator_kind="HUMAN"),
        annotated("annotations.1.annotation", name="user_feedback", score=-1),
        evaluated(name="user_feedback", **{"score.label": "👎"}),
        evaluated(name="thumbs", **{"score.value": 0}),
    ],
)
def test_a_bad_mark_by_a_person_counts(span):
    """By OpenInference's annotations or the GenAI event, by label or, without one, by score."""
    assert is_disliked([decoded_span(), span])


@pytest.mark.parametrize(
    "span",
    [
        decoded_span(),
        decoded_span(attributes={"annotations.0.annotation": "bad", "label": "bad"}),
        annotated("annotations.0.annotation", name="q", label="bad", annotator_kind="LLM"),
        annotated("annotations.0.annotation", name="q", label="good", annotator_kind="HUMAN"),
        annotated("annotations.0.annotation", name="feedback", label="good", score=0),
        annotated("annotations.0.annotation", name="feedback", score=1),
        annotated("annotations.0.annotation", name="feedback", score=False),
        annotated("annotations.0.annotation", name="feedback", label=7),
        annotated("annotations.0.annotation", name="toxicity", label="no", annotator_kind="HUMAN"),
        annotated("annotations.0.annotation", name="has_pii", score=0, annotator_kind="HUMAN"),
        annotated(
            "annotations.0.annotation", name="hallucination", label="false", annotator_kind="HUMAN"
        ),
        annotated(
            "annotations.0.annotation", name="feedback_classifier", score=0, annotator_kind="CODE"
        ),
        annotated("annotations.0.annotation", name="thumbs_down", score=0),
        annotated("annotations.0.annotation", name="thumbs_down", label="no"),
        evaluated(name="relevance", **{"score.label": "bad"}),
        evaluated(name="user_feedback"),
    ],
)
def test_marks_of_others_and_good_ones_do_not(span):
    """What an LLM or code judged is no user's verdict; that something bad is not there is good."""
    assert not is_disliked([span])


def test_two_annotations_are_not_mixed_up():
    """A person's good mark beside a model's bad one is no dislike."""
    span = decoded_span(
        attributes={
            "annotations.0.annotation.annotator_kind": "HUMAN",
            "annotations.0.annotation.label": "good",
            "annotations.1.annotation.annotator_kind": "LLM",
            "annotations.1.annotation.label": "bad",
        }
    )
    assert not is_disliked([span])

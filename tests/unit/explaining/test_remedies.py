"""What a run lacks, and what to do about it."""

import pytest

from otel_raglog.conventions.genai import GenAi
from otel_raglog.conventions.mlflow import MlFlow
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.conventions.semantic_kernel import SemanticKernel
from otel_raglog.explaining.remedies import (
    NO_RUNS,
    content_remedy,
    missing_stage_remedy,
    skip_remedy,
    stage_remedy,
)
from otel_raglog.model import Stage, StageState, UnknownReason

GONE = StageState(0, reason=UnknownReason.NOT_CAPTURED)
ABSENT = StageState(0, absent=True)
HOLLOW = StageState(1, reason=UnknownReason.NOT_CAPTURED)


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_a_line_for_each_way_of_lacking(stage):
    """One line, whatever is wrong."""
    states = [GONE, ABSENT, *(StageState(1, reason=reason) for reason in UnknownReason)]
    for state in states:
        line = stage_remedy(stage, state, (OpenInference(),))
        assert line
        assert "\n" not in line


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_that_was_captured_needs_nothing(stage):
    """No advice without a reason."""
    assert stage_remedy(stage, StageState(2), (OpenInference(),)) == ""


def test_an_embedder_without_a_span_is_a_client_to_instrument():
    """The framework's instrumentation does not always cover it."""
    assert "instrument the embedding client too" in stage_remedy(Stage.EMBEDDER, GONE, ())


def test_an_answer_without_a_span_may_be_in_another_trace():
    """A parent span, or the join."""
    remedy = stage_remedy(Stage.GENERATOR, GONE, ())
    assert "one span around each question" in remedy
    assert "join.enabled" in remedy


def test_a_convention_without_a_kind_for_rerankers_is_named():
    """Then only a rule of one's own tells."""
    remedy = stage_remedy(Stage.RERANKER, ABSENT, (SemanticKernel(),))
    assert "Semantic Kernel has no kind for rerankers" in remedy
    assert "conventions.custom" in remedy
    assert "no kind" not in stage_remedy(Stage.RERANKER, ABSENT, (OpenInference(),))


def test_content_that_is_off_is_turned_on_as_the_convention_says():
    """Unless it is on, and this is not recorded."""
    remedy = stage_remedy(Stage.GENERATOR, HOLLOW, (GenAi(),))
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in remedy
    remedy = stage_remedy(Stage.RETRIEVER, HOLLOW, (GenAi(),), {"genai"})
    assert "does not record it" in remedy


def test_a_senders_own_switch_counts_also_where_genai_keys_have_content():
    """MLflow's GenAI mode keeps the messages and drops the documents: MLflow's switch it is."""
    remedy = stage_remedy(Stage.RETRIEVER, HOLLOW, (MlFlow(), GenAi()), {"genai"})
    assert "leave MLFLOW_ENABLE_OTEL_GENAI_SEMCONV off" in remedy
    remedy = stage_remedy(Stage.RETRIEVER, HOLLOW, (MlFlow(), GenAi()), {"genai", "mlflow"})
    assert "does not record it" in remedy


def test_a_convention_without_a_switch_leaves_writing_it():
    """Nothing is invented."""
    assert content_remedy(()) == ""
    assert "write it on the span" in stage_remedy(Stage.RETRIEVER, HOLLOW, ())


def test_only_stages_that_are_to_be_expected_are_missing():
    """An absent rewriter is no defect; a reranker that nobody could tell may be one."""
    assert missing_stage_remedy(Stage.REWRITER, ABSENT, (OpenInference(),)) == ""
    assert missing_stage_remedy(Stage.EMBEDDER, GONE, (OpenInference(),))
    assert missing_stage_remedy(Stage.EMBEDDER, HOLLOW, (OpenInference(),)) == ""
    assert missing_stage_remedy(Stage.RERANKER, ABSENT, (SemanticKernel(),))
    assert missing_stage_remedy(Stage.RERANKER, ABSENT, (OpenInference(),)) == ""


def test_fragments_are_advised_to_have_a_parent_or_to_be_joined():
    """An evaluator's own trace is as it should be."""
    for reason in ("embedding_only", "no_retrieval"):
        assert "join.enabled" in skip_remedy(reason)
    assert skip_remedy("evaluation") == ""


def test_spans_of_no_vocabulary_may_be_mapped_by_their_owner():
    """The line names the option and its page."""
    line = skip_remedy("no_genai_spans")
    assert "conventions.custom" in line
    assert "docs/custom-conventions.md" in line


def test_a_cached_answer_lacks_no_stage() -> None:
    """There is nothing to instrument: nothing was done."""
    assert "cached_answer" in NO_RUNS
    assert "made anew" in (skip_remedy("cached_answer") or "")

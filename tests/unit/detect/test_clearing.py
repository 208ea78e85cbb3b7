"""When a flag on the retriever is lifted."""

from otel_raglog.detect.clearing import CLEARINGS, is_cleared


def test_what_was_excluded_clears_the_retriever_when_nothing_selected_answers() -> None:
    """The fault is the reranker's then; without a reranker nothing is cleared."""
    rule = CLEARINGS[-1]
    clear = {rule.excluded: rule.at_least, rule.selected: rule.below - 0.01}
    assert is_cleared(clear)
    assert not is_cleared({**clear, rule.selected: rule.below})
    assert not is_cleared({**clear, rule.excluded: rule.at_least - 0.01})
    assert not is_cleared({rule.excluded: 1.0})
    assert not is_cleared({})


def test_the_evidence_flow_is_trusted_before_the_cross_encoder() -> None:
    """What an LLM followed decides, whatever the reader finds in excluded chunks."""
    reads = {"reranker.answerable_excluded": 3.0, "reranker.answerable_selected": -3.0}
    flow = {"retriever.flow_excluded_yes": 0.5, "retriever.flow_passed_yes": 0.0}
    assert is_cleared(flow)
    assert not is_cleared({**reads, **flow, "retriever.flow_passed_yes": 0.5})
    assert not is_cleared({**reads, **flow, "retriever.flow_excluded_yes": 0.0})

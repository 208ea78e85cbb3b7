"""What the models of a stage see."""

from otel_raglog.detect.training.settings import DEFAULT, PAPER, Inputs
from otel_raglog.model import Stage

NAMES = (
    "clues.retriever",
    "clues.rewriter",
    "retriever.chunks",
    "retriever.flow_held",
    "rewriter.empty",
)


def test_inputs_choose_features_by_stage_and_source() -> None:
    """In the order of the names."""
    chosen = {inputs: inputs.choose(Stage.RETRIEVER, NAMES) for inputs in Inputs}
    assert chosen == {
        Inputs.ALL: ("retriever.chunks", "retriever.flow_held", "rewriter.empty"),
        Inputs.OWN: ("retriever.chunks", "retriever.flow_held"),
        Inputs.OWN_AND_CLUES: ("clues.retriever", "retriever.chunks", "retriever.flow_held"),
        Inputs.CLUES: ("clues.retriever",),
        Inputs.ALL_AND_CLUES: NAMES,
        Inputs.ANSWERS_AND_CLUES: ("clues.retriever", "retriever.flow_held"),
    }


def test_the_papers_settings_are_kept_beside_the_default() -> None:
    """Weights sum to 1 in both."""
    assert PAPER.weights == (1 / 3, 1 / 2, 1 / 6)
    assert abs(sum(DEFAULT.weights) - 1) < 1e-12

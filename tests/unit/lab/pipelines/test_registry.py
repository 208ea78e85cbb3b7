"""Registry: the lab's pipelines."""

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.lab.pipelines.generators import ModelGenerator
from otel_raglog.lab.pipelines.registry import PIPELINES, pipelines_named, with_models
from otel_raglog.lab.pipelines.rerankers import CrossEncoder
from otel_raglog.lab.pipelines.rewriters import ModelRewriter


def test_names_are_unique_and_pipelines_differ():
    """At least six, no two with the same stages and settings."""
    assert len({pipeline.name for pipeline in PIPELINES}) == len(PIPELINES) >= 6
    settings = {(p.retriever, p.top_k, p.rewriter, p.reranker, p.keep, p.embeds) for p in PIPELINES}
    assert len(settings) == len(PIPELINES)


def test_an_unknown_name_is_answered_with_the_known_ones():
    """No name means all."""
    assert pipelines_named(()) == PIPELINES
    assert [p.name for p in pipelines_named(("bm25", "dense"))] == ["bm25", "dense"]
    with pytest.raises(BadInput, match="no pipeline 'dens'; there are dense, bm25"):
        pipelines_named(("dens",))


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda p: p.name)
def test_models_take_the_place_of_what_works_offline(pipeline):
    """Every rewriter has a prompt of its own; stages that are not there stay away."""
    model, cross_encoder = object(), CrossEncoder("tiny")
    found = with_models(pipeline, model, cross_encoder)
    assert isinstance(found.generator, ModelGenerator)
    assert isinstance(found.rewriter, ModelRewriter) is (pipeline.rewriter is not None)
    assert (found.reranker is cross_encoder) is (pipeline.reranker is not None)
    assert with_models(pipeline) == pipeline

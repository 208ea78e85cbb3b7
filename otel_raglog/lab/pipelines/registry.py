"""The pipelines of the lab: one line each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from otel_raglog.errors import BadInput
from otel_raglog.lab.corpus import Chunking
from otel_raglog.lab.llm import ChatModel
from otel_raglog.lab.pipelines import templates
from otel_raglog.lab.pipelines.generators import Extractive, Generator, ModelGenerator
from otel_raglog.lab.pipelines.rerankers import BestSentence, Combined, CrossEncoder, Reranker
from otel_raglog.lab.pipelines.retrievers import Bm25, Dense, Hybrid, Retriever
from otel_raglog.lab.pipelines.rewriters import (
    Condense,
    Expand,
    Keywords,
    ModelRewriter,
    Polish,
    Rewriter,
)
from otel_raglog.lab.pipelines.templates import Template

_CAREFUL = Extractive(refuse_below=0.58, noise=0.02, shapes=(4, 1, 2, 2))
_USUAL = Extractive(refuse_below=0.48, noise=0.04)
_EAGER = Extractive(refuse_below=0.25, noise=0.05, shapes=(2, 3, 2, 4))
_SMALL = Chunking(80, 20)
_MIDDLE = Chunking(120, 20)
_LARGE = Chunking(200, 30)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages and their settings. ``None`` for a stage means that the pipeline has none.

    ``top_k`` passages are retrieved, ``keep`` of them passed on by the reranker; ``budget`` is
    the most words of context that the prompt takes; ``embeds`` the most words that its embedder
    reads (``None``: all). ``follow_ups`` pipelines are asked the second turn of a conversation.
    """

    name: str
    retriever: Retriever
    top_k: int
    rewriter: Rewriter | None = None
    reranker: Reranker | None = None
    keep: int | None = None
    template: Template = templates.NUMBERED
    system: str = templates.SYSTEM_STRICT
    budget: int | None = None
    embeds: int | None = None
    chunking: Chunking = _LARGE
    generator: Generator = _USUAL
    follow_ups: bool = False


PIPELINES: tuple[Pipeline, ...] = (
    Pipeline("dense", Dense(), 3, generator=_USUAL),
    Pipeline("bm25", Bm25(), 3, template=templates.HEADED, system=templates.SYSTEM_HELPFUL,
             generator=_EAGER),
    Pipeline("hybrid", Hybrid(), 5, template=templates.TAGGED, chunking=_MIDDLE,
             generator=_CAREFUL),
    Pipeline("rewrite_dense", Dense(), 4, Polish(), system=templates.SYSTEM_SHORT,
             generator=_USUAL),
    Pipeline("keywords_bm25", Bm25(), 6, Keywords(), template=templates.LISTED,
             system=templates.SYSTEM_HELPFUL, generator=_EAGER),
    Pipeline("condense_dense", Dense(), 4, Condense(), template=templates.HEADED,
             generator=_USUAL, follow_ups=True),
    Pipeline("bm25_rerank", Bm25(), 12, reranker=Combined(), keep=3, system=templates.SYSTEM_SHORT,
             generator=_USUAL),
    Pipeline("dense_rerank", Dense(), 10, reranker=BestSentence(), keep=2,
             template=templates.TAGGED, chunking=_MIDDLE, generator=_CAREFUL),
    Pipeline("expand_bm25_budget", Bm25(), 8, Expand(), template=templates.PLAIN, budget=260,
             system=templates.SYSTEM_HELPFUL, generator=_EAGER),
    Pipeline("dense_short_embedder", Dense(), 2, embeds=9, template=templates.LISTED,
             system=templates.SYSTEM_SHORT, generator=_EAGER),
    Pipeline("condense_hybrid_rerank", Hybrid(), 10, Condense(), Combined(0.3), 4,
             template=templates.TAGGED, chunking=_MIDDLE, budget=200, generator=_USUAL,
             follow_ups=True),
    Pipeline("rewrite_hybrid_rerank", Hybrid(), 10, Polish(0.7), BestSentence(), 4,
             template=templates.SOURCED, system=templates.SYSTEM_DESK, budget=280,
             chunking=_SMALL, generator=_USUAL),
    Pipeline("keywords_dense_rerank", Dense(), 9, Keywords(2, 4), Combined(0.6), 3,
             template=templates.SOURCED, system=templates.SYSTEM_DESK,
             chunking=_LARGE, generator=_CAREFUL),
)  # fmt: skip
"""All pipelines; which of them are held out, ``lab/splits.py`` says."""


def pipelines_named(names: tuple[str, ...]) -> tuple[Pipeline, ...]:
    """Return the pipelines of these names, all without names.

    Raises:
        BadInput: there is no such pipeline; names those there are.
    """
    known = {pipeline.name: pipeline for pipeline in PIPELINES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise BadInput(f"no pipeline {unknown[0]!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in names) if names else PIPELINES


def with_models(
    pipeline: Pipeline, model: ChatModel | None = None, cross_encoder: CrossEncoder | None = None
) -> Pipeline:
    """Return the pipeline with an LLM as rewriter and generator, and a cross-encoder as reranker."""
    if model is not None:
        tasks = {Polish: "rewrite", Expand: "rewrite", Keywords: "keywords", Condense: "condense"}
        task = tasks.get(type(pipeline.rewriter))
        rewriter = ModelRewriter(model, task) if task else pipeline.rewriter
        pipeline = replace(pipeline, rewriter=rewriter, generator=ModelGenerator(model))
    if cross_encoder is not None and pipeline.reranker is not None:
        pipeline = replace(pipeline, reranker=cross_encoder)
    return pipeline

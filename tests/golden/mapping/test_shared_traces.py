"""Real traces of the frameworks, kept beside the project: the stages that a person would name."""

from __future__ import annotations

from pathlib import Path

import pytest
from span_trees import summary

from otel_raglog.conventions.registry import marker_names, marker_prefixes
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, Trace
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json
from otel_raglog.receive.span import decode_span

FOLDER = Path(__file__).parents[4] / "shared" / "traces"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="../shared/traces is not here")

UNKNOWN = "unknown: not_captured"
STAGES = ("rewriter", "embedder", "retriever", "reranker", "assembly", "generator")
EXPECTED = {
    "llama-index-rag": ("absent", 1, 1, 1, 1, 1),
    "langchain-rag": ("absent", UNKNOWN, 1, 1, 1, 1),
    "llamaindex_oi": ("absent", 1, 1, 1, 1, 1),
    "llamaindex_oi_hyde": (1, 2, 1, 1, 1, 1),
    "langchain_oi_plain": ("absent", UNKNOWN, 1, "absent", 1, 1),
    "langchain_oi_rerank": ("absent", UNKNOWN, 1, 1, 1, 1),
    "langgraph_oi_toolrag": (1, UNKNOWN, 1, "absent", 1, 1),
    "openai_oi_wrap_true": ("absent", 1, UNKNOWN, "absent", UNKNOWN, 1),
}
UNREAD = (
    "langchain_ollm_plain",
    "langchain_ollm_rerank",
    "langchain_otel_multi",
    "llamaindex_ollm",
    "openai_ollm_wrap_true",
)


def runs_of(name):
    """Return the runs of all traces in a file."""
    markers = Markers(
        tuple(prefix.encode() for prefix in marker_prefixes()),
        tuple(prefix.encode() for prefix in marker_names()),
    )
    by_trace = {}
    for line in (FOLDER / f"{name}.otlp.jsonl").read_bytes().splitlines():
        for wire in split_json(line, Limits(), markers).spans:
            assert wire.held
            by_trace.setdefault(wire.trace_id, []).append(decode_span(wire))
    return [
        run
        for trace_id, spans in by_trace.items()
        for run in map_trace(Trace(trace_id, tuple(spans), Completion.FILE_END))
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_stages(name):
    """Each run has the stages of its pipeline, its question and its answer."""
    runs = runs_of(name)
    assert len(runs) == (3 if name.endswith("-rag") else 1)
    for run in runs:
        found = summary(run)
        assert tuple(found[stage] for stage in STAGES) == EXPECTED[name]
        assert found["question"].endswith("?")
        assert found["answer"]
        assert run.skip_reason is None


def test_tokens_are_taken_once():
    """The wrappers of an LLM call add nothing to its tokens."""
    for run in (*runs_of("llama-index-rag"), *runs_of("langchain-rag")):
        assert run.tokens == run.generators[0].tokens
        assert run.tokens.total == run.tokens.prompt + run.tokens.completion


def test_no_scores_are_invented():
    """LangChain's retriever records no scores: candidates have none."""
    for run in runs_of("langchain-rag"):
        assert all(chunk.score is None for chunk in run.retrievers[0].chunks.value)
        assert all(chunk.id for chunk in run.retrievers[0].chunks.value)


@pytest.mark.parametrize("name", UNREAD)
def test_unread_conventions(name):
    """The traces of other conventions say why nothing was judged."""
    for run in runs_of(name):
        assert run.skip_reason == "unread_convention"
        assert "OpenInference only" in run.notes[0]

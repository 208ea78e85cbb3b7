"""The same application gives the same run under each instrumentation, but for what one does not record."""

from __future__ import annotations

from typing import Any

import pytest
from golden_conventions import FOLDER, read_runs, stage_word, traces

from otel_raglog.model import Run, Stage

REFERENCE = "openinference"
OTHERS = ("openllmetry", "otel-genai")

_NO_IDS = {"ids": "OpenLLMetry's LangChain spans have no ids of documents"}
_NO_TEXTS = {"retrieved": "OTel GenAI has no key for the texts of documents"}
_NO_EMBEDDED = {"embedded": "OTel GenAI has no key for the embedded text"}
_ONE_SEARCH = "OTel GenAI's LangChain spans fold a retriever within a retriever into one"
NOT_RECORDED: dict[tuple[str, str, str], dict[str, str]] = {
    ("langchain", "openllmetry", "plain"): _NO_IDS,
    ("langchain", "openllmetry", "multi_query"): _NO_IDS,
    ("langchain", "openllmetry", "rerank"): _NO_IDS,
    ("langchain", "openllmetry", "batch"): _NO_IDS,
    ("langchain", "openllmetry", "self_query"): _NO_IDS,
    ("langchain", "openllmetry", "plain_with_openai"): {
        **_NO_IDS,
        **dict.fromkeys(
            ("runs", "embedded", "stages"),
            "OpenInference's LangChain spans are no parents: calls of the SDK are other traces",
        ),
    },
    ("langgraph", "openllmetry", "rewrite_nodes"): _NO_IDS,
    ("langchain", "otel-genai", "plain"): _NO_TEXTS,
    ("langchain", "otel-genai", "batch"): _NO_TEXTS,
    ("langchain", "otel-genai", "multi_query"): {
        **_NO_TEXTS,
        **dict.fromkeys(("queries", "ids", "scores"), _ONE_SEARCH),
    },
    ("langchain", "otel-genai", "rerank"): {
        **_NO_TEXTS,
        **dict.fromkeys(("reranked", "ids", "scores", "stages"), _ONE_SEARCH),
    },
    ("langgraph", "otel-genai", "rewrite_nodes"): _NO_TEXTS,
    ("openai", "otel-genai", "parent"): _NO_EMBEDDED,
    ("openai", "otel-genai", "no_parent"): {
        **_NO_EMBEDDED,
        "question": "the trace of the embedding alone has nothing else to tell what was asked",
    },
}
"""By framework, instrumentation and scenario: the fields that differ, and why."""


def compared(run: Run) -> dict[str, Any]:
    """Return what a run says, without ids, times and scores' kinds."""
    generator = run.generators[-1] if run.generators else None
    return {
        "question": run.question.value,
        "answer": run.answer.value,
        "rewrites": [t for step in run.rewriters for t in step.rewrites.value or ()],
        "embedded": [t for step in run.embedders for t in step.texts.value or ()],
        "queries": [step.query.value for step in run.retrievers],
        "retrieved": [[c.text for c in step.chunks.value or ()] for step in run.retrievers],
        "scores": [[c.score for c in step.chunks.value or ()] for step in run.retrievers],
        "ids": [[c.id is not None for c in step.chunks.value or ()] for step in run.retrievers],
        "reranked": [[c.text for c in step.selected.value or ()] for step in run.rerankers],
        "prompt": [step.prompt.value for step in run.assemblies],
        "model": generator and generator.model,
        "tokens": generator and (generator.tokens.prompt, generator.tokens.completion),
        "finish_reason": generator and generator.finish_reason,
        "stages": {stage.value: stage_word(run, stage) for stage in Stage},
    }


def pairs() -> list[tuple[str, str, str]]:
    """Return framework, instrumentation and scenario of each trace that has a reference."""
    found = []
    for path in traces(FOLDER / "run"):
        framework, instrumentation, name = path.relative_to(FOLDER / "run").parts
        scenario = name.removesuffix(".otlp.jsonl")
        if instrumentation in OTHERS and (FOLDER / "run" / framework / REFERENCE / name).exists():
            found.append((framework, instrumentation, scenario))
    return found


@pytest.mark.parametrize(("framework", "instrumentation", "scenario"), pairs())
def test_the_run_is_the_same(framework: str, instrumentation: str, scenario: str):
    """Exactly the listed fields differ from what OpenInference says of the same application."""
    name = f"{scenario}.otlp.jsonl"
    one = [compared(r) for r in read_runs(FOLDER / "run" / framework / REFERENCE / name)]
    other = [compared(r) for r in read_runs(FOLDER / "run" / framework / instrumentation / name)]
    exceptions = NOT_RECORDED.get((framework, instrumentation, scenario), {})
    different = {
        field
        for first, second in zip(one, other, strict=False)
        for field in first
        if first[field] != second[field]
    }
    if len(one) != len(other):
        different.add("runs")
    assert different == set(exceptions)


def test_there_are_applications_under_several_instrumentations():
    """The comparison compares something, and lists no exception of a trace that is not there."""
    assert {instrumentation for _, instrumentation, _ in pairs()} == set(OTHERS)
    assert set(NOT_RECORDED) <= set(pairs())

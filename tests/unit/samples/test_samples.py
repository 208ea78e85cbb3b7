"""The bundled sample data: what a demo, a score and a reader may rely on."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from functools import cache
from typing import Any

import pytest

from otel_raglog import samples
from otel_raglog.model import Stage

FAULT_TYPES = {
    "rewriter": {"drops_constraint", "adds_constraint", "changes_entity", "changes_intent"},
    "embedder": {"truncated_input", "misspelled_input", "altered_input", "corrupted_input"},
    "retriever": {"empty_result", "no_relevant_chunk"},
    "reranker": {"evidence_excluded"},
    "assembly": {"evidence_dropped", "evidence_truncated", "blank_context"},
    "generator": {
        "unsupported_claim",
        "misstated_number",
        "incomplete",
        "off_question",
        "should_abstain",
        "wrong_refusal",
        "output_truncated",
    },
}
MAX_BUNDLE_BYTES = 1_000_000


@cache
def _lines() -> tuple[str, ...]:
    with samples.open_set() as bundled:
        return tuple(gzip.decompress(bundled.traces.read_bytes()).decode().splitlines())


@cache
def _runs() -> list[dict[str, Any]]:
    with samples.open_set() as bundled:
        return json.loads(bundled.planted.read_text(encoding="utf-8"))["runs"]


@cache
def _spans() -> list[dict[str, Any]]:
    return [
        span
        for line in _lines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def _faulty(run: dict[str, Any]) -> dict[str, list[str]]:
    return {stage: value["types"] for stage, value in run["labels"].items() if value["faulty"]}


def _attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {
        entry["key"]: next(iter(entry["value"].values()), None)
        for entry in span.get("attributes", ())
    }


def test_every_labelled_trace_is_there_and_every_trace_is_labelled() -> None:
    """Traces and truth name the same trace ids."""
    assert {run["trace_id"] for run in _runs()} == {span["traceId"] for span in _spans()}


def test_every_question_stands_in_its_trace() -> None:
    """A run is found by trace id and question."""
    texts: dict[str, str] = {}
    for span in _spans():
        texts[span["traceId"]] = texts.get(span["traceId"], "") + json.dumps(
            span["attributes"], ensure_ascii=False
        )
    for run in _runs():
        assert run["question"] in texts[run["trace_id"]]


def test_about_half_of_at_least_forty_runs_is_clean() -> None:
    """Enough runs of both kinds."""
    clean = [run for run in _runs() if not _faulty(run)]
    assert len(_runs()) >= 40
    assert 0.4 <= len(clean) / len(_runs()) <= 0.6


@pytest.mark.parametrize("stage", list(Stage))
def test_every_stage_has_faulty_and_clean_runs(stage: Stage) -> None:
    """No stage is left out, and its fault types are the design's."""
    judged = [run["labels"][stage] for run in _runs() if stage in run["labels"]]
    types = {kind for label in judged for kind in label["types"]}
    assert types
    assert types <= FAULT_TYPES[stage]
    assert any(not label["faulty"] for label in judged)
    assert all(bool(label["types"]) == label["faulty"] for label in judged)


def test_all_generator_faults_are_planted() -> None:
    """Each of the generator's fault types occurs."""
    found = {kind for run in _runs() for kind in _faulty(run).get("generator", ())}
    assert found == FAULT_TYPES["generator"]


def test_both_frameworks_have_single_turns_conversations_and_faults() -> None:
    """LlamaIndex and LangChain are told apart by their instrumentation scopes."""
    scopes: dict[str, set[str]] = {}
    for line in _lines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    scopes.setdefault(span["traceId"], set()).add(scope["scope"]["name"])
    for framework in ("llama_index", "langchain"):
        own = [run for run in _runs() if any(framework in name for name in scopes[run["trace_id"]])]
        assert {bool(run["turn"]) for run in own} == {True, False}
        assert {bool(_faulty(run)) for run in own} == {True, False}


def test_turns_of_a_conversation_share_a_session_on_their_spans() -> None:
    """Sessions can be followed by attribute."""
    sessions = {
        (span["traceId"], value)
        for span in _spans()
        if (value := _attributes(span).get("session.id"))
    }
    talks = [run for run in _runs() if run["session"]]
    assert all((run["trace_id"], run["session"]) in sessions for run in talks)
    assert Counter(run["session"] for run in talks).most_common()[-1][1] >= 2


def test_one_trace_holds_two_runs() -> None:
    """A batch under one HTTP request."""
    counts = Counter(run["trace_id"] for run in _runs())
    assert [count for count in counts.values() if count > 1] == [2]


def test_traces_tell_neither_the_machine_nor_the_plan() -> None:
    """No host, path, address or label is in what a detector reads."""
    text = "\n".join(_lines())
    assert not re.search(r"/home/|/root|/tmp|/work|site-packages|localhost|127\.0\.0\.1", text)
    assert not re.search(r'"host\.name"|"process\.', text)
    kinds = set().union(*FAULT_TYPES.values())
    assert not [kind for kind in kinds if kind in text]


def test_the_bundle_is_small() -> None:
    """The wheel stays light."""
    with samples.open_set() as bundled:
        assert bundled.traces.stat().st_size < MAX_BUNDLE_BYTES


def test_some_vectors_are_kept_and_most_are_hidden() -> None:
    """Both settings of the instrumentation are met."""
    vectors = [
        value
        for span in _spans()
        for key, value in _attributes(span).items()
        if key.endswith("embedding.vector")
    ]
    kept = [value for value in vectors if value != "__REDACTED__"]
    assert 0 < len(kept) < len(vectors)


def test_evidence_is_a_page_of_the_handbook() -> None:
    """Every run names the pages that hold its answer."""
    pages = samples.read_handbook()
    for run in _runs():
        assert run["reference"]["evidence_ids"]
        assert set(run["reference"]["evidence_ids"]) <= set(pages)


def test_a_set_elsewhere_is_opened_by_folder(tmp_path: Any) -> None:
    """What `make traces` writes for another seed has the same two files."""
    with samples.open_set(tmp_path) as other:
        assert other.traces == tmp_path / "handbook-runs.otlp.jsonl.gz"
        assert other.planted == tmp_path / "planted.json"

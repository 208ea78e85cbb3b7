"""What really happened in a run, read from its spans and the stub's log, to labels by the rules of the project.

The evidence decides, not the plan: a planted retriever fault that found the evidence all the same is none, and a
fault that arose by itself is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from catalogue import Document, holds

Labels = dict[str, dict[str, Any]]
OK: dict[str, Any] = {"faulty": False, "types": []}


@dataclass(frozen=True)
class Observed:
    """What the run's spans show; None where the stage left no span."""

    embedded: tuple[str, ...] | None
    retrieved: tuple[str, ...] | None
    reranked: tuple[str, ...] | None


def spans_by_trace(lines: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """OTLP/JSON lines to the spans of each trace; attributes become a plain mapping."""
    traces: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    attributes = {
                        entry["key"]: next(iter(entry["value"].values()), None)
                        for entry in span.get("attributes", ())
                    }
                    traces.setdefault(span["traceId"], []).append(
                        {**span, "attributes": attributes}
                    )
    return traces


def observe(spans: Sequence[dict[str, Any]], question: str) -> Observed:
    """The facts of the run that answers `question`; the trace may hold other runs under an HTTP span."""
    own = _own_spans(spans, question)
    kinds: dict[str, list[dict[str, Any]]] = {}
    for span in own:
        kinds.setdefault(span["attributes"].get("openinference.span.kind", ""), []).append(span)
    compressors = [span for span in own if span["name"] == "ContextualCompressionRetriever"]
    retrievers = [span for span in kinds.get("RETRIEVER", []) if span not in compressors]
    reranked: tuple[str, ...] | None = None
    if kinds.get("RERANKER"):
        reranked = _texts(kinds["RERANKER"], "reranker.output_documents")
    elif compressors:
        reranked = _texts(compressors, "retrieval.documents")
    texts = _texts(kinds.get("EMBEDDING", []), "embedding.embeddings")
    return Observed(
        embedded=texts if kinds.get("EMBEDDING") else None,
        retrieved=_texts(retrievers, "retrieval.documents") if retrievers else None,
        reranked=reranked,
    )


def label(
    plan: dict[str, Any],
    observed: Observed,
    log: Sequence[dict[str, Any]],
    handbook: Sequence[Document],
) -> Labels:
    """Labels of every stage that ran; a stage that left neither span nor call has none."""
    quotes = [need["quote"] for need in plan["needs"]]
    own = [entry for entry in log if entry["question"] == plan["question"]]
    labels: Labels = {}
    rewriters = [entry for entry in own if entry["role"] == "rewriter"]
    if rewriters:
        labels["rewriter"] = _planted(plan, "rewriter")
    if observed.embedded:
        labels["embedder"] = _embedder(plan, observed.embedded)
    retrieved = observed.retrieved or ()
    found = [quote for quote in quotes if _any_holds(retrieved, quote)]
    if observed.retrieved is not None:
        kind = "no_relevant_chunk" if retrieved else "empty_result"
        labels["retriever"] = OK if found else _faulty(kind)
    selected = retrieved if observed.reranked is None else observed.reranked
    kept = [quote for quote in found if _any_holds(selected, quote)]
    if observed.reranked is not None and retrieved:
        labels["reranker"] = OK if kept == found else _faulty("evidence_excluded")
    generators = [entry for entry in own if entry["role"] == "generator"]
    if generators:
        prompt = generators[-1]["prompt"]
        labels["assembly"] = _assembly(prompt, selected, kept, handbook)
        labels["generator"] = _generator(plan, generators[-1], quotes)
    return labels


def _planted(plan: dict[str, Any], stage: str) -> dict[str, Any]:
    kinds = [kind for planted, kind in plan["planted"] if planted == stage]
    return _faulty(*kinds) if kinds else OK


def _embedder(plan: dict[str, Any], embedded: Sequence[str]) -> dict[str, Any]:
    """Faulty when a text is neither the question nor one of its rewrites."""
    given = {plan["question"], *plan["rewrites"]}
    return OK if set(embedded) <= given else _faulty(plan["embedder"] or "altered_input")


def _assembly(
    prompt: str, selected: Sequence[str], kept: Sequence[str], handbook: Sequence[Document]
) -> dict[str, Any]:
    missing = [quote for quote in kept if not holds(prompt, quote)]
    if selected and not any(holds(prompt, _opening(text)) for text in selected):
        return _faulty("blank_context")
    if not missing:
        return OK
    homes = [page.text for page in handbook if any(holds(page.text, quote) for quote in missing)]
    cut = any(holds(prompt, _opening(text)) for text in homes)
    return _faulty("evidence_truncated" if cut else "evidence_dropped")


def _generator(
    plan: dict[str, Any], entry: dict[str, Any], quotes: Sequence[str]
) -> dict[str, Any]:
    """The answer against the evidence in the prompt: the plan names the fault, the prompt must confirm it."""
    present = [quote for quote in quotes if holds(entry["prompt"], quote)]
    complete = len(present) == len(quotes)
    did = entry["did"]
    if did in {"honest", "honest_partial", "honest_refusal"}:
        honest = {"honest": complete, "honest_partial": 0 < len(present) < len(quotes)}
        _confirm(entry, holds_true=honest.get(did, not present))
        return OK
    confirmed = {
        "wrong_refusal": complete,
        "should_abstain": not present,
        "misstated_number": complete and entry["text"] != plan["answer"],
        "unsupported_claim": complete and entry["text"].startswith(plan["answer"]),
        "incomplete": complete and entry["text"] != plan["answer"],
        "off_question": True,
        "output_truncated": entry["finish_reason"] == "length",
    }
    _confirm(entry, holds_true=confirmed[did])
    return _faulty(did)


def _confirm(entry: dict[str, Any], *, holds_true: bool) -> None:
    if not holds_true:
        message = f"the log contradicts the answer that was given: {entry}"
        raise ValueError(message)


def _own_spans(spans: Sequence[dict[str, Any]], question: str) -> list[dict[str, Any]]:
    tops = [span for span in spans if not span.get("parentSpanId")]
    if not any("http.request.method" in span["attributes"] for span in tops):
        return list(spans)
    top_ids = {span["spanId"] for span in tops}
    own = [
        span
        for span in spans
        if span.get("parentSpanId") in top_ids and span["attributes"].get("input.value") == question
    ]
    ids = {span["spanId"] for span in own}
    while True:
        more = [
            span for span in spans if span.get("parentSpanId") in ids and span["spanId"] not in ids
        ]
        if not more:
            return own
        own += more
        ids |= {span["spanId"] for span in more}


def _texts(spans: Iterable[dict[str, Any]], prefix: str) -> tuple[str, ...]:
    """Texts of all entries under `prefix`, without repetition."""
    pattern = re.compile(rf"{re.escape(prefix)}\.\d+\.(document\.content|embedding\.text)")
    texts = [
        str(value)
        for span in spans
        for key, value in span["attributes"].items()
        if pattern.fullmatch(key)
    ]
    return tuple(dict.fromkeys(texts))


def _any_holds(texts: Iterable[str], quote: str) -> bool:
    return any(holds(text, quote) for text in texts)


def _opening(text: str) -> str:
    return text[:25]


def _faulty(*kinds: str) -> dict[str, Any]:
    return {"faulty": True, "types": list(kinds)}

"""A captured run to OTLP JSON: a root and one span for each call, in OpenInference's vocabulary."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from otel_raglog_proxy_bridge.attributes import attribute_items, otlp_text
from otel_raglog_proxy_bridge.linking import same_vector
from otel_raglog_proxy_bridge.model import (
    Call,
    CallStage,
    Document,
    EmbedderReading,
    LlmReading,
    ReadCall,
    RerankerReading,
    RetrieverReading,
    Search,
    Vector,
)
from otel_raglog_proxy_bridge.openinference import (
    Attributes,
    documents_attributes,
    embedder_attributes,
    llm_attributes,
)
from otel_raglog_proxy_bridge.runs import CapturedRun
from otel_raglog_proxy_bridge.text_pieces import plain

SCOPE = "proxy-bridge.otel-raglog"
"""The instrumentation scope of the bridge's spans.

It does not begin with the service's own name: spans in scopes that do are never analysed.
"""

_CLIENT = 3
_SERVER = 2
_INTERNAL = 1
_ERROR = 2
_FIRST_ERROR_STATUS = 400
_LONGEST_NAME = 200
_LATEST_NS = 2**64 - 1
_KINDS = {
    CallStage.EMBEDDER: "EMBEDDING",
    CallStage.RETRIEVER: "RETRIEVER",
    CallStage.RERANKER: "RERANKER",
    CallStage.LLM: "LLM",
}


@dataclass(frozen=True, slots=True)
class CallSpan:
    """Which span speaks of which call: ids in hex, for those who ask what became of a call."""

    call_id: str
    span_id: str


@dataclass(frozen=True, slots=True)
class RunSpans:
    """A run as one element of ``resourceSpans``, and which span is which call."""

    trace_id: str
    resource_spans: Mapping[str, object]
    calls: tuple[CallSpan, ...]

    @property
    def span_count(self) -> int:
        """How many spans it has."""
        scopes = self.resource_spans["scopeSpans"]
        assert isinstance(scopes, list)  # noqa: S101
        return sum(len(scope["spans"]) for scope in scopes)


def run_to_spans(run: CapturedRun, service: str, version: str = "") -> RunSpans:
    """Return the spans of ``run``.

    Ids are hashes of the calls, so that the same capture gives the same trace; a trace that the
    calls' own headers agree on is gone on with. Embedders' vectors are not in spans; a vector
    search gets the text that the vector was made of, a reranker's documents the ids under which
    they were found.
    """
    seed = _seed(run)
    front = run.front
    trace_id = (front.trace_id if front else "") or run.trace_id or _hash(seed, "trace", 32)
    root_id = _hash(seed, "root", 16)
    writer = _Writer(run, trace_id, root_id, seed)
    spans = list(writer.spans())
    return RunSpans(
        trace_id,
        {
            "resource": {
                "attributes": attribute_items(
                    {
                        "service.name": service,
                        "telemetry.sdk.name": SCOPE,
                        "telemetry.sdk.language": "python",
                    }
                )
            },
            "scopeSpans": [
                {
                    "scope": {"name": SCOPE, **({"version": version} if version else {})},
                    "spans": spans,
                }
            ],
        },
        tuple(writer.told),
    )


class _Writer:
    """Writes one run's spans."""

    def __init__(self, run: CapturedRun, trace_id: str, root_id: str, seed: str) -> None:
        self.run = run
        self.trace_id = trace_id
        self.root_id = root_id
        self.seed = seed
        self.told: list[CallSpan] = []
        self.texts = list(_vector_texts(run.calls))
        self.ids = _document_ids(run.calls)

    def spans(self) -> Iterator[dict[str, object]]:
        """Yield the root, then the calls; a call that is alone and of no run is its own root."""
        if self.run.is_rag or len(self.run.calls) > 1:
            yield self._root()
            yield from self._children(self.root_id)
        else:
            yield from self._children("")

    def _root(self) -> dict[str, object]:
        run, front = self.run, self.run.front
        attributes: Attributes = {
            "openinference.span.kind": "CHAIN",
            "proxy_bridge.grouped_by": run.told_by,
            "raglog.run.finished": True,
        }
        calls = [read.call for read in run.calls]
        answer = front.answer if front else run.answer
        if answer:
            attributes |= {"output.value": answer, "output.mime_type": "text/plain"}
        if front is None:
            started = min(call.started_ns for call in calls)
            ended = max(call.ended_ns for call in calls)
            return self._span(
                "pipeline run", (self.root_id, ""), _INTERNAL, (started, ended), attributes
            )
        attributes |= {"input.value": front.question, "input.mime_type": "text/plain"}
        if front.session:
            attributes["session.id"] = front.session
        attributes |= _http(front.call.method, front.call.url, front.call.status)
        self.told.append(CallSpan(front.call.id, self.root_id))
        return self._span(
            f"{front.call.method} {_address_of(front.call.url)[1]}",
            (self.root_id, front.parent_id),
            _SERVER,
            (front.call.started_ns, front.call.ended_ns),
            attributes,
        ) | _status_of(front.call)

    def _children(self, parent_id: str) -> Iterator[dict[str, object]]:
        for place, read in enumerate(self.run.calls):
            call = read.call
            for part, (stage, content) in enumerate(self._parts(read)):
                span_id = _hash(self.seed, f"{place}.{part}", 16)
                self.told.append(CallSpan(call.id, span_id))
                model = content.get("llm.model_name") or content.get("embedding.model_name")
                yield self._span(
                    f"{stage.value} {model or read.decision.rule}",
                    (span_id, parent_id),
                    _CLIENT,
                    (call.started_ns, call.ended_ns),
                    {"openinference.span.kind": _KINDS[stage]}
                    | content
                    | _http(call.method, call.url, call.status)
                    | _decided(read),
                ) | _status_of(call)

    def _parts(self, read: ReadCall) -> Iterator[tuple[CallStage, Attributes]]:
        match read.reading:
            case EmbedderReading():
                yield CallStage.EMBEDDER, embedder_attributes(read.reading)
            case RetrieverReading():
                for search in read.reading.searches:
                    yield (
                        CallStage.RETRIEVER,
                        self._search(read.reading, search, ok=read.exchange.ok),
                    )
            case RerankerReading():
                yield CallStage.RERANKER, self._reranker(read.reading)
            case LlmReading():
                if read.reading.retrieved:
                    asked = next(
                        (m.content for m in reversed(read.reading.messages) if m.role == "user"),
                        None,
                    )
                    found = Search(asked, None, read.reading.retrieved)
                    yield CallStage.RETRIEVER, self._search(RetrieverReading(), found, ok=True)
                yield CallStage.LLM, llm_attributes(read.reading)

    def _search(self, reading: RetrieverReading, search: Search, *, ok: bool) -> Attributes:
        query = search.query or self._text_of(search.vector)
        attributes: Attributes = {}
        if query:
            attributes |= {"input.value": query, "input.mime_type": "text/plain"}
        details = {
            "top_k": reading.top_k,
            "filters": reading.filters,
            "collection": reading.collection,
        }
        known = {key: value for key, value in details.items() if value is not None}
        if known:
            attributes["metadata"] = json.dumps(known, ensure_ascii=False, default=str)
        attributes |= documents_attributes("retrieval.documents", search.documents)
        if ok and not search.documents:
            # An empty list has no indexed keys: that nothing was found stands in the output.
            attributes |= {
                "output.value": json.dumps({"documents": []}),
                "output.mime_type": "application/json",
            }
        return attributes

    def _text_of(self, vector: Vector | None) -> str | None:
        if vector is None:
            return None
        return next((text for text, made in self.texts if same_vector(vector, made)), None)

    def _reranker(self, reading: RerankerReading) -> Attributes:
        given = tuple(
            Document(
                document.id or self.ids.get(plain(document.text or "")),
                document.text,
                document.score,
                document.metadata,
            )
            for document in reading.documents
        )
        by_id = {document.id: document for document in given if document.id}
        chosen = []
        for result in reading.results:
            source = None
            if result.index is not None and 0 <= result.index < len(given):
                source = given[result.index]
            elif result.id is not None:
                source = by_id.get(result.id)
            chosen.append(
                Document(
                    (source.id if source else None) or result.id,
                    result.text or (source.text if source else None),
                    result.score,
                    source.metadata if source else {},
                )
            )
        attributes: Attributes = {}
        if reading.query is not None:
            attributes["reranker.query"] = reading.query
        if reading.model:
            attributes["reranker.model_name"] = reading.model
        if reading.top_n is not None:
            attributes["reranker.top_k"] = reading.top_n
        attributes |= documents_attributes("reranker.input_documents", given)
        return attributes | documents_attributes("reranker.output_documents", chosen)

    def _span(
        self,
        name: str,
        ids: tuple[str, str],
        kind: int,
        times_ns: tuple[int, int],
        attributes: Attributes,
    ) -> dict[str, object]:
        (span_id, parent_id), (started_ns, ended_ns) = ids, times_ns
        span: dict[str, object] = {
            "traceId": self.trace_id,
            "spanId": span_id,
            "name": otlp_text(name[:_LONGEST_NAME]),
            "kind": kind,
            "startTimeUnixNano": str(_time(started_ns)),
            "endTimeUnixNano": str(_time(max(started_ns, ended_ns))),
            "attributes": attribute_items(attributes),
        }
        if parent_id:
            span["parentSpanId"] = parent_id
        return span


def _http(method: str, url: str, status: int | None) -> Attributes:
    attributes: Attributes = {"http.request.method": method, "url.full": url}
    if status is not None:
        attributes["http.response.status_code"] = status
    host = _address_of(url)[0]
    return attributes | ({"server.address": host} if host else {})


def _address_of(url: str) -> tuple[str, str]:
    """Return host and path of a URL, both empty where it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.hostname or "", parts.path


def _time(nanoseconds: int) -> int:
    return min(max(nanoseconds, 0), _LATEST_NS)


def _decided(read: ReadCall) -> Attributes:
    decision = read.decision
    return {
        "proxy_bridge.stage": decision.stage.value,
        "proxy_bridge.decided_by": decision.by.value,
        "proxy_bridge.rule": decision.rule,
        "proxy_bridge.reason": decision.reason,
        "proxy_bridge.call_id": read.call.id,
    }


def _status_of(call: Call) -> dict[str, object]:
    error = call.error
    if not error and call.status is None:
        error = "no response"
    elif not error and call.status is not None and call.status >= _FIRST_ERROR_STATUS:
        error = f"HTTP status {call.status}"
    return {"status": {"code": _ERROR, "message": otlp_text(error)}} if error else {}


def _vector_texts(calls: Iterable[ReadCall]) -> Iterator[tuple[str, Vector]]:
    for read in calls:
        if isinstance(read.reading, EmbedderReading):
            yield from zip(read.reading.inputs, read.reading.vectors, strict=False)


def _document_ids(calls: Iterable[ReadCall]) -> Mapping[str, str]:
    """Return the ids of found documents by their text; a text found under two has none."""
    ids: dict[str, str] = {}
    for read in calls:
        if isinstance(read.reading, RetrieverReading):
            for search in read.reading.searches:
                for document in search.documents:
                    if document.text and document.id:
                        key = plain(document.text)
                        ids[key] = document.id if ids.get(key, document.id) == document.id else ""
    return {text: found for text, found in ids.items() if found}


def _seed(run: CapturedRun) -> str:
    calls = [run.front.call] if run.front else []
    calls += [read.call for read in run.calls]
    return "\n".join(f"{call.id} {call.started_ns} {call.url}" for call in calls)


def _hash(seed: str, what: str, length: int) -> str:
    return hashlib.sha256(f"{what}\n{seed}".encode("utf-8", "surrogatepass")).hexdigest()[:length]

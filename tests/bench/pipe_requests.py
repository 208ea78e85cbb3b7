"""A kind of traffic and a seed to OTLP trace requests of about 700 kB, for the benchmark of the pipe.

Text is English of the bundled handbook, ids and numbers are random: bodies compress about as well
as real traffic does (4 to 7 times with gzip), and each request has traces of its own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, Status

from otel_raglog import samples

KINDS = ("plain", "rag", "rag-vectors", "mixed")
SPANS_PER_REQUEST = {"plain": 96, "rag": 96, "rag-vectors": 60, "mixed": 96}
"""So many spans make about 700 kB: of 7.2 kB each, with vectors of 11.5 kB.

Of the ``mixed`` ones half pass at once and half wait.
"""

_SPAN_BYTES = 7_200
_VECTOR_NUMBERS = 1_536
_TRACE_ID_BYTES = 16
_START_NANO = 1_790_000_000_000_000_000
_TABLES = ("orders", "order_lines", "customers", "shipments", "invoices", "stock_levels", "refunds")
_PACKAGES = ("checkout", "billing", "catalog", "warehouse", "sessions", "search", "mailer")
_VERBS = ("load", "store", "merge", "resolve", "validate", "render", "enqueue", "publish", "flush")


@dataclass(frozen=True, slots=True)
class RequestMould:
    """A serialized request, its spans, and where its trace ids stand."""

    body: bytes
    spans: int
    places: tuple[tuple[int, ...], ...]

    def cast(self, source: random.Random) -> bytes:
        """Return the request with trace ids that were never there before."""
        body = bytearray(self.body)
        for places in self.places:
            trace_id = source.randbytes(_TRACE_ID_BYTES)
            for place in places:
                body[place : place + _TRACE_ID_BYTES] = trace_id
        return bytes(body)


def make_moulds(kind: str, seed: int, count: int) -> list[RequestMould]:
    """Return ``count`` different requests of a kind of :data:`KINDS`."""
    source = random.Random(f"{kind} {seed}")
    words = _handbook_words()
    return [_make_mould(kind, source, words) for _ in range(count)]


def _make_mould(kind: str, source: random.Random, words: list[str]) -> RequestMould:
    request = ExportTraceServiceRequest()
    scopes = _scopes(request, source)
    trace_ids, spans = [], 0
    while spans < SPANS_PER_REQUEST[kind]:
        trace_id = source.randbytes(_TRACE_ID_BYTES)
        trace_ids.append(trace_id)
        plain = kind == "plain" or (kind == "mixed" and spans < SPANS_PER_REQUEST[kind] // 2)
        made = list(
            _plain_trace(source, words)
            if plain
            else _rag_trace(source, words, vector=kind == "rag-vectors")
        )
        for span in made:
            span.trace_id = trace_id
            scopes[spans % len(scopes)].spans.append(span)
            spans += 1
    body = request.SerializeToString()
    places = tuple(
        tuple(found.start() for found in re.finditer(re.escape(trace_id), body))
        for trace_id in trace_ids
    )
    return RequestMould(body, spans, places)


def _scopes(request: ExportTraceServiceRequest, source: random.Random) -> list[ScopeSpans]:
    resource = request.resource_spans.add()
    resource.resource.attributes.extend(
        _attributes(
            {
                "service.name": "shop-backend",
                "service.version": "4.18.2",
                "service.instance.id": _hexadecimal(source, 16),
                "telemetry.sdk.language": "python",
                "telemetry.sdk.name": "opentelemetry",
                "telemetry.sdk.version": "1.45.2",
                "k8s.namespace.name": "shop",
                "k8s.pod.name": f"shop-backend-{_hexadecimal(source, 5)}",
                "host.name": f"node-{source.randrange(40)}",
                "deployment.environment.name": "production",
            }
        )
    )
    scopes = []
    for name in ("shop.instrumentation.a", "shop.instrumentation.b", "shop.instrumentation.c"):
        scope = resource.scope_spans.add()
        scope.scope.name, scope.scope.version = name, "0.66b2"
        scopes.append(scope)
    return scopes


def _plain_trace(source: random.Random, words: list[str]) -> Iterator[Span]:
    """Yield eight spans below a parent elsewhere: HTTP calls and database statements."""
    for number in range(8):
        span = _span(source, source.randbytes(8))
        if number % 2:
            _fill_http(span, source, words)
        else:
            _fill_database(span, source, words)
        yield span


def _span(source: random.Random, parent: bytes) -> Span:
    start = _START_NANO + source.randrange(10**12)
    return Span(
        span_id=source.randbytes(8),
        parent_span_id=parent,
        kind=Span.SPAN_KIND_CLIENT,
        start_time_unix_nano=start,
        end_time_unix_nano=start + source.randrange(10**9),
        flags=0x101,
        status=Status(code=Status.STATUS_CODE_UNSET),
    )


def _fill_http(span: Span, source: random.Random, words: list[str]) -> None:
    """A failed call: HTTP attributes and an exception with a long stack trace."""
    path = f"/v2/{source.choice(_TABLES)}/{source.randrange(10**6)}/{source.choice(_VERBS)}"
    span.name = f"POST {path.rsplit('/', 2)[0]}"
    span.attributes.extend(
        _attributes(
            {
                "http.request.method": "POST",
                "http.response.status_code": source.choice((200, 201, 404, 502, 503)),
                "http.request.body.size": source.randrange(20_000),
                "http.response.body.size": source.randrange(200_000),
                "url.full": f"http://shop-{source.choice(_PACKAGES)}:8080{path}?t={_uuid(source)}",
                "url.path": path,
                "server.address": f"shop-{source.choice(_PACKAGES)}",
                "server.port": 8080,
                "network.protocol.version": "1.1",
                "network.peer.address": f"10.0.{source.randrange(255)}.{source.randrange(255)}",
                "user_agent.original": "python-httpx2/2.16.2",
                "thread.id": source.randrange(10**14),
                "thread.name": f"worker-{source.randrange(32)}",
                "code.function.name": f"shop.{source.choice(_PACKAGES)}.{source.choice(_VERBS)}",
                "http.request.header.x-request-id": [_uuid(source)],
                "enduser.id": _hexadecimal(source, 12),
                "error.type": "shop.errors.UpstreamError",
            }
        )
    )
    event = span.events.add(name="exception", time_unix_nano=span.end_time_unix_nano)
    trace = ["Traceback (most recent call last):"]
    while sum(map(len, trace)) < _SPAN_BYTES - 1_200:
        trace.append(_frame(random.Random(source.randrange(400)), words))
    event.attributes.extend(
        _attributes(
            {
                "exception.type": "shop.errors.UpstreamError",
                "exception.message": _prose(source, words, 120),
                "exception.stacktrace": "\n".join(trace),
            }
        )
    )


def _frame(source: random.Random, words: list[str]) -> str:
    """Return one of the frames of the application: the same ones stand in many stack traces."""
    package, verb, table = map(source.choice, (_PACKAGES, _VERBS, _TABLES))
    return (
        f'  File "/app/shop/{package}/{verb}_{table}.py", line {source.randrange(20, 900)}, in {verb}\n'
        f"    return self._{source.choice(_VERBS)}({source.choice(words)}={source.choice(words)})"
    )


def _fill_database(span: Span, source: random.Random, words: list[str]) -> None:
    """A bulk statement with its values."""
    table = source.choice(_TABLES)
    span.name = f"INSERT {table}"
    rows: list[str] = []
    while sum(map(len, rows)) < _SPAN_BYTES - 780:
        rows.append(
            f"({source.randrange(10**8)}, '{_uuid(source)}', '{_prose(source, words, 40)}', "
            f"{source.randrange(10**5) / 100}, '2026-{source.randrange(1, 13):02}-11T08:15:00Z', NULL)"
        )
    statement = (
        f"INSERT INTO {table} (id, reference, note, amount, created_at, deleted_at) VALUES "
        + ", ".join(rows)
    )
    span.attributes.extend(
        _attributes(
            {
                "db.system.name": "postgresql",
                "db.namespace": "shop",
                "db.collection.name": table,
                "db.operation.name": "INSERT",
                "db.query.text": statement,
                "db.query.summary": f"INSERT {table}",
                "db.operation.batch.size": len(rows),
                "db.response.returned_rows": 0,
                "server.address": f"pg-{source.randrange(4)}.internal",
                "server.port": 5432,
                "network.peer.address": f"10.1.{source.randrange(255)}.{source.randrange(255)}",
                "network.peer.port": 5432,
                "thread.id": source.randrange(10**14),
                "thread.name": f"worker-{source.randrange(32)}",
                "db.client.connection.pool.name": "main",
                "code.function.name": f"shop.{source.choice(_PACKAGES)}.{source.choice(_VERBS)}",
            }
        )
    )


def _rag_trace(source: random.Random, words: list[str], *, vector: bool) -> Iterator[Span]:
    """Yield the four spans of a question answered, OpenInference, in order of end."""
    question = _prose(source, words, 90) + "?"
    chunks = [_prose(source, words, 1_010) for _ in range(8)]
    answer = _prose(source, words, 500)
    root, retriever = _span(source, b""), _span(source, b"")
    retriever.parent_span_id = root.span_id
    embedder, llm = _span(source, retriever.span_id), _span(source, root.span_id)
    root.name, retriever.name, embedder.name, llm.name = "ask", "search", "embed", "chat"
    embedding: dict[str, object] = {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "text-embedding-3-small",
        "embedding.embeddings.0.embedding.text": question,
        "input.value": question,
    }
    if vector:
        key = "embedding.embeddings.0.embedding.vector"
        embedding[key] = [source.gauss(0, 0.03) for _ in range(_VECTOR_NUMBERS)]
    documents: dict[str, object] = {}
    for index, text in enumerate(chunks):
        prefix = f"retrieval.documents.{index}.document"
        documents[f"{prefix}.id"] = _uuid(source)
        documents[f"{prefix}.content"] = text
        documents[f"{prefix}.score"] = source.random()
        documents[f"{prefix}.metadata"] = f'{{"source": "handbook-{source.randrange(90)}.md"}}'
    prompt = "Answer from the context.\n\n" + "\n\n".join(chunks)
    contents: list[tuple[Span, dict[str, object]]] = [
        (embedder, embedding),
        (retriever, {"openinference.span.kind": "RETRIEVER", "input.value": question, **documents}),
        (llm, _generation(prompt, question, answer)),
        (root, _chain(question, answer, chunks)),
    ]
    began, second = _START_NANO + source.randrange(10**12), 10**9
    root.start_time_unix_nano, root.end_time_unix_nano = began, began + 9 * second
    retriever.start_time_unix_nano, retriever.end_time_unix_nano = (
        began + second,
        began + 4 * second,
    )
    embedder.start_time_unix_nano = began + 2 * second
    embedder.end_time_unix_nano = began + 3 * second
    llm.start_time_unix_nano, llm.end_time_unix_nano = began + 5 * second, began + 8 * second
    for span, attributes in contents:
        span.attributes.extend(_attributes(attributes))
        yield span


def _generation(prompt: str, question: str, answer: str) -> dict[str, object]:
    return {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gpt-4o-mini",
        "llm.system": "openai",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": prompt,
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": question,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": answer,
        "llm.finish_reason": "stop",
        "llm.token_count.prompt": len(prompt) // 4,
        "llm.token_count.completion": len(answer) // 4,
        "llm.invocation_parameters": '{"temperature": 0}',
    }


def _chain(question: str, answer: str, chunks: list[str]) -> dict[str, object]:
    return {
        "openinference.span.kind": "CHAIN",
        "input.value": question,
        "output.value": answer + "\n\n" + "\n\n".join(chunks),
        "session.id": "s1",
    }


def _attributes(values: dict[str, object]) -> Iterator[KeyValue]:
    for key, value in values.items():
        yield KeyValue(key=key, value=_any_value(value))


def _any_value(value: object) -> AnyValue:
    if isinstance(value, list):
        return AnyValue(array_value=ArrayValue(values=[_any_value(item) for item in value]))
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    return AnyValue(string_value=str(value))


def _handbook_words() -> list[str]:
    folder = files(samples) / samples.HANDBOOK
    pages = sorted(
        (page for page in folder.iterdir() if page.name.endswith(".md")), key=lambda p: p.name
    )
    return " ".join(page.read_text(encoding="utf-8") for page in pages).split()


def _prose(source: random.Random, words: list[str], length: int) -> str:
    """Return about ``length`` characters of sentences out of the handbook, cut at random."""
    text = ""
    while len(text) < length:
        start = source.randrange(len(words) - 20)
        text += " ".join(words[start : start + source.randrange(5, 20)]) + " "
    return text[:length].rstrip().replace("'", "")


def _hexadecimal(source: random.Random, digits: int) -> str:
    return f"{source.getrandbits(4 * digits):0{digits}x}"


def _uuid(source: random.Random) -> str:
    text = _hexadecimal(source, 32)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

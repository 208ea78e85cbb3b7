"""What a mapping's expressions found to the stage's reading, or to what is missing for one."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog_proxy_bridge.formats.chat_parts import content_of, role_of
from otel_raglog_proxy_bridge.formats.fields import (
    as_json,
    at,
    count,
    items,
    mapping,
    name,
    number,
    text,
    texts,
    vector,
)
from otel_raglog_proxy_bridge.model import (
    CallStage,
    ChatMessage,
    Document,
    EmbedderReading,
    LlmReading,
    Ranked,
    Reading,
    RerankerReading,
    RetrieverReading,
    Search,
    ToolCall,
    Vector,
)

Found = Mapping[str, object]
"""What each expression of a mapping found, by the field's name."""

FIELDS: Mapping[CallStage, tuple[str, ...]] = {
    CallStage.EMBEDDER: ("inputs", "vectors", "model", "tokens", "purpose"),
    CallStage.RETRIEVER: ("query", "vector", "documents", "top_k", "filters", "collection"),
    CallStage.RERANKER: ("query", "documents", "results", "model", "top_n"),
    CallStage.LLM: (
        "system", "messages", "answer", "tool_calls", "finish_reason", "model", "prompt_tokens",
        "completion_tokens", "parameters", "documents", "retrieved",
    ),
    CallStage.IRRELEVANT: (),
}  # fmt: skip
"""The fields that have an expression, by stage; those of the stage's reading."""

REQUIRED: Mapping[CallStage, tuple[tuple[str, ...], ...]] = {
    CallStage.EMBEDDER: (("inputs",),),
    CallStage.RETRIEVER: (("query", "vector"), ("documents",)),
    CallStage.RERANKER: (("query",), ("documents",), ("results",)),
    CallStage.LLM: (("messages",), ("answer",)),
    CallStage.IRRELEVANT: (),
}
"""Of each group one field must have an expression."""


def reading_of(stage: CallStage, found: Found) -> Reading:
    """Return the reading; ``None`` or nothing for what is not there, whatever was found.

    Raises:
        ValueError: the stage is ``irrelevant``, of which nothing is read.
    """
    if stage is CallStage.EMBEDDER:
        return EmbedderReading(
            model=_text(found, "model"),
            inputs=texts(found, "inputs"),
            vectors=_vectors(at(found, "vectors")),
            tokens=_count(found, "tokens"),
            purpose=_text(found, "purpose"),
        )
    if stage is CallStage.RETRIEVER:
        return RetrieverReading(
            searches=_searches(found),
            top_k=_count(found, "top_k"),
            filters=at(found, "filters"),
            collection=name(found, "collection"),
        )
    if stage is CallStage.RERANKER:
        return RerankerReading(
            model=_text(found, "model"),
            query=_text(found, "query"),
            documents=documents_of(at(found, "documents")),
            results=tuple(_ranked(at(found, "results"))),
            top_n=_count(found, "top_n"),
        )
    if stage is CallStage.LLM:
        return _llm(found)
    raise ValueError("nothing is read of an irrelevant call")


def lacks(stage: CallStage, reading: Reading, found: Found) -> str | None:
    """Return which part of a finished call's reading is missing, in words without its content."""
    if isinstance(reading, EmbedderReading):
        return _lacks_embedding(reading, found)
    if isinstance(reading, RetrieverReading):
        if not any(search.query or search.vector for search in reading.searches):
            return "query and vector found neither a text nor a list of numbers"
        documents = [each for search in reading.searches for each in search.documents]
        told = any(each.text or each.id for each in documents)
        return None if told else "documents found no list of objects with a text or an id"
    if isinstance(reading, RerankerReading):
        return _lacks_ranking(reading)
    if not reading.messages:
        return "messages found neither a text nor a list of messages"
    said = reading.answer or reading.tool_calls
    return None if said else f"answer found no text ({stage.value})"


def asks(stage: CallStage, found: Found) -> bool:
    """Tell whether a request asks for what the stage does, whatever came of it."""
    if stage is CallStage.EMBEDDER:
        return any(texts(found, "inputs"))
    if stage is CallStage.RETRIEVER:
        return any(search.query or search.vector for search in _searches(found))
    if stage is CallStage.RERANKER:
        return bool(_text(found, "query") and documents_of(at(found, "documents")))
    return bool(_messages(at(found, "messages")))


def answers(stage: CallStage, found: Found) -> bool:
    """Tell whether an answer has the place for what the stage gives, which may be empty."""
    wanted = {CallStage.RETRIEVER: "documents", CallStage.RERANKER: "results"}.get(stage)
    return wanted is None or isinstance(at(found, wanted), list | Mapping)


def documents_of(data: object) -> tuple[Document, ...]:
    """Return documents from texts, from objects, or from an object of columns of equal length."""
    if isinstance(data, Mapping):
        data = _rows(data)
    return tuple(_document(item) for item in items(data) if isinstance(item, str | Mapping))


def _document(item: object) -> Document:
    if isinstance(item, str):
        return Document(text=item)
    return Document(name(item, "id"), text(item, "text"), number(item, "score"),
                    mapping(item, "metadata"))  # fmt: skip


def _rows(columns: Mapping[str, object]) -> list[object]:
    """Return the rows of parallel lists; an object without lists is one row."""
    lists = {key: value for key, value in columns.items() if isinstance(value, list)}
    if not lists:
        return [columns] if any(value is not None for value in columns.values()) else []
    length = max(map(len, lists.values()))
    return [{key: at(value, index) for key, value in lists.items()} for index in range(length)]


def _searches(found: Found) -> tuple[Search, ...]:
    queries, several = at(found, "query"), at(found, "documents")
    batches = [item for item in items(several) if isinstance(item, list)]
    if batches and len(batches) == len(items(several)):
        vectors = _vectors(at(found, "vector"))
        asked = texts(queries)
        return tuple(
            Search(
                asked[place] if place < len(asked) else None,
                vectors[place] if place < len(vectors) else None,
                documents_of(batch),
            )
            for place, batch in enumerate(batches)
        )
    query = texts(queries)
    vectors = _vectors(at(found, "vector"))
    if not query and not vectors and several is None:
        return ()
    return (
        Search(query[0] if query else None, vectors[0] if vectors else None, documents_of(several)),
    )


def _vectors(data: object) -> tuple[Vector, ...]:
    """Return one vector, or each of a list of them; nothing if one of the list is none."""
    one = vector(data)
    if one is not None:
        return (one,)
    several = [vector(item) for item in items(data)]
    kept = tuple(item for item in several if item is not None)
    return kept if len(kept) == len(several) else ()


def _ranked(data: object) -> list[Ranked]:
    if isinstance(data, Mapping):
        data = _rows(data)
    scores = [(number(item), place) for place, item in enumerate(items(data))]
    if scores and all(score is not None for score, _ in scores):
        best_first = sorted(scores, key=lambda pair: (-(pair[0] or 0.0), pair[1]))
        return [Ranked(index=place, score=score) for score, place in best_first]
    return [
        Ranked(count(item, "index"), name(item, "id"), number(item, "score"), text(item, "text"))
        for item in items(data)
        if isinstance(item, Mapping)
    ]


def _llm(found: Found) -> LlmReading:
    system = _joined(at(found, "system"))
    messages = _messages(at(found, "messages"))
    return LlmReading(
        model=_text(found, "model"),
        messages=((ChatMessage("system", system),) if system else ()) + messages,
        answer=_joined(at(found, "answer")),
        tool_calls=tuple(
            ToolCall(text(item, "name") or "", as_json(at(item, "arguments") or ""))
            for item in items(found, "tool_calls")
            if isinstance(item, Mapping)
        ),
        finish_reason=_text(found, "finish_reason"),
        prompt_tokens=_count(found, "prompt_tokens"),
        completion_tokens=_count(found, "completion_tokens"),
        parameters=mapping(found, "parameters"),
        documents=documents_of(at(found, "documents")),
        retrieved=documents_of(at(found, "retrieved")),
    )


def _messages(data: object) -> tuple[ChatMessage, ...]:
    if isinstance(data, str):
        return (ChatMessage("user", data),) if data else ()
    return tuple(
        ChatMessage("user", item)
        if isinstance(item, str)
        else ChatMessage(role_of(item, "role"), _content(item))
        for item in items(data)
        if isinstance(item, str | Mapping)
    )


def _content(message: object) -> str:
    for key in ("content", "text", "message", "parts"):
        found = content_of(at(message, key))
        if found:
            return found
    return ""


def _joined(data: object) -> str | None:
    """Return a text; of the pieces of a stream, or of content parts, all of it."""
    if isinstance(data, str):
        return data
    if isinstance(data, list):
        pieces = [item if isinstance(item, str) else _joined(item) or "" for item in data]
        return "".join(pieces) or None
    return text(data, "text")


def _text(found: Found, key: str) -> str | None:
    """Return a text; of a stream's the last."""
    return next(iter(reversed(texts(found, key))), None)


def _count(found: Found, key: str) -> int | None:
    """Return a whole number, also one that is written as text; of a stream's the last."""
    value = at(found, key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:  # noqa: PLR2004
        return int(value)
    if isinstance(value, list):
        counts = [each for item in value if (each := count(item)) is not None]
        return counts[-1] if counts else None
    return count(value)


def _lacks_embedding(reading: EmbedderReading, found: Found) -> str | None:
    if not any(reading.inputs):
        return "inputs found neither a text nor a list of texts"
    if "vectors" in found and len(reading.vectors) != len(reading.inputs):
        return f"vectors found {len(reading.vectors)} vectors for {len(reading.inputs)} inputs"
    return None


def _lacks_ranking(reading: RerankerReading) -> str | None:
    if not reading.query:
        return "query found no text"
    if not any(each.text or each.id for each in reading.documents):
        return "documents found no list of texts, or of objects with a text"
    if not reading.results:
        return "results found neither a list of scores nor of objects with index, id or text"
    ids = {each.id for each in reading.documents}
    known = {each.text for each in reading.documents}
    for result in reading.results:
        placed = result.index is not None and result.index < len(reading.documents)
        if not (placed or (result.id and result.id in ids) or (result.text in known - {None})):
            return "results name documents that are not among documents"
    return None

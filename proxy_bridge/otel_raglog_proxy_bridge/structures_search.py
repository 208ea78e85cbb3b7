"""The shape of retrievers: a query or a vector in, a list of passages or of scored ids out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.fields import number
from otel_raglog_proxy_bridge.housekeeping import asks_by_path
from otel_raglog_proxy_bridge.model import CallStage, Exchange
from otel_raglog_proxy_bridge.shapes import (
    Column,
    Spot,
    are_ids,
    are_numbers,
    columns,
    is_text,
    normal,
    objects_in,
    spots,
    texts_in,
    usual_words,
    words_in,
)
from otel_raglog_proxy_bridge.structures import (
    Asked,
    Structure,
    has_messages,
    queries,
    result_count,
    samples,
    vectors,
)
from otel_raglog_proxy_bridge.structures_vectors import holds_documents

_PASSAGES = frozenset(
    {"text", "content", "contents", "chunk", "chunktext", "passage", "pagecontent", "document",
     "documenttext", "snippet", "snippets", "paragraph", "excerpt", "rawcontent", "chunkcontent"}
)  # fmt: skip
_DESCRIPTIONS = frozenset({"description", "summary", "abstract", "body", "highlight", "answer"})
"""Passages of web pages and articles, and just as well fields of records."""
_SCORES = frozenset({"score", "distance", "similarity", "relevance", "certainty", "rankscore"})
_IDS = ("id", "docid", "documentid", "chunkid", "uuid", "key", "pk", "url", "uri", "link")
_PEOPLE = frozenset(
    {"email", "phone", "phonenumber", "username", "firstname", "lastname", "birthdate", "password",
     "login"}
)  # fmt: skip
_PEOPLE_PATHS = frozenset(
    {"users", "user", "people", "contacts", "customers", "members", "accounts", "employees"}
)
_LISTS = frozenset(
    {"results", "hits", "matches", "documents", "docs", "chunks", "passages", "data", "nodes",
     "contexts", "result", "points", "records", "neighbors", "items", "sources", "texts"}
)  # fmt: skip
_ANSWERS = frozenset({"answer", "completion", "generatedtext", "reply", "outputtext"})
_FEW_WORDS, _SOME_WORDS, _MANY_WORDS = 4, 8, 12


@dataclass(frozen=True, slots=True)
class _List:
    """A list of an answer that may be hits: what its items have."""

    place: str
    size: int
    text: Column | None
    score: Column | None
    id: Column | None
    described: bool
    """Whether the text is under a name that fields of records have, too."""

    @property
    def scored_apart(self) -> bool:
        """Whether there are scores that tell hits apart: code hosts give all records the same."""
        values = self.score.values if self.score else ()
        return len(set(map(str, values))) > 1 or (len(values) == 1 and values[0] != 1)

    @property
    def expression(self) -> str:
        """The documents."""
        named = (("id", self.id), ("text", self.text), ("score", self.score))
        fields = ", ".join(f"{name}: {each.expression}" for name, each in named if each)
        return f"{self.place}[].{{{fields}}}"

    @property
    def words(self) -> str:
        """What the list is."""
        what = "passages" if self.text else "ids"
        return f"{self.size} {what}{' with scores' if self.score else ''} ({self.place})"


@dataclass(frozen=True, slots=True)
class _Request:
    """What a request asks with, as far as it asks for something to be found."""

    query: Asked | None
    vector: Asked | None
    top_k: str | None

    @property
    def strong(self) -> bool:
        """Whether it is a query by its name, or a vector."""
        return self.vector is not None or (self.query is not None and self.query.strong)

    @property
    def expressions(self) -> dict[str, str]:
        """Where query, vector and number of results are."""
        found = {
            "query": self.query.expression if self.query else None,
            "vector": self.vector.expression if self.vector else None,
            "top_k": self.top_k,
        }
        return {key: value for key, value in found.items() if value}

    @property
    def words(self) -> str:
        """What it asks with."""
        asked = [each.expression for each in (self.query, self.vector) if each]
        return f"{'a vector' if self.vector else 'a query'} in ({', '.join(asked)})"


def tell_retriever(exchange: Exchange) -> Structure | None:
    """Tell a retriever; an answer that a model wrote beside the hits leaves it untold."""
    if not exchange.ok or exchange.events or has_messages(exchange) or _answers(exchange.response):
        return None
    asked = _asked(exchange)
    if (asked.query is None and asked.vector is None) or holds_documents(exchange):
        return None
    documents = (
        _best_list(exchange, asked)
        or _parallel_lists(exchange, asked)
        or _plain_texts(exchange, asked)
    )
    if documents is not None:
        return _found(asked, *documents)
    empty = _empty_list(exchange, asked)
    if empty is None:
        return None
    return _found(asked, empty, f"an empty list of hits ({empty})", complete=False)


def _asked(exchange: Exchange) -> _Request:
    vector = next(vectors(exchange), None)
    texts = list(queries(exchange))
    strong = next((each for each in texts if each.strong), None)
    weak = next(iter(texts), None) if not samples(exchange) else None
    return _Request(strong or weak, vector, result_count(exchange))


def _found(asked: _Request, documents: str, out: str, *, complete: bool = True) -> Structure:
    return Structure(
        CallStage.RETRIEVER,
        "structure.retriever",
        f"{asked.words}, {out} out",
        {**asked.expressions, "documents": documents},
        complete,
    )


def _answers(response: object) -> bool:
    """Tell whether an answer holds a text that answers, beside whatever list."""
    return any(
        normal(str(key)) in _ANSWERS and is_text(value)
        for key, value in (response.items() if isinstance(response, Mapping) else ())
    )


def _best_list(exchange: Exchange, asked: _Request) -> tuple[str, str] | None:
    for spot in spots(exchange.response, depth=4, into_lists=True):
        objects = objects_in(spot.value)
        found = _list_of(spot, objects, asked) if objects and not _are_people(objects) else None
        if found is not None and _are_hits(found, asked) and not _is_echo(found, asked):
            return found.expression, found.words
    return None


def _are_people(objects: Sequence[Mapping[str, object]]) -> bool:
    return any(column.key in _PEOPLE for column in columns(objects, 2))


def _list_of(spot: Spot, objects: Sequence[Mapping[str, object]], asked: _Request) -> _List:
    found = list(columns(objects))
    score = next(
        (
            each
            for each in found
            if (each.key in _SCORES or each.key.endswith(("score", "distance")))
            and are_numbers(each.values)
        ),
        None,
    )
    ids = [each for each in found if each.key in _IDS and are_ids(each.values)]
    text = _text_of(found, scored=score is not None or asked.vector is not None)
    return _List(
        place=spot.below("response"),
        size=len(objects),
        text=text,
        score=score,
        id=min(ids, key=lambda each: (_IDS.index(each.key), len(each.keys)), default=None),
        described=text is not None and text.key not in _PASSAGES,
    )


def _text_of(found: Sequence[Column], *, scored: bool) -> Column | None:
    """Return the column of passages: by its name, or else, of scored objects, by its many words."""
    limits = [(_PASSAGES, _FEW_WORDS), (_DESCRIPTIONS, _SOME_WORDS)]
    for names, fewest in limits:
        for column in found:
            if column.key in names and usual_words(column.values) >= fewest:
                return column
    if not scored:
        return None
    longest = max(found, key=lambda column: usual_words(column.values), default=None)
    return longest if longest and usual_words(longest.values) >= _MANY_WORDS else None


def _are_hits(found: _List, asked: _Request) -> bool:
    if found.text is None:
        counted = asked.vector is not None or (asked.strong and asked.top_k is not None)
        return counted and found.id is not None and found.score is not None
    if not asked.strong:
        return found.score is not None and not found.described
    if found.described:
        return found.scored_apart or asked.vector is not None
    return found.score is not None or found.id is not None or found.size > 1


def _is_echo(found: _List, asked: _Request) -> bool:
    """Tell whether the texts are parts of what was asked: an analysis of it, no hits."""
    query = asked.query.value if asked.query else None
    if found.text is None or not isinstance(query, str):
        return False
    told = [text for text in found.text.values if isinstance(text, str)]
    return bool(told) and all(text in query for text in told)


def _parallel_lists(exchange: Exchange, asked: _Request) -> tuple[str, str] | None:
    """Return lists side by side, as column stores answer: ids, texts and scores of one length."""
    if not asked.strong:
        return None
    for spot in spots(exchange.response, depth=3, into_lists=True):
        lists = [
            Column(keys, value)
            for key, held in (spot.value.items() if isinstance(spot.value, Mapping) else ())
            for keys, value in _inner(key, held)
        ]
        text = next((each for each in lists if _are_passages(each)), None)
        if text is None:
            continue
        beside = [each for each in lists if len(each.values) == len(text.values)]
        score = next((each for each in beside if _is_score(each)), None)
        ids = next(
            (each for each in beside if _name(each).rstrip("s") in _IDS and are_ids(each.values)),
            None,
        )
        if score is None and ids is None:
            continue
        place = spot.below("response")
        named = (("id", ids), ("text", text), ("score", score))
        fields = ", ".join(f"{name}: {each.expression}" for name, each in named if each)
        return f"{place}.{{{fields}}}", f"{len(text.values)} passages in columns ({place})"
    return None


def _inner(key: str, held: object) -> Iterator[tuple[tuple[str | int, ...], list[object]]]:
    """Yield a list, or the only list within it, as batches of one query have it."""
    if isinstance(held, list) and held:
        if len(held) == 1 and isinstance(held[0], list):
            yield (key, 0), held[0]
        else:
            yield (key,), held


def _name(column: Column) -> str:
    return normal(str(column.keys[0]))


def _are_passages(column: Column) -> bool:
    texts = texts_in(list(column.values))
    return (
        bool(texts)
        and _name(column).rstrip("s") in {name.rstrip("s") for name in _PASSAGES}
        and usual_words(texts) >= _FEW_WORDS
    )


def _is_score(column: Column) -> bool:
    return _name(column).rstrip("s") in _SCORES and all(
        number(value) is not None for value in column.values
    )


def _plain_texts(exchange: Exchange, asked: _Request) -> tuple[str, str] | None:
    """Return a list of nothing but passages, where a number of results was asked for."""
    if not asked.strong or (asked.top_k is None and asked.vector is None):
        return None
    for spot in spots(exchange.response, depth=3):
        texts = texts_in(spot.value) if isinstance(spot.value, list) else ()
        named = spot.key in _LISTS or not spot.keys
        if named and texts and usual_words(texts) >= _SOME_WORDS:
            place = spot.below("response")
            return place, f"{len(texts)} passages ({place})"
    return None


def _empty_list(exchange: Exchange, asked: _Request) -> str | None:
    """Return the empty list of hits of a call that surely searched."""
    if not asked.strong or (asked.vector is None and not asks_by_path(exchange)):
        return None
    if asked.top_k is None or any(part.lower() in _PEOPLE_PATHS for part in exchange.segments):
        return None
    if asked.vector is None and not _is_sentence(asked.query):
        return None
    for spot in spots(exchange.response, depth=3):
        if spot.value == [] and (spot.key in _LISTS or not spot.keys):
            return spot.below("response")
    return None


def _is_sentence(query: Asked | None) -> bool:
    return query is not None and isinstance(query.value, str) and words_in(query.value) > 1

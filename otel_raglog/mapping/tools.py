"""What tools were given and gave back to whether they search, and caches to what they answer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from otel_raglog.conventions.json_text import parse_json_or_literal, strings_in
from otel_raglog.conventions.queries import searches_in
from otel_raglog.mapping.context import has_passage, shows_any
from otel_raglog.mapping.names import NamePattern
from otel_raglog.mapping.question import answer_in
from otel_raglog.mapping.statements import is_statement
from otel_raglog.mapping.texts import folded, holds
from otel_raglog.mapping.tree import Node, Tree
from otel_raglog.model import Chunk, Field, FieldStatus, Role, SpanFacts

CACHE_NAME = NamePattern(r"cache")
_ANSWER_CACHE_NAME = NamePattern(r"semantic|answer|response|prompt|llm|gpt|(?<![a-z])qa(?![a-z])")
_NOTHING = re.compile(
    r"\W*(?:none|null|nil|miss(?:ed)?|cache.miss|false|undefined)?\W*", re.IGNORECASE
)
_FEWEST_WORDS = 2
_FEWEST_WORDS_OF_ANY_ARGUMENT = 3
_MOST_WORDS = 80
"""Words of a search; a longer text is one to work on."""

_FEWEST_UNSPACED = 4
_LONG = 20
"""Words from which a result that is told to an LLM is a passage, whatever its words are."""

_COMPARED_CALLS = 3
_WORKED_ON = NamePattern(r"text|content|message|body|document|sentence|code|expression|note")
"""Names of arguments that a tool translates, sends or files, and does not search for."""

_WORD = re.compile(r"[^\W\d_]{4,}")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


class Prompts:
    """Tells whether the LLM calls after a span were shown what it found."""

    def __init__(self, tree: Tree, roles: Mapping[int, Role]) -> None:
        nodes = [tree.nodes[index] for index, role in roles.items() if role is Role.LLM]
        self._calls = sorted(nodes, key=lambda node: (node.span.start_unix_nano, node.index))
        self._starts = [node.span.start_unix_nano for node in self._calls]

    def show(self, node: Node, chunks: Sequence[Chunk]) -> bool:
        """Tell whether one of the next calls was shown one of ``chunks``."""
        prompts = (
            "\n\n".join(message.content for message in facts.messages.value or ())
            for facts in self._next(node)
        )
        return any(shows_any(prompt, chunks) for prompt in prompts)

    def hidden_after(self, node: Node) -> bool:
        """Tell whether it cannot be read what one of the next calls was shown."""
        return any(not facts.messages.usable for facts in self._next(node))

    def _next(self, node: Node) -> list[SpanFacts]:
        first = bisect_left(self._starts, node.span.end_unix_nano)
        calls = self._calls[first : first + _COMPARED_CALLS]
        return [call.facts for call in calls if call.facts is not None]


def finds_passages(node: Node, prompts: Prompts, *, embeds: bool) -> bool:
    """Tell whether a tool of any name searches: a query in words, and passages for an LLM.

    Several passages that an embedding was made for need no LLM that reads them. A short result must
    share a word with the query: what acts (sends, files, translates) says what it did. Values
    are no passages. The rows that a statement of a query language found are told to an LLM.
    """
    facts = node.facts
    query = _asked(facts) if facts is not None else None
    if facts is None or query is None:
        return False
    chunks = [chunk for chunk in facts.documents.value or () if chunk.text]
    if is_statement(query):
        return prompts.show(node, chunks)
    passages = [chunk for chunk in chunks if has_passage(chunk.text)]
    if not passages or any(holds(query, chunk.text) for chunk in passages):
        return False
    if embeds and len(chunks) > 1:
        return True
    known = [chunk for chunk in passages if _is_long(chunk.text) or _share(query, chunk.text)]
    return bool(known) and prompts.show(node, known)


def is_cache(node: Node, name: str, prompts: Prompts) -> bool:
    """Tell whether a span is a cache of answers: nothing that it gave is told to an LLM."""
    facts = node.facts
    if facts is None or not CACHE_NAME.search(name):
        return False
    if len(facts.documents.value or ()) > 1 or not facts.output.usable:
        return False
    text = cached_text(facts)
    if not text:
        return True
    return not prompts.hidden_after(node) and not prompts.show(node, (Chunk(text),))


def is_answer_cache(name: str) -> bool:
    """Tell whether a name says that answers are cached, and not anything else."""
    return bool(CACHE_NAME.search(name) and _ANSWER_CACHE_NAME.search(name))


def cached_text(facts: SpanFacts) -> str:
    """Return the answer that a cache gave back, empty when it had none."""
    text = facts.output.value or ""
    data = facts.output_data
    if data is None:
        data = parse_json_or_literal(text)
    if data is not None:
        text = answer_in(data) or ""
    return "" if _NOTHING.fullmatch(text) else text


def cached_answer(facts: SpanFacts) -> Field[str]:
    """Return what a cache gave back as an answer."""
    text = cached_text(facts)
    status = FieldStatus.PRESENT if text else FieldStatus.EMPTY
    return Field(text, status, facts.output.source)


def _asked(facts: SpanFacts) -> str | None:
    """Return the query in a tool's arguments: under the name of one, or the only text there."""
    text = facts.input.value
    if text is None:
        return None
    data = facts.input_data
    if data is None:
        data = parse_json_or_literal(text)
    if data is None:
        return text if _is_query(text, _FEWEST_WORDS) else None
    named = next((text for text in searches_in(data) if _is_query(text, _FEWEST_WORDS)), None)
    if named is not None:
        return named
    if isinstance(data, Mapping) and any(_WORKED_ON.search(str(key)) for key in data):
        return None
    texts = list(strings_in(data, 3))
    only = texts[0] if len(texts) == 1 else ""
    return only if _is_query(only, _FEWEST_WORDS_OF_ANY_ARGUMENT) else None


def _is_query(text: str, fewest: int) -> bool:
    unspaced = len(_UNSPACED.findall(text)) >= _FEWEST_UNSPACED
    return (fewest <= len(text.split()) or unspaced) and len(text.split()) <= _MOST_WORDS


def _is_long(text: str) -> bool:
    return len(text.split()) >= _LONG or len(_UNSPACED.findall(text)) >= 2 * _LONG


def _share(query: str, text: str) -> bool:
    return not _parts(query).isdisjoint(_parts(text))


def _parts(text: str) -> set[str]:
    """Return the longer words of a text, and the pairs of letters of scripts without spaces."""
    plain = folded(text)
    pairs = {plain[i : i + 2] for i in range(len(plain) - 1) if _UNSPACED.match(plain[i])}
    return {word for word in _WORD.findall(plain) if not _UNSPACED.search(word)} | pairs

"""Texts to whether they say the same, and LLM outputs to the pieces that a program takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from rapidfuzz.distance import LCSseq

from otel_raglog.conventions.json_text import parse_json, strings_in

CLOSE = 0.9
"""Similarity from which two texts are the same but for details (``difflib`` ratio)."""

MAX_COMPARED_CHARS = 2_000
"""Longer texts are compared for equality and containment alone: ``difflib`` is quadratic."""

_REMEMBERED_TEXTS = 256
_MAX_REMEMBERED_CHARS = 16_384

_BETWEEN_PARAGRAPHS = "\n\n"
_REMEMBERED_PARAGRAPHS = 1_024
_MAX_PARAGRAPH_CHARS = 4_096
_MIN_PARAGRAPH_CHARS = 100
"""Shorter paragraphs cost no more to fold than to look up."""

_EDGES = " \t\r\n\"'`\u201c\u201d\u201e\u2019.,;:!?*-"
_LITERAL = re.compile(r"(?P<quote>[\"'])(?P<text>[^\"'\n]{3,300})(?P=quote)")
"""A text in the code that an agent writes: it may be the argument of a search."""

_TELLING = re.compile(f"[^\\s{re.escape(_EDGES)}]")
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013]|\(?\d{1,2}[.):]|q\d{1,2}[.):])\s*", re.IGNORECASE)
_LABEL = re.compile(
    r"^\s*(?:\w+[ -])?(?:standalone |search |rewritten |rephrased |new )?"
    r"(?:quer(?:y|ies)|question|search terms?|keywords)\s*:\s*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```(?:\w+)?\s*(.*?)```", re.DOTALL)
_SECTION = re.compile(r"\[\[ ## (\w+) ## \]\]\s*(.*?)(?=\[\[ ## |\Z)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


def squeezed(text: str) -> str:
    """Return a text with each run of white space as one blank, without any at its ends."""
    if len(text) <= _MAX_REMEMBERED_CHARS:
        return _squeezed_once(text)
    return _squeezed_anew(text)


def folded(text: str) -> str:
    """Return a text without case, with single blanks, for a search in it."""
    if len(text) <= _MAX_REMEMBERED_CHARS:
        return _folded_once(text)
    return _folded_anew(text)


def normal(text: str) -> str:
    """Return a text without case, white space and edge punctuation, for comparison."""
    return folded(text).strip(_EDGES)


def beginning(text: str, length: int) -> str:
    """Return the first characters of a :func:`normal` text, without folding the rest."""
    if len(text) <= _MAX_REMEMBERED_CHARS:
        return _beginning_once(text, length)
    return _beginning_anew(text, length)


def _beginning_anew(text: str, length: int) -> str:
    found = _squeeze(text[: 4 * length]).strip(_EDGES)
    if len(found) < length:  # much white space
        found = squeezed(text).strip(_EDGES)
    return found[:length].casefold()[:length]


def same_normal(first: str, second: str) -> bool:
    """Tell whether two texts are equal but for case, white space and edge punctuation."""
    head, found, tail = first.partition(second) if second else (first, "", "")
    if found and (_TELLING.search(head) or _TELLING.search(tail)):
        return False  # the first says more
    return first == second or normal(first) == normal(second)


def same_text(first: str, second: str) -> bool:
    """Tell whether two texts are equal but for case, white space and details."""
    one, two = normal(first), normal(second)
    if one == two:
        return True
    if not one or not two or max(len(one), len(two)) > MAX_COMPARED_CHARS:
        return False
    shorter, longer = sorted((len(one), len(two)))
    if 2 * shorter < CLOSE * (shorter + longer):
        return False
    # What difflib matches is a common subsequence: the longest one bounds its ratio.
    if 2.0 * LCSseq.similarity(one, two) / (shorter + longer) < CLOSE:
        return False
    return SequenceMatcher(None, one, two, autojunk=False).ratio() >= CLOSE


def holds(outer: str, inner: str) -> bool:
    """Tell whether ``outer`` contains ``inner``, but for case and white space."""
    if inner in outer:
        return _TELLING.search(inner) is not None
    whole = folded(outer)
    if len(inner) > 2 * len(outer) and normal(inner[: 2 * len(outer)]) not in whole:
        return False  # its beginning says so
    needle = normal(inner)
    return bool(needle) and needle in whole


def without_markup(text: str) -> str:
    """Return a text with a blank for each HTML tag."""
    return _TAG.sub(" ", text)


def is_word_in(piece: str, text: str) -> bool:
    """Tell whether a piece stands in a text with no letters or digits next to it."""
    return re.search(rf"(?<!\w){re.escape(piece)}(?!\w)", text) is not None


def sections(text: str) -> dict[str, str]:
    """Return the fields of a text in DSPy's chat form (``[[ ## answer ## ]]``)."""
    return {name: body.strip() for name, body in _SECTION.findall(text)}


def pieces_of(text: str, data: object | None = None) -> tuple[str, ...]:
    """Return what a program may take from an LLM's output, without repeats, in order.

    The whole text; its lines without bullets, numbers and labels; the strings of JSON in it
    (fenced, or in ``data``); the fields of DSPy's chat form.
    """
    return tuple(dict.fromkeys(piece for piece in _pieces(text, data) if piece))


def lines_of(text: str) -> tuple[str, ...]:
    """Return the non-empty lines without bullets, numbers and labels."""
    return tuple(line for raw in text.splitlines() if (line := _clean(raw)))


def data_in(text: str, data: object | None) -> tuple[object, ...]:
    """Return the JSON in an LLM's output: fenced, from its first brace on, and ``data``."""
    fenced = [parse_json(inner) for inner in _FENCE.findall(text)]
    start = text.find("{")
    whole = parse_json(text) or (parse_json(text[start:]) if start > 0 else None)
    return tuple(found for found in (*fenced, whole, data) if found is not None)


def is_close_to_any(text: str, others: Iterable[str]) -> bool:
    """Tell whether a text says the same as one of ``others``."""
    return any(same_text(text, other) for other in others)


def _squeezed_anew(text: str) -> str:
    if _BETWEEN_PARAGRAPHS in text:
        return _joined(map(_squeezed_paragraph, text.split(_BETWEEN_PARAGRAPHS)))
    return _squeezed_paragraph(text)


def _folded_anew(text: str) -> str:
    if _BETWEEN_PARAGRAPHS in text:
        return _joined(map(_folded_paragraph, text.split(_BETWEEN_PARAGRAPHS)))
    return _folded_paragraph(text)


def _joined(paragraphs: Iterable[str]) -> str:
    return " ".join(filter(None, paragraphs))


def _squeezed_paragraph(text: str) -> str:
    if _MIN_PARAGRAPH_CHARS < len(text) <= _MAX_PARAGRAPH_CHARS:
        return _squeezed_paragraph_once(text)
    return _squeeze(text)


def _folded_paragraph(text: str) -> str:
    if _MIN_PARAGRAPH_CHARS < len(text) <= _MAX_PARAGRAPH_CHARS:
        return _folded_paragraph_once(text)
    return _fold(text)


def _squeeze(text: str) -> str:
    # The blank is the only white space that is printable: such a text has single ones already.
    if text.isprintable() and "  " not in text:
        return text.strip(" ")
    return " ".join(text.split())


def _fold(text: str) -> str:
    return _squeezed_paragraph(text).casefold()


# A chunk or a prompt is compared a dozen times within a trace, and chunks recur in prompts, in
# outputs and between traces.
_squeezed_once = lru_cache(maxsize=_REMEMBERED_TEXTS)(_squeezed_anew)
_folded_once = lru_cache(maxsize=_REMEMBERED_TEXTS)(_folded_anew)
_beginning_once = lru_cache(maxsize=_REMEMBERED_TEXTS)(_beginning_anew)
_squeezed_paragraph_once = lru_cache(maxsize=_REMEMBERED_PARAGRAPHS)(_squeeze)
_folded_paragraph_once = lru_cache(maxsize=_REMEMBERED_PARAGRAPHS)(_fold)


def _pieces(text: str, data: object | None) -> Iterator[str]:
    yield text.strip()
    yield from lines_of(text)
    for parsed in data_in(text, None):
        yield from (string.strip() for string in strings_in(parsed))
    if data is not None:
        for string in strings_in(data):
            yield string.strip()
            if "\n" in string:
                yield from lines_of(string)
    yield from sections(text).values()
    if "<code>" in text or "```" in text:
        yield from (match["text"].strip() for match in _LITERAL.finditer(text))


def _clean(line: str) -> str:
    return _LABEL.sub("", _BULLET.sub("", line)).strip(" \t\"'`")

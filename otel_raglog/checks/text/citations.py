"""Turns an answer into its own text and what it cites."""

from __future__ import annotations

import re
from dataclasses import dataclass

from otel_raglog.checks.text.words import WordIndex, content_words, fold

_WORD_LABEL = r"(?:sources?|references?|citations?|cited (?:documents?|sources?|passages?))"
_HEADING = re.compile(
    rf"{_WORD_LABEL}(?: (?:used|cited))?[*_ \t]{{0,4}}(?P<mark>:?)(?P<rest>.*)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[ \t]*(?:[-*\u2022\u2013][ \t]|\[?\^?\d{1,3}[\]).:]|\[|https?://|$)")
_MOST_WORDS = 15
"""A source is named in fewer words; what is longer, or ends as a sentence, is said."""

_FILE = r"[\w%./-]*\w\.(?:md|mdx|pdf|html?|txt|rst|docx?|pptx?|xlsx?|csv|json)\b"
_PAGE = r"(?:[,;: ]*\b(?:pp?\.|pages?|sections?|§) ?\d{1,4}(?:[-\u2013]\d{1,4})?)"
_INDEX = r"\^?(?:(?:doc(?:ument)?|source|chunk|passage|ref(?:erence)?|context)[ _#-]?)?\d{1,3}"
_NUMBERED = re.compile(
    rf"[ \t]?\[\s*(?P<marks>{_INDEX}(?:\s*(?:[,;\u2013-]|and)\s*{_INDEX}){{0,9}})\s*\](?!\()",
    re.IGNORECASE,
)
_CORNERED = re.compile(r"[ \t]?【(?P<source>[^【】]{1,120})】")
_LABELLED = re.compile(
    rf"[ \t]?[\[(]\s*(?:see |from )?{_WORD_LABEL}\s{{0,9}}[: ](?P<source>[^\[\]()]{{1,125}})[\])]",
    re.IGNORECASE,
)
_FILED = re.compile(rf"[ \t]?[\[(]\s*(?P<source>{_FILE}{_PAGE}?)\s*[\])]", re.IGNORECASE)
_PAGED = re.compile(
    r"[ \t]?[\[(]\s*(?:pp?\.|pages?) ?\d{1,4}(?:[-\u2013]\d{1,4})?\s*[\])]", re.IGNORECASE
)
_LINK = re.compile(r"\[(?P<text>[^\[\]]{1,200})\]\((?P<source>(?:https?://|/|\.)[^()\s]{1,400})\)")
_BARE_LINK = re.compile(r"[ \t]?[(<]?(?P<source>https?://[^\s()<>]{1,400}[^\s()<>.,;:!?])[)>]?")
# A file name begins where no other does: from each letter of a long word it would be sought anew.
_EXACT = re.compile(
    rf"https?://[^\s()<>\"']*[^\s()<>\"'.,;:!?]|(?<![\w%./-]){_FILE}", re.IGNORECASE
)
_NAMELESS = frozenset({"page", "pages", "pp", "section", "sections", "https", "http", "www"})
_HALF = 0.5
_MOST_SOURCES = 100
"""Sources read of one answer: each is looked for in the whole prompt."""

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer's text without its citations, the sources that it names, and those it numbers."""

    text: str
    sources: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()


def without_citations(answer: str) -> Cited:
    """Return an answer without citation marks, links and the list of sources.

    An answer that is nothing else keeps its text: the sources are what was asked for.
    """
    body, listed = _without_list(answer)
    sources: list[str] = []
    numbers: list[int] = []
    for pattern in (_LINK, _CORNERED, _LABELLED, _FILED, _BARE_LINK):
        sources += [match["source"].strip() for match in pattern.finditer(body)]
        body = pattern.sub(r"\g<text>" if pattern is _LINK else "", body)
    for match in _NUMBERED.finditer(body):
        numbers += map(int, _DIGITS.findall(match["marks"]))
    body = _PAGED.sub("", _NUMBERED.sub("", body))
    if not body.strip(" \t\n*_.,;:"):
        return Cited(answer)
    named = dict.fromkeys((*listed, *sources))
    return Cited(body, tuple(named)[:_MOST_SOURCES], tuple(dict.fromkeys(numbers)))


def names_source(source: str, labels: str, shown: str) -> bool:
    """Tell whether a citation names a document of which the ``labels`` or the prompt are known.

    A link or file name has to be there as it is, if there are any; of a title half of the words.
    """
    labels, shown, source = fold(labels), fold(shown), fold(source)
    exact = _EXACT.findall(source)
    if exact and _EXACT.search(labels):
        return any(_ends(piece) in labels or piece in shown for piece in exact)
    told = [word for word in content_words(source) if word.isalpha() and word not in _NAMELESS]
    indices = (WordIndex.of(labels), WordIndex.of(shown))
    held = sum(any(index.holds_related(word) for index in indices) for word in told)
    return held >= _HALF * len(told)


def _ends(piece: str) -> str:
    """Return a link as it is, a file without its folders."""
    return piece if "://" in piece else piece.rpartition("/")[2]


def _without_list(answer: str) -> tuple[str, list[str]]:
    """Return an answer without its lists of sources, and what these name."""
    kept: list[str] = []
    listed: list[str] = []
    inside = False
    for line in answer.splitlines():
        heading = _heads(line)
        if heading is not None:
            inside = True
            listed.append(heading)
        elif inside and _ITEM.match(line) and not _says(line):
            listed.append(line)
        else:
            inside = False
            kept.append(line)
    return "\n".join(kept), [item for line in listed if (item := _named(line))]


def _heads(line: str) -> str | None:
    """Return what a heading of sources names in its own line, ``None`` for any other line."""
    found = _HEADING.fullmatch(line.strip(" \t#>*_"))
    if found is None:
        return None
    rest = found["rest"].strip(" \t*_")
    if not found["mark"]:
        return None if rest else ""
    return None if _says(rest) else rest


def _says(line: str) -> bool:
    """Tell whether a line states something, as a sentence does."""
    words = line.split()
    return len(words) > _MOST_WORDS or (
        len(words) > _MOST_WORDS // 2 and line.rstrip().endswith(".")
    )


def _named(line: str) -> str:
    """Return what an item names, without marks; nothing for a bare number."""
    bare = re.sub(r"^[ \t]*(?:[-*\u2022\u2013][ \t]+)?(?:\[?\^?\d{1,3}[\]).:]+[ \t]*)?", "", line)
    return bare.strip(" \t*_[]")

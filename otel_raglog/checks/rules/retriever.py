"""Measures what retrieval returned, by counts and by the question's words, over all hops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.phrases import chunk_name, counted, listing
from otel_raglog.checks.reading import chunk_text, question_of, readable, retrieved_of
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberIndex, NumberKind, numbers
from otel_raglog.checks.text.words import WordIndex
from otel_raglog.model import Chunk, Measurement, Run, Stage

_LOW_COVERAGE = 0.34
_GARBLED_SHARE = 0.3
_ODD_CHARACTER = re.compile(r"[^\w\s.,;:!?'\"()\[\]{}<>/&%$€£+=*@#|’‘“”–—…°-]")  # noqa: RUF001
_SHORT_CHUNK = 40
_OPEN_END = re.compile(r"[\w,;]\s*$")
_OPEN_START = re.compile(r"^\s*[a-z,;)]")
# Within a line: white space that runs on over lines would be read again from each of them.
_TABLE_ROW = re.compile(r"^[^\S\n]*\|.*\|[^\S\n]*$", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[^\S\n]*\|(?:[^\S\n]|[:|-])+\|[^\S\n]*$", re.MULTILINE)


class RetrieverRules:
    """Counts, duplicates, the question's words and names in the chunks, ingestion damage.

    Measured on the union of what all steps returned, against the original question.
    """

    name = "rules.retriever"
    stage = Stage.RETRIEVER
    _of_text = (
        "retriever.best_coverage",
        "retriever.union_coverage",
        "retriever.low_coverage_share",
        "retriever.names_missing_share",
        "retriever.numbers_missing",
        "retriever.garbled_share",
        "retriever.sentence_cut_share",
        "retriever.table_cut_share",
    )
    declarations = (
        Declaration("retriever.empty", Unit.FLAG, Suspect.HIGH, "1 when nothing was retrieved"),
        Declaration(
            "retriever.chunks", Unit.COUNT, Suspect.NEITHER, "how many chunks were retrieved"
        ),
        Declaration(
            "retriever.shortfall", Unit.SHARE, Suspect.HIGH, "share of top_k that is missing"
        ),
        Declaration(
            "retriever.filtered", Unit.FLAG, Suspect.NEITHER, "1 when a filter was applied"
        ),
        Declaration(
            "retriever.duplicate_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of chunks that repeat another's text",
        ),
        Declaration(
            "retriever.best_coverage",
            Unit.SHARE,
            Suspect.LOW,
            "coverage of the question by the best chunk",
        ),
        Declaration(
            "retriever.union_coverage",
            Unit.SHARE,
            Suspect.LOW,
            "coverage of the question by all chunks together",
        ),
        Declaration(
            "retriever.low_coverage_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of chunks whose coverage is below 0.34",
        ),
        Declaration(
            "retriever.names_missing_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the question's names that no chunk has",
        ),
        Declaration(
            "retriever.numbers_missing",
            Unit.COUNT,
            Suspect.HIGH,
            "years and percentages of the question that no chunk has",
        ),
        Declaration(
            "retriever.garbled_share",
            Unit.SHARE,
            Suspect.NEITHER,
            "share of chunks with garbled text (an ingestion hint)",
        ),
        Declaration(
            "retriever.sentence_cut_share",
            Unit.SHARE,
            Suspect.NEITHER,
            "share of chunks that begin or end inside a sentence (an ingestion hint)",
        ),
        Declaration(
            "retriever.table_cut_share",
            Unit.SHARE,
            Suspect.NEITHER,
            "share of chunks with table rows without their heading (an ingestion hint)",
        ),
    )
    measures = names_of(declarations)

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a retriever."""
        if not run.retrievers:
            return
        chunks = retrieved_of(run)
        if chunks is None:
            yield from all_not_applicable(self.measures, "chunks not recorded")
            return
        yield from _counts(run, chunks)
        readable_chunks = readable(chunks)
        question = question_of(run)
        if question is None or not readable_chunks:
            reason = "no question" if question is None else "no chunk text"
            yield from all_not_applicable(self._of_text, reason)
            return
        yield from _words(question, readable_chunks)
        yield from _damage(readable_chunks)


def _counts(run: Run, chunks: Sequence[Chunk]) -> Iterator[Measurement]:
    empty = not chunks
    filters = [step.filters for step in run.retrievers if step.filters]
    phrase = "retrieval returned no chunk" if empty else ""
    if empty and filters:
        phrase += ", with a filter set"
    yield measured("retriever.empty", float(empty), phrase)
    yield measured("retriever.chunks", len(chunks), f"{counted(len(chunks), 'chunk')} retrieved")
    wanted = max((step.top_k or 0 for step in run.retrievers), default=0)
    missing = max(0, wanted - len(chunks)) if wanted else 0
    yield measured(
        "retriever.shortfall",
        missing / wanted if wanted else 0.0,
        f"only {len(chunks)} of {wanted} chunks came back" if missing else "",
    )
    yield measured("retriever.filtered", float(bool(filters)))
    texts = [" ".join(chunk.text.split()).casefold() for chunk in chunks if chunk.text.strip()]
    repeated = len(texts) - len(set(texts))
    yield measured(
        "retriever.duplicate_share",
        repeated / max(1, len(texts)),
        f"the text of another chunk again in {repeated} of {counted(len(texts), 'chunk')}"
        if repeated
        else "",
    )


def _words(question: str, chunks: Sequence[Chunk]) -> Iterator[Measurement]:
    weights = question_weights(question)
    indices = [WordIndex.of(chunk_text(chunk)) for chunk in chunks]
    each = [coverage(weights, index) for index in indices]
    best = max(range(len(each)), key=each.__getitem__)
    union = WordIndex(chunk_text(chunk) for chunk in chunks)
    missing = [word for word in weights if not union.holds_related(word)]
    yield measured(
        "retriever.best_coverage",
        each[best],
        f"no chunk has more than {each[best]:.0%} of the question's words "
        f"({chunk_name(best + 1, chunks[best])})",
    )
    yield measured(
        "retriever.union_coverage",
        coverage(weights, union),
        f"no chunk mentions {listing(missing)}" if missing else "",
    )
    low = sum(value < _LOW_COVERAGE for value in each)
    yield measured(
        "retriever.low_coverage_share",
        low / len(each),
        f"{low} of {len(each)} chunks share few words with the question" if low else "",
    )
    asked = [name for name in names(question) if name.words]
    absent = [n.text for n in asked if not any(union.holds_name(word) for word in n.words)]
    yield measured(
        "retriever.names_missing_share",
        len(absent) / max(1, len(asked)),
        f"no chunk mentions {listing(absent)}" if absent else "",
    )
    stated = NumberIndex(chunk_text(chunk) for chunk in chunks)
    figures = [n for n in numbers(question) if n.kind in {NumberKind.YEAR, NumberKind.PERCENT}]
    unstated = [n.text for n in figures if not stated.holds(n)]
    yield measured(
        "retriever.numbers_missing",
        len(unstated),
        f"no chunk has {listing(unstated)}" if unstated else "",
    )


def _damage(chunks: Sequence[Chunk]) -> Iterator[Measurement]:
    """Yield ingestion hints; they never make a stage faulty."""
    found = (
        ("retriever.garbled_share", _garbled, "garbled text"),
        ("retriever.sentence_cut_share", _cuts_sentence, "a sentence cut at the edge"),
        ("retriever.table_cut_share", _cuts_table, "table rows without their heading"),
    )
    for name, test, phrase in found:
        ranks = [rank for rank, chunk in enumerate(chunks, start=1) if test(chunk.text)]
        yield measured(
            name,
            len(ranks) / len(chunks),
            f"{phrase} in {len(ranks)} of {counted(len(chunks), 'chunk')} (first: chunk {ranks[0]})"
            if ranks
            else "",
        )


def _garbled(text: str) -> bool:
    if "\ufffd" in text:
        return True
    if len(text) < _SHORT_CHUNK:
        return False
    lengths = [len(word) for word in text.split()]
    odd = sum(len(m.group()) for m in _ODD_CHARACTER.finditer(text))
    spaced_out = lengths.count(1) > _GARBLED_SHARE * 2 * len(lengths)
    return odd > _GARBLED_SHARE * sum(lengths) or spaced_out


def _cuts_sentence(text: str) -> bool:
    return len(text) >= _SHORT_CHUNK and bool(
        _OPEN_START.search(text[:80]) or _OPEN_END.search(text[-80:])
    )


def _cuts_table(text: str) -> bool:
    return bool(_TABLE_ROW.search(text)) and not _TABLE_RULE.search(text)

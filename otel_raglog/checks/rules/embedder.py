"""Measures how the text given to the embedder differs from the question or rewrite it stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.embedded import embedded_for
from otel_raglog.checks.phrases import listing, number_listing
from otel_raglog.checks.reading import rewrites_of, shortened
from otel_raglog.checks.text.edits import edit_distance
from otel_raglog.checks.text.lexicon import EMBEDDING_INSTRUCTION, EMBEDDING_PREFIXES
from otel_raglog.checks.text.numbers import NumberIndex, numbers
from otel_raglog.checks.text.words import content_words, fold, is_content, words
from otel_raglog.model import EmbedStep, Measurement, RewriteKind, Run, Stage

_ODD = re.compile(r"[\ufffd\x00-\x08\x0b\x0c\x0e-\x1f]|Ã.|â€|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}")
_ENCODED = re.compile(r"[A-Za-z0-9+/=]{40,}")
_MOST_LACKING = 1_000
"""Words among which a misspelled one is looked for: a question has fewer."""

_SHORT_WORD = 3
_LONG_WORD = 6


class EmbedderRules:
    """Words lost, added, misspelled or cut off between a query and the text that was embedded.

    Each text is held against the rewrite or question nearest to it, so a fault of the rewriter
    is not the embedder's. HyDE and passage texts are exempt.
    """

    name = "rules.embedder"
    stage = Stage.EMBEDDER
    declarations = (
        Declaration(
            "embedder.cut_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the query's words missing at one end of an otherwise equal text",
        ),
        Declaration(
            "embedder.misspelled_words",
            Unit.COUNT,
            Suspect.HIGH,
            "words one to three edits away from a word of the query that is missing",
        ),
        Declaration(
            "embedder.words_dropped_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the query's content words that the embedded text lacks",
        ),
        Declaration(
            "embedder.words_added_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the embedded text's content words that the query lacks",
        ),
        Declaration(
            "embedder.numbers_changed",
            Unit.COUNT,
            Suspect.HIGH,
            "numbers that only one of query and embedded text has",
        ),
        Declaration(
            "embedder.corrupted_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of characters that are replacement marks, controls, mojibake or encoded blobs",
        ),
        Declaration(
            "embedder.length_ratio",
            Unit.RATIO,
            Suspect.NEITHER,
            "words of the embedded text / words of the query",
        ),
        Declaration(
            "embedder.faithful",
            Unit.FLAG,
            Suspect.LOW,
            "1 when the query was embedded word for word",
        ),
        Declaration("embedder.empty", Unit.FLAG, Suspect.HIGH, "1 when an empty text was embedded"),
    )
    measures = names_of(declarations)

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every embedding step."""
        references = embedded_for(run)
        known = tuple(map(shortened, references.texts))
        passages = _passages(run)
        for index, step in enumerate(run.embedders):
            reason = _why_not(step, known)
            if reason:
                yield from all_not_applicable(self.measures, reason, step=index)
                continue
            texts = tuple(
                text
                for text in step.texts.value or ()
                if fold(shortened(text)).strip() not in passages
            )
            if step.texts.value and not texts:
                yield from all_not_applicable(
                    self.measures, "a hypothetical passage is exempt", step=index
                )
                continue
            if references.hidden and any(_is_foreign(text, known) for text in texts):
                yield from all_not_applicable(
                    self.measures, "what a rewriter wrote is not readable", step=index
                )
                continue
            yield from _measure_texts(self.measures, texts, known, index)


def _is_foreign(text: str, references: tuple[str, ...]) -> bool:
    """Whether a text is none of the references word for word."""
    has = words(shortened(_without_instruction(text)))
    return all(words(reference) != has for reference in references)


def _passages(run: Run) -> frozenset[str]:
    return frozenset(
        fold(rewrite).strip()
        for step in run.rewriters
        if step.kind is RewriteKind.HYDE
        for rewrite in rewrites_of(step)
    )


def _why_not(step: EmbedStep, references: tuple[str, ...]) -> str:
    if step.passage:
        return "a passage is exempt"
    if not step.texts.usable or step.texts.value is None:
        return "embedded text not recorded"
    return "" if references else "no question and no rewrite"


def _measure_texts(
    measures: tuple[str, ...], texts: tuple[str, ...], references: tuple[str, ...], index: int
) -> Iterator[Measurement]:
    """Yield the measurements of the text that differs most from its reference."""
    blank = not texts or not any(text.strip() for text in texts)
    yield measured(
        "embedder.empty", float(blank), "an empty text was embedded" if blank else "", step=index
    )
    if blank:
        rest = tuple(name for name in measures if name != "embedder.empty")
        yield from all_not_applicable(rest, "no text", step=index)
        return
    bare = tuple(shortened(_without_instruction(text)) for text in texts if text.strip())
    worst, reference = min(
        ((text, _nearest(text, references)) for text in bare),
        key=lambda pair: _likeness(words(pair[0]), words(pair[1])),
    )
    yield from _differences(worst, reference, index)


def _differences(text: str, reference: str, index: int) -> Iterator[Measurement]:
    has, wanted = words(text), words(reference)
    cut = _cut_share(has, wanted)
    pairs = _misspellings(has, wanted)
    wrong, right = {w for w, _ in pairs}, {r for _, r in pairs}
    found, sought = right.union(has), wrong.union(wanted)
    lost = [w for w in content_words(reference) if w not in found]
    gained = [w for w in content_words(text) if w not in sought]
    if cut:
        lost = []
    yield measured(
        "embedder.cut_share",
        cut,
        f"the embedded text stops after {len(has)} of {len(wanted)} words" if cut else "",
        step=index,
    )
    shown = [f"{right} as {wrong}" for wrong, right in pairs]
    yield measured(
        "embedder.misspelled_words",
        len(pairs),
        f"the embedded text spells {listing(shown)}" if pairs else "",
        step=index,
    )
    yield measured(
        "embedder.words_dropped_share",
        len(lost) / max(1, len(content_words(reference))),
        f"the embedded text lacks {listing(lost)}" if lost else "",
        step=index,
    )
    yield measured(
        "embedder.words_added_share",
        len(gained) / max(1, len(content_words(text))),
        f"the embedded text adds {listing(gained)}" if gained else "",
        step=index,
    )
    yield from _numbers_and_form(text, reference, index, cut=cut > 0)


def _numbers_and_form(text: str, reference: str, index: int, *, cut: bool) -> Iterator[Measurement]:
    known, kept = NumberIndex((reference,)), NumberIndex((text,))
    changed = [n for n in numbers(text) if not known.holds(n)]
    gone = [] if cut else [n for n in numbers(reference) if not kept.holds(n)]
    phrase = f"the embedded text adds {number_listing(changed)}" if changed else ""
    if not phrase and gone:
        phrase = f"the embedded text drops {number_listing(gone)}"
    yield measured("embedder.numbers_changed", len(changed) + len(gone), phrase, step=index)
    corrupted = (
        _corrupted_share(text) if _corrupted_share(text) > _corrupted_share(reference) else 0
    )
    yield measured(
        "embedder.corrupted_share",
        corrupted,
        "the embedded text holds corrupted characters" if corrupted else "",
        step=index,
    )
    yield measured(
        "embedder.length_ratio",
        len(words(text)) / max(1, len(words(reference))),
        step=index,
    )
    same = words(text) == words(reference)
    yield measured(
        "embedder.faithful",
        float(same),
        "the embedded text is the query word for word" if same else "",
        step=index,
    )


def _without_instruction(text: str) -> str:
    """Return the text without an instruction that its embedding model wants in front."""
    stripped = text.strip()
    folded = stripped.casefold()
    for prefix in EMBEDDING_PREFIXES:
        if folded.startswith(prefix):
            return stripped[len(prefix) :].strip()
    match = re.match(EMBEDDING_INSTRUCTION, stripped, re.IGNORECASE)
    return stripped[match.end() :].strip() if match else stripped


def _nearest(text: str, references: tuple[str, ...]) -> str:
    has = words(text)
    return max(references, key=lambda reference: _likeness(has, words(reference)))


def _likeness(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Return the Jaccard likeness of two word sequences' sets, counting equal order as more."""
    if one == other:
        return 2.0
    shared, union = set(one) & set(other), set(one) | set(other)
    return len(shared) / max(1, len(union))


def _cut_share(has: tuple[str, ...], wanted: tuple[str, ...]) -> float:
    """Return the share of the reference's words that a text lacks at its end (or beginning).

    Zero unless the text is otherwise the reference's own run of words, misspellings allowed,
    and the missing part carries content.
    """
    if not has or len(has) >= len(wanted):
        return 0.0
    head, tail = wanted[: len(has)], wanted[-len(has) :]
    for part, missing in ((head, wanted[len(has) :]), (tail, wanted[: -len(has)])):
        unequal = sum(
            a != b and not (i == len(has) - 1 and b.startswith(a)) and not _misspells(a, b)
            for i, (a, b) in enumerate(zip(has, part, strict=True))
        )
        if unequal == 0 and any(is_content(word) for word in missing):
            return len(missing) / len(wanted)
    return 0.0


def _misspellings(has: tuple[str, ...], wanted: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the words of the text that are one or two edits off a word that it lacks."""
    found, sought = dict.fromkeys(has), dict.fromkeys(wanted)
    strange = [w for w in found if w not in sought]
    lacking = [w for w in sought if w not in found][:_MOST_LACKING]
    pairs = []
    for word in strange[:50]:
        near = [w for w in lacking if _misspells(word, w)]
        if near:
            best = min(near, key=lambda w: edit_distance(word, w))
            lacking.remove(best)
            pairs.append((word, best))
    return pairs


def _misspells(word: str, right: str) -> bool:
    """Whether ``word`` is a misspelling: one edit in four letters, up to three in long words."""
    if word.isdigit() or right.isdigit() or len(right) <= _SHORT_WORD:
        return False
    limit = 1 if len(right) < _LONG_WORD else 2 if len(right) < 2 * _LONG_WORD else 3
    return 0 < edit_distance(word, right, limit) <= limit


def _corrupted_share(text: str) -> float:
    marks = sum(len(m.group()) for m in _ODD.finditer(text))
    marks += sum(len(m.group()) for m in _ENCODED.finditer(text) if _looks_encoded(m.group()))
    return min(1.0, marks / max(1, len(text)))


def _looks_encoded(run: str) -> bool:
    return any(c.isdigit() for c in run) and any(c.isupper() for c in run) and "/" not in run[:2]

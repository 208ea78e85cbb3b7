"""Measures what each rewrite adds to, and takes from, the question, by its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.phrases import listing, number_listing
from otel_raglog.checks.reading import (
    answering_step,
    chunks_of,
    faithful_rewrites,
    history_of,
    question_of,
    readable,
    retrieved_of,
    rewrites_of,
    searched_besides,
    text_of,
)
from otel_raglog.checks.text.lexicon import NEGATIONS, QUALIFIERS, RELATIVE_TIMES
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import Number, NumberIndex, NumberKind, numbers
from otel_raglog.checks.text.questions import answer_kind, kinds_differ
from otel_raglog.checks.text.survival import Fate, PromptText
from otel_raglog.checks.text.words import WordIndex, content_words, words
from otel_raglog.model import Chunk, Measurement, RewriteKind, RewriteStep, Run, Stage

_NOTABLE_SHARE = 0.4
_NEAR = 3
"""Years by which a relative time (the year before, two years later) is read to differ."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The question, what may be added from (question, history, hops), and the rewrites."""

    question: str
    sources: tuple[str, ...]
    rewrites: tuple[str, ...]
    all_rewrites: tuple[str, ...]
    """All that was searched for, and search filters: what one of them holds is not dropped."""
    besides: tuple[str, ...]
    """The question, where it was itself searched for beside the rewrites."""
    reckons: bool
    """Whether another tool told numbers: it may have been given those that the search lacks."""
    follows: bool
    """Whether the question may be a follow-up, which a rewrite completes from the talk before."""


class RewriterRules:
    """Names, numbers, negations, qualifiers and words lost or added by each rewriting step.

    Judged on the union of a step's rewrites. What comes from the chat history, or from chunks
    that an earlier hop retrieved, is not added. Hypothetical passages (HyDE) are exempt.
    """

    name = "rules.rewriter"
    stage = Stage.REWRITER
    declarations = (
        Declaration(
            "rewriter.numbers_added",
            Unit.COUNT,
            Suspect.HIGH,
            "distinct numbers and dates that only the rewrite has",
        ),
        Declaration(
            "rewriter.numbers_dropped",
            Unit.COUNT,
            Suspect.HIGH,
            "distinct numbers and dates of the question that no rewrite has",
        ),
        Declaration(
            "rewriter.names_added", Unit.COUNT, Suspect.HIGH, "names that only the rewrite has"
        ),
        Declaration(
            "rewriter.names_dropped",
            Unit.COUNT,
            Suspect.HIGH,
            "names of the question that no rewrite has",
        ),
        Declaration(
            "rewriter.numbers_swapped",
            Unit.COUNT,
            Suspect.HIGH,
            "numbers dropped for which others were added",
        ),
        Declaration(
            "rewriter.names_swapped",
            Unit.COUNT,
            Suspect.HIGH,
            "names dropped for which others were added",
        ),
        Declaration(
            "rewriter.qualifiers_added",
            Unit.COUNT,
            Suspect.HIGH,
            "narrowing words (*first*, *current*, *only*) added",
        ),
        Declaration(
            "rewriter.qualifiers_dropped", Unit.COUNT, Suspect.HIGH, "narrowing words dropped"
        ),
        Declaration(
            "rewriter.negation_changed",
            Unit.FLAG,
            Suspect.HIGH,
            "1 when a negation was lost in all rewrites or added in one",
        ),
        Declaration(
            "rewriter.answer_kind_changed",
            Unit.FLAG,
            Suspect.HIGH,
            "1 when question and rewrite ask for different kinds of things (*why*, *when*), 0.5 in doubt",
        ),
        Declaration(
            "rewriter.words_dropped_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the question's content words that no rewrite has in any form",
        ),
        Declaration(
            "rewriter.words_added_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the rewrites' content words that neither question nor history has",
        ),
        Declaration(
            "rewriter.rewrites", Unit.COUNT, Suspect.NEITHER, "how many rewrites the step gave"
        ),
        Declaration(
            "rewriter.length_ratio",
            Unit.RATIO,
            Suspect.NEITHER,
            "words of the longest rewrite / words of the question",
        ),
        Declaration(
            "rewriter.unchanged",
            Unit.FLAG,
            Suspect.NEITHER,
            "1 when a rewrite is the question word for word",
        ),
        Declaration(
            "rewriter.empty", Unit.FLAG, Suspect.HIGH, "1 when the rewriter returned nothing"
        ),
    )
    measures = names_of(declarations)

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every rewriting step."""
        question = question_of(run)
        for index, step in enumerate(run.rewriters):
            if question is None:
                yield from all_not_applicable(self.measures, "no question", step=index)
            elif step.rewrites.value is None or not step.rewrites.usable:
                yield from all_not_applicable(self.measures, "rewrites not recorded", step=index)
            else:
                yield from self._measure_step(run, question, index, step)

    def _measure_step(
        self, run: Run, question: str, index: int, step: RewriteStep
    ) -> Iterator[Measurement]:
        rewrites = rewrites_of(step)
        yield measured(
            "rewriter.empty",
            float(not rewrites),
            "the rewriter returned nothing" if not rewrites else "",
            step=index,
        )
        others = tuple(name for name in self.measures if name != "rewriter.empty")
        if not rewrites:
            yield from all_not_applicable(others, "no rewrite", step=index)
            return
        if step.kind is RewriteKind.HYDE:
            yield from all_not_applicable(others, "a hypothetical passage is exempt", step=index)
            return
        besides = searched_besides(run, step)
        pair = _Pair(
            question,
            _sources(run, question, index),
            rewrites,
            (*faithful_rewrites(run), *besides, *_filters(run)),
            besides,
            _reckons(run),
            step.kind is RewriteKind.CONDENSE or bool(history_of(run)),
        )
        yield from (
            *_numbers(pair, index),
            *_names(pair, index),
            *_qualifiers(pair, index),
            *_intent(pair, index),
            *_words(pair, index),
            *_form(pair, index),
        )


def _sources(run: Run, question: str, index: int) -> tuple[str, ...]:
    """Return the texts from which a rewrite may take words without adding them."""
    step = run.rewriters[index]
    own_input = text_of(step.input) if step.kind is RewriteKind.CONDENSE else None
    found = [question, *history_of(run), *((own_input,) if own_input else ())]
    # A later hop may name what an earlier hop found.
    for retriever in run.retrievers:
        ended = retriever.origin.end_unix_nano
        if (index > 0 or ended) and ended <= step.origin.start_unix_nano:
            found.extend(chunk.text for chunk in chunks_of(retriever.chunks) or ())
    return tuple(found)


def _reckons(run: Run) -> bool:
    """Tell whether the answering call was told numbers by a tool that is no search."""
    step = answering_step(run)
    told = [m.content for m in (step.messages.value if step else None) or () if m.role == "tool"]
    chunks = readable(retrieved_of(run) or ()) if told else ()
    return bool(chunks) and any(numbers(text) and not _holds_any(text, chunks) for text in told)


def _holds_any(told: str, chunks: Iterable[Chunk]) -> bool:
    seen = PromptText.of(told)
    return any(seen.survival(chunk.text).fate is not Fate.DROPPED for chunk in chunks)


def _filters(run: Run) -> tuple[str, ...]:
    written = (*(s.filters for s in run.retrievers), *(s.filters for s in run.rewriters))
    return tuple(filters for filters in written if filters)


def _numbers(pair: _Pair, index: int) -> Iterator[Measurement]:
    known = NumberIndex(pair.sources)
    resolved = _resolved_years(pair)
    added = _distinct(
        n
        for text in pair.rewrites
        for n in numbers(text)
        if not known.holds(n) and n.value not in resolved
    )
    kept = NumberIndex(pair.all_rewrites)
    spans = _spans_of_years(pair) if _is_relative(pair) else set()
    dropped = _distinct(
        n
        for n in numbers(pair.question)
        if not pair.reckons and not kept.holds(n) and n.value not in spans
    )
    yield measured(
        "rewriter.numbers_added",
        len(added),
        f"the rewrite adds {number_listing(added)}, which the question does not have"
        if added
        else "",
        step=index,
    )
    yield measured(
        "rewriter.numbers_dropped",
        len(dropped),
        f"the rewrite drops {number_listing(dropped)}" if dropped else "",
        step=index,
    )
    swapped = min(len(added), len(dropped))
    yield measured(
        "rewriter.numbers_swapped",
        swapped,
        f"the rewrite has {number_listing(added)} where the question has {number_listing(dropped)}"
        if swapped
        else "",
        step=index,
    )


def _spans_of_years(pair: _Pair) -> set[float]:
    """Return the years between one of a rewrite and one of the conversation."""
    told = _years(pair.sources)
    return {abs(year - other) for year in _years(pair.rewrites) for other in told}


def _resolved_years(pair: _Pair) -> set[float]:
    """Return the years that resolve "the summer before" against a year of the conversation."""
    if not _is_relative(pair):
        return set()
    told = _years(pair.sources)
    near = {year for year in _years(pair.rewrites) for other in told if abs(year - other) <= _NEAR}
    return near - told


def _is_relative(pair: _Pair) -> bool:
    return pair.follows and bool(RELATIVE_TIMES & set(words(pair.question)))


def _years(texts: Iterable[str]) -> set[float]:
    return {n.value for text in texts for n in numbers(text) if n.kind is NumberKind.YEAR}


def _names(pair: _Pair, index: int) -> Iterator[Measurement]:
    known = WordIndex(pair.sources)
    kept = WordIndex(pair.all_rewrites)
    added = [
        name.text
        for text in pair.rewrites
        for name in names(text)
        if name.words and not any(known.holds_name(word) for word in name.words)
    ]
    added = list(dict.fromkeys(added))
    dropped = [
        name.text
        for name in names(pair.question)
        if name.words and not all(kept.holds_name(word) for word in name.words[-1:])
    ]
    yield measured(
        "rewriter.names_added",
        len(added),
        f"the rewrite adds {listing(added)}, which the question does not name" if added else "",
        step=index,
    )
    yield measured(
        "rewriter.names_dropped",
        len(dropped),
        f"the rewrite drops {listing(dropped)}" if dropped else "",
        step=index,
    )
    swapped = min(len(added), len(dropped))
    yield measured(
        "rewriter.names_swapped",
        swapped,
        f"the rewrite names {listing(added)} where the question names {listing(dropped)}"
        if swapped
        else "",
        step=index,
    )


def _qualifiers(pair: _Pair, index: int) -> Iterator[Measurement]:
    asked = [w for w in words(pair.question) if w in QUALIFIERS]
    kept = WordIndex(pair.all_rewrites)
    known = WordIndex(pair.sources)
    resolved = RELATIVE_TIMES if _resolved_years(pair) else frozenset()
    dropped = list(dict.fromkeys(w for w in asked if not kept.holds(w) and w not in resolved))
    added = list(
        dict.fromkeys(
            w
            for text in pair.rewrites
            for w in words(text)
            if w in QUALIFIERS and not known.holds(w)
        )
    )
    yield measured(
        "rewriter.qualifiers_added",
        len(added),
        f"the rewrite adds {listing(added)}" if added else "",
        step=index,
    )
    yield measured(
        "rewriter.qualifiers_dropped",
        len(dropped),
        f"the rewrite drops {listing(dropped)}" if dropped else "",
        step=index,
    )


def _intent(pair: _Pair, index: int) -> Iterator[Measurement]:
    asked_negative = any(w in NEGATIONS for w in words(pair.question))
    negative = [any(w in NEGATIONS for w in words(text)) for text in pair.rewrites]
    # Keywords lose a negation in silence; only losing it in all rewrites, or adding it, counts.
    lost = asked_negative and not any(negative) and not pair.besides
    gained = not asked_negative and any(negative)
    yield measured(
        "rewriter.negation_changed",
        float(lost or gained),
        "the rewrite drops the question's negation"
        if lost
        else "the rewrite adds a negation"
        if gained
        else "",
        step=index,
    )
    kind = answer_kind(pair.question)
    texts = (*pair.rewrites, *pair.besides)
    changes = [(kinds_differ(kind, answer_kind(text)), answer_kind(text)) for text in texts]
    least, other = min(changes, key=lambda change: change[0])
    yield measured(
        "rewriter.answer_kind_changed",
        least,
        f"the question asks for {kind}, the rewrite for {other}" if least else "",
        step=index,
    )


def _words(pair: _Pair, index: int) -> Iterator[Measurement]:
    asked = content_words(pair.question)
    kept = WordIndex(pair.all_rewrites)
    known = WordIndex(pair.sources)
    dropped = [w for w in asked if not kept.holds_related(w)]
    used = content_words(" ".join(pair.rewrites))
    added = [w for w in used if not known.holds_related(w)]
    yield measured(
        "rewriter.words_dropped_share",
        len(dropped) / max(1, len(asked)),
        f"the rewrite leaves out {listing(dropped)}"
        if len(dropped) >= _NOTABLE_SHARE * len(asked) > 0
        else "",
        step=index,
    )
    yield measured(
        "rewriter.words_added_share",
        len(added) / max(1, len(used)),
        f"the rewrite brings in {listing(added)}"
        if len(added) >= _NOTABLE_SHARE * len(used) > 0
        else "",
        step=index,
    )


def _form(pair: _Pair, index: int) -> Iterator[Measurement]:
    same = any(words(text) == words(pair.question) for text in pair.rewrites)
    longest = max(len(words(text)) for text in pair.rewrites)
    yield measured("rewriter.rewrites", len(pair.rewrites), step=index)
    yield measured("rewriter.length_ratio", longest / max(1, len(words(pair.question))), step=index)
    yield measured(
        "rewriter.unchanged",
        float(same),
        "the rewrite keeps the question's words" if same else "",
        step=index,
    )


def _distinct(found: Iterable[Number]) -> Sequence[Number]:
    return tuple({number.value: number for number in found}.values())

"""A report to what it tells about its turn of a conversation: what a rewrite lost of the talk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_raglog.checks.reading import history_of, question_of, rewrites_of, text_of
from otel_raglog.checks.text.names import Name, names
from otel_raglog.checks.text.words import WordIndex, words
from otel_raglog.model import Report, RewriteKind, Run, Stage, StageVerdict
from otel_raglog.report.wording import Wording, wording_of

_LEANING = frozenset(
    [
        "he",
        "her",
        "hers",
        "him",
        "his",
        "it",
        "its",
        "one",
        "ones",
        "she",
        "that",
        "their",
        "theirs",
        "them",
        "there",
        "these",
        "they",
        "this",
        "those",
        "former",
        "latter",
        "instead",
    ]
)
_LEADING = frozenset(["and", "but", "or", "so", "also", "then"])
_MOST_SAID = 8
_MOST_NAMES = 8
_LAST_SAID = 4
"""Messages of the talk before in which a follow-up finds what it is about: two turns."""


@dataclass(frozen=True, slots=True)
class Referent:
    """What a follow-up leaves to the talk before it, and what its rewrites made of that.

    ``leans``: the question has a word such as *it* or *there*, or begins with *and*. ``named`` are
    how many names of the last turns the question lacks, ``kept`` how many of these a rewrite has.
    ``names`` are those that none has, the latest first; none where content is not kept.
    """

    leans: bool
    named: int
    kept: int
    names: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether the question leans on the talk, and no rewrite has any name of it."""
        return self.leans and self.named > 0 and self.kept == 0


@dataclass(frozen=True, slots=True)
class Told:
    """What a turn tells beside its texts.

    ``said`` are what the measurements of a faulty rewriter found, in words: the measurement's name
    and its evidence.
    """

    said: tuple[tuple[str, str], ...] = ()
    referent: Referent | None = None


def told_of(report: Report, *, content: bool) -> Told:
    """Return what ``report`` tells about its turn, without words that are redacted."""
    run = report.run
    wording = wording_of(run)
    rewritten = tuple(dict.fromkeys(t for step in run.rewriters for t in rewrites_of(step)))
    faulty = report.verdicts[Stage.REWRITER].verdict is StageVerdict.FAULTY
    return Told(
        said=_said(report, wording) if faulty else (),
        referent=_referent(run, rewritten, wording, content=content),
    )


def _said(report: Report, wording: Wording | None) -> tuple[tuple[str, str], ...]:
    shown = (wording.measured(item) if wording else item for item in report.measurements)
    found = dict.fromkeys(
        (item.name, item.evidence)
        for item in shown
        if item.stage is Stage.REWRITER and item.evidence and item.value
    )
    return tuple(found)[:_MOST_SAID]


def _referent(
    run: Run, rewrites: Sequence[str], wording: Wording | None, *, content: bool
) -> Referent | None:
    question = question_of(run)
    before = _before(run)
    if question is None or not before or not rewrites:
        return None
    asked, written = WordIndex([question]), WordIndex(rewrites)
    named = [
        name
        for text in reversed(before[-_LAST_SAID:])
        for name in names(text)
        if name.words and not any(asked.holds_name(word) for word in name.words)
    ]
    distinct: list[Name] = []
    for name in named:
        if all(set(name.words).isdisjoint(known.words) for known in distinct):
            distinct.append(name)
    distinct = distinct[:_MOST_NAMES]
    lost = [n for n in distinct if not any(written.holds_name(word) for word in n.words)]
    return Referent(
        leans=_leans(question),
        named=len(distinct),
        kept=len(distinct) - len(lost),
        names=tuple(
            name.text
            for name in lost
            if content and (wording is None or wording.may_show(name.text))
        ),
    )


def _before(run: Run) -> tuple[str, ...]:
    """Return what was said before, as far as the run tells: its history, or the rewriter's input."""
    history = history_of(run)
    if history:
        return history
    own = (text_of(s.input) for s in run.rewriters if s.kind is RewriteKind.CONDENSE)
    return tuple(text for text in own if text and text != question_of(run))


def _leans(question: str) -> bool:
    asked = list(words(question))
    return bool(_LEANING.intersection(asked)) or bool(asked and asked[0] in _LEADING)

"""Asks an LLM to class each statement of the answer that the context does not make."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.check import Declaration, Suspect, Unit, names_of
from otel_raglog.checks.judge.answers import Statements
from otel_raglog.checks.judge.instructions import instructions_of
from otel_raglog.checks.judge.judge_check import (
    PERCENT,
    Claim,
    confidence,
    declarations_of,
    questions_of,
)

_FAULTY = ("contradiction", "unsupported_answer", "added_detail")
_SOUND = ("harmless", "hedged")
_CONFIDENCES = ("unsupported_fact", "omits_item", "wrong_refusal", "other_question")


def _count(name: str, suspect: Suspect, what: str) -> Claim:
    """Return the claim of a count of statements; one of a faulty class is evidence."""
    return Claim(
        Declaration(f"generator.statements_{name}", Unit.COUNT, suspect, f"statements {what}"),
        f"a model counted {{count}} {what}",
        least=0.0,
    )


class StatementsCheck:
    """Counts of statements by class, the sum of the faulty ones, and four confidences."""

    name = "judge.statements"
    key = "statements"
    answer = Statements
    instructions = instructions_of(key)
    needs_answer = True
    claims = (
        _count("contradiction", Suspect.HIGH, "in contradiction to the passed chunks"),
        _count("unsupported_answer", Suspect.HIGH, "answering what was asked without support"),
        _count(
            "added_detail", Suspect.HIGH, "adding a name, number, date or place without support"
        ),
        _count("harmless", Suspect.NEITHER, "elaborating without harm"),
        _count("hedged", Suspect.NEITHER, "marked as uncertain or as general knowledge"),
        _count(
            "faulty",
            Suspect.HIGH,
            "of a faulty class (contradiction, unsupported answer, added detail)",
        ),
        confidence(
            "generator.statements_unsupported_fact",
            "a statement of the answer is a fact that the passed chunks do not state",
            "Taking the answer statement by statement: is one of them a contradiction of the passed "
            "chunks, an answer to what was asked without their support, or a name, number, date or "
            "place that they do not give?",
        ),
        confidence(
            "generator.statements_omits_item",
            "no statement of the answer gives an item that was asked for",
            "Taking the answer statement by statement: is there an item that the question asks for and "
            "that none of them gives?",
        ),
        confidence(
            "generator.statements_wrong_refusal",
            "the answer's statements decline what the passed chunks hold",
            "Taking the answer statement by statement: does one of them say that something asked for is "
            "not known although the passed chunks hold it?",
        ),
        confidence(
            "generator.statements_other_question",
            "the answer's statements are about another question",
            "Taking the answer statement by statement: are they, as a whole, about something else than "
            "what was asked?",
        ),
    )
    declarations = declarations_of(claims)
    measures = names_of(declarations)
    questions = questions_of(claims)

    def values(self, answer: Statements) -> Mapping[str, float]:
        """Return the counts, their sum over the faulty classes, and the confidences."""
        given = answer.model_dump()
        counts = {name: float(given[name]) for name in (*_FAULTY, *_SOUND)}
        counts["faulty"] = sum(counts[name] for name in _FAULTY)
        shares = {name: given[name] / PERCENT for name in _CONFIDENCES}
        return {f"generator.statements_{name}": value for name, value in (counts | shares).items()}

    def quotes(self, answer: Statements) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return nothing: the answer is numbers."""
        return {}

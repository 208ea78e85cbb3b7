"""Asks an LLM what information the question needs, and follows each piece to the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from otel_raglog.checks.check import Declaration, Suspect, Unit, names_of
from otel_raglog.checks.judge.answers import EvidenceFlow, Held, Piece, Treatment
from otel_raglog.checks.judge.instructions import instructions_of
from otel_raglog.checks.judge.judge_check import Claim, declarations_of, questions_of

_QUOTES = 3
_QUOTE_CHARACTERS = 200


def _share(name: str, suspect: Suspect, what: str, phrase: str = "", question: str = "") -> Claim:
    """Return the claim of a share of the pieces; one such piece is evidence."""
    meaning = f"share of the pieces of information that the question needs: {what}"
    return Claim(Declaration(name, Unit.SHARE, suspect, meaning), phrase, question, least=0.0)


class EvidenceFlowCheck:
    """Shares of the pieces by where they are held and what the answer does with them, and counts.

    Without pieces (the question needs no information) there are no shares.
    """

    name = "judge.evidence_flow"
    key = "evidence_flow"
    answer = EvidenceFlow
    instructions = instructions_of(key)
    needs_answer = True
    claims = (
        _share(
            "retriever.flow_passed_yes",
            Suspect.LOW,
            "held by the passed chunks",
            question="Do the passed chunks hold all the information that the question needs?",
        ),
        _share(
            "retriever.flow_passed_partly", Suspect.NEITHER, "held in part by the passed chunks"
        ),
        _share(
            "retriever.flow_passed_no",
            Suspect.HIGH,
            "not held by the passed chunks",
            "a model found {share} of the information that the question needs in no passed chunk",
            "Do the passed chunks hold none of the information that the question needs?",
        ),
        _share("retriever.flow_excluded_yes", Suspect.NEITHER, "held by the excluded chunks"),
        _share(
            "retriever.flow_excluded_partly", Suspect.NEITHER, "held in part by the excluded chunks"
        ),
        _share("retriever.flow_excluded_no", Suspect.NEITHER, "not held by the excluded chunks"),
        _share(
            "retriever.flow_held",
            Suspect.LOW,
            "held by passed or by excluded chunks",
            question="Do all chunks together, passed and excluded, hold all the information that the "
            "question needs?",
        ),
        _share(
            "retriever.flow_nowhere",
            Suspect.HIGH,
            "held by no chunk at all, passed or excluded",
            "a model found {share} of the information that the question needs in no retrieved chunk",
            "Do all chunks together, passed and excluded, hold none of the information that the "
            "question needs?",
        ),
        Claim(
            Declaration(
                "retriever.flow_pieces",
                Unit.COUNT,
                Suspect.NEITHER,
                "how many pieces of information a model holds that the question needs",
            )
        ),
        _share(
            "reranker.flow_lost",
            Suspect.HIGH,
            "held by the excluded chunks, and not, or in part, by the passed ones",
            "a model found {share} of the information that the question needs in excluded chunks only",
            "Do the excluded chunks hold information that the question needs and that the passed "
            "chunks lack?",
        ),
        _share("generator.flow_stated", Suspect.NEITHER, "stated by the answer"),
        _share(
            "generator.flow_omitted",
            Suspect.HIGH,
            "left out by the answer",
            "a model found {share} of the information that the question needs left out by the answer",
        ),
        _share(
            "generator.flow_different",
            Suspect.HIGH,
            "given by the answer otherwise than by the chunks",
            "a model found {share} of the information that the question needs given otherwise by the "
            "answer than by the chunks",
        ),
        _share("generator.flow_said_unknown", Suspect.NEITHER, "said by the answer to be unknown"),
        _share(
            "generator.flow_omits_held",
            Suspect.HIGH,
            "held by the passed chunks and not stated by the answer",
            "a model found {share} of the information that the question needs in passed chunks, "
            "and not so in the answer",
            "Is there information that the question needs, and that the passed chunks hold, but that "
            "the answer does not state as they do?",
        ),
        _share(
            "generator.flow_unfounded",
            Suspect.HIGH,
            "not held by the passed chunks and stated by the answer all the same",
            "a model found {share} of the information that the question needs in no passed chunk, "
            "and in the answer all the same",
            "Does the answer state information that the question needs although the passed chunks do "
            "not hold it?",
        ),
        Claim(
            Declaration(
                "generator.flow_unsupported",
                Unit.COUNT,
                Suspect.HIGH,
                "how many statements of the answer a model found without support",
            ),
            "a model found {count} without support in the passed chunks",
            least=0.0,
        ),
        Claim(
            Declaration(
                "generator.flow_refuses",
                Unit.FLAG,
                Suspect.NEITHER,
                "1 when a model holds that the answer declines to answer",
            ),
            question="Does the answer decline to answer, or say that it does not know?",
        ),
    )
    declarations = declarations_of(claims)
    measures = names_of(declarations)
    questions = questions_of(claims)

    def values(self, answer: EvidenceFlow) -> Mapping[str, float]:
        """Return the shares, where there are pieces, and the counts."""
        pieces = answer.pieces
        shares = {
            name: sum(map(is_so, pieces)) / len(pieces) for name, is_so in _SHARES.items() if pieces
        }
        return {
            **shares,
            "retriever.flow_pieces": float(len(pieces)),
            "generator.flow_unsupported": float(answer.unsupported_statements),
            "generator.flow_refuses": float(answer.refusal),
        }

    def quotes(self, answer: EvidenceFlow) -> Mapping[str, tuple[str, ...]]:
        """Return up to three pieces, cut to 200 characters, that make each share."""
        return {
            name: tuple(piece.piece[:_QUOTE_CHARACTERS] for piece in answer.pieces if is_so(piece))[
                :_QUOTES
            ]
            for name, is_so in _SHARES.items()
        }


_SHARES: Mapping[str, Callable[[Piece], bool]] = {
    "retriever.flow_passed_yes": lambda piece: piece.passed is Held.YES,
    "retriever.flow_passed_partly": lambda piece: piece.passed is Held.PARTLY,
    "retriever.flow_passed_no": lambda piece: piece.passed is Held.NO,
    "retriever.flow_excluded_yes": lambda piece: piece.excluded is Held.YES,
    "retriever.flow_excluded_partly": lambda piece: piece.excluded is Held.PARTLY,
    "retriever.flow_excluded_no": lambda piece: piece.excluded is Held.NO,
    "retriever.flow_held": lambda piece: Held.YES in {piece.passed, piece.excluded},
    "retriever.flow_nowhere": lambda piece: {piece.passed, piece.excluded} == {Held.NO},
    "reranker.flow_lost": lambda piece: piece.excluded is Held.YES and piece.passed is not Held.YES,
    "generator.flow_stated": lambda piece: piece.answer is Treatment.STATED,
    "generator.flow_omitted": lambda piece: piece.answer is Treatment.OMITTED,
    "generator.flow_different": lambda piece: piece.answer is Treatment.DIFFERENT,
    "generator.flow_said_unknown": lambda piece: piece.answer is Treatment.SAID_UNKNOWN,
    "generator.flow_omits_held": lambda piece: (
        piece.passed is Held.YES and piece.answer is not Treatment.STATED
    ),
    "generator.flow_unfounded": lambda piece: (
        piece.passed is Held.NO and piece.answer in {Treatment.STATED, Treatment.DIFFERENT}
    ),
}
"""Which pieces each share counts."""

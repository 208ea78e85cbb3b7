"""Measures the answer against the prompt's context and the question, by sentence embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
    not_applicable,
)
from otel_raglog.checks.reading import Context, claims_of, context_of, question_forms
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import relevances, text_similarities
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.model import Measurement, Run, Stage

_MAX_SENTENCES = 12
_FEWEST_WORDS = 3
_LOW_SIMILARITY = 0.5
_SENTENCE_WORDS = 6


def _drift(answer: str, similarity: float) -> Measurement:
    """Return one minus the answer's similarity to the question, for answers in whole sentences."""
    if refuses(answer) or len(answer.split()) < _SENTENCE_WORDS:
        return not_applicable("generator.answer_drift", "the answer is no statement")
    return measured(
        "generator.answer_drift",
        1.0 - similarity,
        f"the answer is only {similarity:.2f} similar to the question"
        if similarity < _LOW_SIMILARITY
        else "",
    )


class GeneratorSimilarity:
    """Answer to context, answer to question, and the refusal or answer against the context.

    The context's relevance to the question tells whether an answer was due: a refusal in front
    of a relevant chunk, or an answer in front of none, is what ``refusal_despite_evidence`` and
    ``answer_without_evidence`` measure.
    """

    name = "similarity.generator"
    stage = Stage.GENERATOR
    declarations = (
        Declaration(
            "generator.context_relevance",
            Unit.RELEVANCE,
            Suspect.LOW,
            "highest relevance of a piece of the prompt's context",
        ),
        Declaration(
            "generator.answer_context_similarity",
            Unit.COSINE,
            Suspect.LOW,
            "the answer's sentences to their nearest chunk, mean",
        ),
        Declaration(
            "generator.answer_question_similarity",
            Unit.COSINE,
            Suspect.NEITHER,
            "answer to question",
        ),
        Declaration(
            "generator.answer_drift",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "one minus answer_question_similarity, for answers of six words or more",
        ),
        Declaration(
            "generator.weakest_sentence",
            Unit.COSINE,
            Suspect.LOW,
            "the answer's sentences to their nearest chunk, least",
        ),
        Declaration(
            "generator.refusal_despite_evidence",
            Unit.RELEVANCE,
            Suspect.HIGH,
            "context_relevance, of answers that decline",
        ),
        Declaration(
            "generator.answer_without_evidence",
            Unit.RELEVANCE,
            Suspect.HIGH,
            "one minus context_relevance, of answers that do not",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a generator."""
        if not run.generators:
            return
        forms, answer, context = question_forms(run), claims_of(run), context_of(run)
        if not forms or not answer or not answer.strip() or context is None:
            yield from all_not_applicable(self.measures, "no question, answer or prompt")
            return
        yield from self._evidence(forms, answer, context)
        yield from self._answer(forms, answer, context)

    def _evidence(
        self, forms: tuple[str, ...], answer: str, context: Context
    ) -> Iterator[Measurement]:
        pieces = [piece for piece in context.pieces if piece.strip()]
        found = relevances(forms, pieces, self._encoder)
        best = max((relevance.total for relevance in found), default=0.0)
        declines = refuses(answer)
        yield measured(
            "generator.context_relevance",
            best,
            f"the best piece of context has a relevance of {best:.2f} to the question",
        )
        if declines:
            yield measured(
                "generator.refusal_despite_evidence",
                best,
                "the answer declines although the prompt holds a chunk with a relevance of "
                f"{best:.2f} to the question",
            )
            yield not_applicable("generator.answer_without_evidence", "the answer declines")
            return
        yield not_applicable("generator.refusal_despite_evidence", "the answer does not decline")
        yield measured(
            "generator.answer_without_evidence",
            1.0 - best,
            "the question is answered although nothing in the prompt has a relevance above "
            f"{best:.2f} to it",
        )

    def _answer(
        self, forms: tuple[str, ...], answer: str, context: Context
    ) -> Iterator[Measurement]:
        (to_question,) = text_similarities(forms[0], [answer], self._encoder)
        yield measured(
            "generator.answer_question_similarity",
            to_question,
            f"the answer's meaning is {to_question:.2f} similar to the question's",
        )
        yield _drift(answer, to_question)
        pieces = [piece for piece in context.pieces if piece.strip()]
        read = [s for s in sentences(answer) if len(s.split()) >= _FEWEST_WORDS][:_MAX_SENTENCES]
        if not pieces or refuses(answer) or not read:
            reason = "no context, or no statement in the answer"
            yield not_applicable("generator.answer_context_similarity", reason)
            yield not_applicable("generator.weakest_sentence", reason)
            return
        each = [max(text_similarities(s, pieces, self._encoder)) for s in read]
        weakest = min(range(len(each)), key=each.__getitem__)
        yield measured("generator.answer_context_similarity", sum(each) / len(each))
        yield measured(
            "generator.weakest_sentence",
            each[weakest],
            f"sentence {weakest + 1} of the answer is only {each[weakest]:.2f} similar to the context"
            if each[weakest] < _LOW_SIMILARITY
            else "",
            quotes=(read[weakest][:300],),
        )

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
from otel_raglog.checks.reading import (
    Context,
    claims_of,
    context_of,
    history_of,
    question_forms,
    question_of,
)
from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.similarity.relevance import relevances, text_similarities
from otel_raglog.checks.text.names import Name, names
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex, content_words
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


def _new_names(run: Run) -> tuple[Name, ...]:
    """Return what a follow-up question names that the talk before does not.

    It asks the same of something else: what says it of the former is no answer.
    """
    question, history = question_of(run), history_of(run)
    if question is None or not (history or _is_completed(question, question_forms(run))):
        return ()
    told = WordIndex(history)
    return tuple(
        name for name in names(question) if name.words and not any(map(told.holds_name, name.words))
    )


def _is_completed(question: str, forms: tuple[str, ...]) -> bool:
    """Tell whether a question's other form says what it leaves out."""
    said = WordIndex.of(question)
    return any(not said.holds_related(word) for form in forms for word in content_words(form))


def _mentions(piece: str, new: tuple[Name, ...]) -> bool:
    """Tell whether a text has a word of each name."""
    index = WordIndex.of(piece)
    return all(any(map(index.holds_name, name.words)) for name in new)


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
        yield from self._evidence(forms, answer, context, _new_names(run))
        yield from self._answer(forms, answer, context)

    def _evidence(
        self, forms: tuple[str, ...], answer: str, context: Context, new: tuple[Name, ...]
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
            if new:
                best = self._evidence_of_new(forms, pieces, new)
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

    def _evidence_of_new(
        self, forms: tuple[str, ...], pieces: list[str], new: tuple[Name, ...]
    ) -> float:
        """Return the relevance of the best piece that mentions what a follow-up newly names.

        A follow-up of names alone ("and on the Aurelia?") says what it asks only in its other form.
        """
        bare = set(content_words(forms[0])) <= {word for name in new for word in name.words}
        asked = forms[1:] if bare and len(forms) > 1 else forms
        about = [piece for piece in pieces if _mentions(piece, new)]
        found = relevances(asked, about, self._encoder)
        return max((relevance.total for relevance in found), default=0.0)

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

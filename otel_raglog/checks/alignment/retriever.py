"""Measures whether a sentence of what was retrieved fits the question, token by token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from otel_raglog.checks.alignment.fit import TOP, asked_of, fit_of
from otel_raglog.checks.alignment.tokens import sentences_of
from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.phrases import chunk_name
from otel_raglog.checks.reading import chunk_text, question_forms, readable, retrieved_of
from otel_raglog.checks.similarity.encoder import TokenEncoder
from otel_raglog.model import Measurement, Run, Stage


class RetrieverAlignment:
    """The retrieved sentence that fits the question best, and whether one has what is asked for.

    A sentence fits by its tokens and those of the two sentences around it: documents name a thing
    in one sentence and say what was asked in the next.
    """

    name = "alignment.retriever"
    stage = Stage.RETRIEVER
    declarations = (
        Declaration(
            "retriever.token_fit",
            Unit.COSINE,
            Suspect.LOW,
            "mean match of the question's content tokens in the best three neighbouring sentences",
        ),
        Declaration(
            "retriever.token_fit_least",
            Unit.COSINE,
            Suspect.LOW,
            "the same for the question's worst matched token",
        ),
        Declaration(
            "retriever.token_fit_weighted",
            Unit.COSINE,
            Suspect.LOW,
            "the same as a mean over words, names and numbers counting double",
        ),
        Declaration(
            "retriever.sentence_similarity",
            Unit.COSINE,
            Suspect.LOW,
            "cosine of the question and the most similar single sentence",
        ),
        Declaration(
            "retriever.asked_kind_fit",
            Unit.COSINE,
            Suspect.LOW,
            "token fit of the best sentence that holds something of the asked kind (a person, a "
            "place, a time, a number, a reason), 0 when none does",
        ),
        Declaration(
            "retriever.asked_kind_gap",
            Unit.DIFFERENCE,
            Suspect.HIGH,
            "token fit of the best sentence minus that of the best which holds the asked kind",
        ),
        Declaration(
            "retriever.asked_kind_near",
            Unit.FLAG,
            Suspect.LOW,
            "1 when one of the three sentences that fit best holds something of the asked kind",
        ),
    )
    measures = names_of(declarations)
    _of_kind = (
        "retriever.asked_kind_fit",
        "retriever.asked_kind_gap",
        "retriever.asked_kind_near",
    )

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a retriever."""
        if not run.retrievers:
            return
        forms = question_forms(run)
        chunks = readable(retrieved_of(run) or ())
        found = sentences_of([chunk_text(chunk) for chunk in chunks], self._encoder)
        if not forms or found is None:
            yield from all_not_applicable(self.measures, "no question or no chunk text")
            return
        fit = fit_of(forms, found, self._encoder)
        rank = int(found.pieces[fit.best])
        yield measured(
            "retriever.token_fit",
            float(np.max(fit.mean)),
            f"the best place in what was retrieved, in {chunk_name(rank + 1, chunks[rank])}, fits "
            f"the question's words by {np.max(fit.mean):.2f}",
            quotes=(found.texts[fit.best][:300],),
        )
        yield measured("retriever.token_fit_least", float(np.max(fit.least)))
        yield measured("retriever.token_fit_weighted", float(np.max(fit.weighted)))
        yield measured("retriever.sentence_similarity", float(np.max(fit.similarity)))
        asked = asked_of(fit.question, found)
        if asked is None:
            reason = "the question asks for nothing that is told by its form"
            yield from all_not_applicable(self._of_kind, reason)
            return
        yield from _of_kind(asked.holding, fit.mean.tolist(), fit.top, str(asked.kind))


def _of_kind(
    holding: tuple[int, ...], fits: list[float], top: tuple[int, ...], kind: str
) -> Iterator[Measurement]:
    best = max((fits[i] for i in holding), default=0.0)
    near = bool(set(top) & set(holding))
    yield measured(
        "retriever.asked_kind_fit",
        best,
        "" if holding else f"the question asks for {kind}, and no retrieved sentence holds one",
    )
    yield measured("retriever.asked_kind_gap", max(fits) - best)
    yield measured(
        "retriever.asked_kind_near",
        float(near),
        ""
        if near
        else f"the question asks for {kind}, and none of the {TOP} sentences that fit it best "
        "holds one",
    )

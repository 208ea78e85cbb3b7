"""A run to what became of each of its documents: retrieved, reranked, in the prompt, used."""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog.checks.reading import (
    chunk_text,
    chunks_of,
    claims_of,
    prompt_of,
    question_of,
    retrieved_of,
    selected_of,
)
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.survival import Fate, PromptText
from otel_raglog.checks.text.words import WordIndex, content_words
from otel_raglog.mapping.chunks import places
from otel_raglog.model import Chunk, Run

MAX_DOCUMENTS = 60
_MAX_WORDS = 200
_USED = 0.5
_NEAR_BEST = 0.8
_ANSWER_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Document:
    """One chunk on its way to the answer; ranks count from 1.

    ``retrieved`` is its rank among all that was retrieved, ``None`` when it was selected without
    being seen there. ``reranked`` is its rank in what the last reranker passed on, 0 when that
    excluded it, ``None`` without a reranker. ``fate`` is what became of its text in the prompt,
    ``None`` when prompt or text were not recorded. ``answer_share`` is the share of the answer's
    own words (those that the question does not have) that it holds in some form, in [0, 1];
    ``None`` when nothing is claimed or its text was not recorded. ``used`` tells that it is in the
    prompt and holds at least half of these words, and nearly as many as the best one.
    """

    id: str | None
    retrieved: int | None
    reranked: int | None
    fate: Fate | None
    kept: float | None
    answer_share: float | None
    used: bool | None


def documents_of(run: Run) -> tuple[Document, ...]:
    """Return the fate of each retrieved chunk, in order, then of selected ones not among them.

    At most the first sixty. No text of theirs is in it.
    """
    retrieved = retrieved_of(run) or ()
    selected = selected_of(run) or ()
    others = tuple(
        chunk
        for chunk, place in zip(selected, places(selected, retrieved), strict=True)
        if place is None
    )
    chunks = (*retrieved, *others)[:MAX_DOCUMENTS]
    ranks = _reranks(run, chunks)
    prompt = prompt_of(run)
    seen = PromptText.of(prompt) if prompt is not None else None
    shares = _shares(run, chunks)
    survivals = [
        seen.survival(chunk.text) if seen is not None and chunk.text.strip() else None
        for chunk in chunks
    ]
    best = max(
        (
            share
            for share, survival in zip(shares, survivals, strict=True)
            if share is not None and (survival is None or survival.fate is not Fate.DROPPED)
        ),
        default=0.0,
    )
    return tuple(
        Document(
            chunk.id,
            number + 1 if number < len(retrieved) else None,
            ranks[number],
            survival.fate if survival is not None else None,
            survival.kept if survival is not None else None,
            share,
            None
            if share is None or survival is None
            else survival.fate is not Fate.DROPPED and share >= max(_USED, _NEAR_BEST * best),
        )
        for number, (chunk, survival, share) in enumerate(
            zip(chunks, survivals, shares, strict=True)
        )
    )


def _reranks(run: Run, chunks: tuple[Chunk, ...]) -> list[int | None]:
    passed = next(
        (found for s in reversed(run.rerankers) if (found := chunks_of(s.selected)) is not None),
        None,
    )
    if passed is None:
        return [None] * len(chunks)
    return [0 if place is None else place + 1 for place in places(chunks, passed)]


def _shares(run: Run, chunks: tuple[Chunk, ...]) -> list[float | None]:
    answer, question = claims_of(run), question_of(run)
    if answer is None or not answer.strip() or refuses(answer):
        return [None] * len(chunks)
    asked = WordIndex.of(question or "")
    stated = content_words(answer[:_ANSWER_CHARACTERS])
    own = [word for word in stated if not asked.holds_related(word)][:_MAX_WORDS]
    if not own:
        return [None] * len(chunks)
    return [_share(own, chunk) if chunk.text.strip() else None for chunk in chunks]


def _share(own: list[str], chunk: Chunk) -> float:
    index = WordIndex.of(chunk_text(chunk))
    return sum(index.holds_related(word) for word in own) / len(own)


def way_of(document: Document) -> str:
    """Return a document's way in words: ``retrieved 1 → reranked 2 → in the prompt → used (80 %)``."""
    parts = [f"retrieved {document.retrieved}" if document.retrieved else "not seen retrieved"]
    if document.reranked is not None:
        parts.append(f"reranked {document.reranked}" if document.reranked else "excluded")
    if document.fate is not None:
        parts.append(_FATES[document.fate].format(document.kept))
    if document.answer_share is not None:
        used = "used" if document.used else "not used"
        parts.append(f"{used} ({document.answer_share:.0%} of the answer's own words)")
    return " → ".join(parts)


_FATES = {
    Fate.INTACT: "in the prompt",
    Fate.REFORMATTED: "in the prompt, reformatted",
    Fate.TRUNCATED: "cut in the prompt ({:.0%} kept)",
    Fate.PARTIAL: "partly in the prompt ({:.0%} kept)",
    Fate.DROPPED: "not in the prompt",
}

"""Turns a run's fields into the texts that checks compare, or None where they were not recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from otel_raglog.checks.text.citations import Cited, without_citations
from otel_raglog.checks.text.claims import without_code
from otel_raglog.checks.text.survival import PromptText
from otel_raglog.checks.text.words import content_words, words
from otel_raglog.mapping.statements import is_statement
from otel_raglog.mapping.structured import structured_answer
from otel_raglog.mapping.texts import without_markup
from otel_raglog.model import Chunk, Field, GenerateStep, RewriteKind, RewriteStep, Run

_READ_CHARACTERS = 20_000
"""Of a question, a rewrite or a turn: ten pages, so that no work on them is unbounded."""

_MOST_PARAGRAPHS = 1_000
"""Of a context; each is looked for in all that is known."""

_HALF = 0.5
_TURN_CHARACTERS = 600
_MOST_FORMS = 3
_FEWEST_CONTEXT_WORDS = 12


def text_of(field: Field[str]) -> str | None:
    """Return the field's text when it may be read and says something."""
    return field.value if field.usable and field.value and field.value.strip() else None


def shortened(text: str) -> str:
    """Return a text of at most 20,000 characters; of a longer one the first and the last half of that.

    Whoever asks about a document writes the question in front of it, or behind.
    """
    if len(text) <= _READ_CHARACTERS or len(text := text.strip()) <= _READ_CHARACTERS:
        return text
    half = _READ_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def question_of(run: Run) -> str | None:
    """Return the question (shortened), ``None`` when it was not recorded."""
    question = text_of(run.question)
    return None if question is None else shortened(question)


def history_of(run: Run) -> tuple[str, ...]:
    """Return the texts of earlier turns (shortened), oldest first."""
    if not run.history.usable or run.history.value is None:
        return ()
    return tuple(shortened(message.content) for message in run.history.value)


def question_forms(run: Run) -> tuple[str, ...]:
    """Return the question as asked, and as it stands in its conversation.

    A follow-up ("and for interns?") says what it is about only together with the turn before;
    without a recorded history, a condensed rewrite is the nearest thing to that. A text is
    relevant to the question when it is relevant to one of its forms. Empty without a question.
    """
    question = question_of(run)
    if question is None:
        return ()
    if run.history.usable and run.history.value:
        asked = [m.content for m in run.history.value if m.role in {"user", "human"}]
        return (question, *(f"{turn[-_TURN_CHARACTERS:]}\n{question}" for turn in asked[-1:]))
    condensed = (
        rewrite
        for step in run.rewriters
        if step.kind is RewriteKind.CONDENSE
        for rewrite in rewrites_of(step)
    )
    return tuple(dict.fromkeys((question, *condensed)))[:_MOST_FORMS]


def rewrites_of(step: RewriteStep) -> tuple[str, ...]:
    """Return the step's rewrites (shortened) that say something."""
    if not step.rewrites.usable or step.rewrites.value is None:
        return ()
    return tuple(shortened(rewrite) for rewrite in step.rewrites.value if rewrite.strip())


def faithful_rewrites(run: Run) -> tuple[str, ...]:
    """Return all rewrites of the run except hypothetical passages (HyDE)."""
    return tuple(
        rewrite
        for step in run.rewriters
        if step.kind is not RewriteKind.HYDE
        for rewrite in rewrites_of(step)
    )


def searched_besides(run: Run, step: RewriteStep) -> tuple[str, ...]:
    """Return the question where it was itself searched for, beside the step's rewrites (step-back).

    Not where that search was over before the step: it may have been in vain.
    """
    question = question_of(run)
    asked = words(question or "")
    begin = step.origin.start_unix_nano
    beside = (
        retriever.query.value
        for retriever in run.retrievers
        if begin and not retriever.fused and retriever.origin.start_unix_nano >= begin
    )
    same = question is not None and any(words(shortened(query or "")) == asked for query in beside)
    return (question,) if question is not None and same else ()


def chunks_of(field: Field[tuple[Chunk, ...]]) -> tuple[Chunk, ...] | None:
    """Return the field's chunks, ``None`` when they were not recorded."""
    return field.value if field.usable else None


def chunk_text(chunk: Chunk) -> str:
    """Return the chunk's text with its title in front, as retrievers index it."""
    if chunk.title and not chunk.text.lstrip().startswith(chunk.title):
        return f"{chunk.title}: {chunk.text}"
    return chunk.text


def readable(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """Return the chunks whose text was recorded."""
    return tuple(chunk for chunk in chunks if chunk.text.strip())


def retrieved_of(run: Run) -> tuple[Chunk, ...] | None:
    """Return the union of what all retrieval steps returned, in order; ``None`` when unknown.

    A text that several steps returned is one chunk; one that a step returned twice is two.
    A step whose chunks were not recorded makes the union unknown only when no other was: a
    fused step and the steps that it fuses are the same chunks.
    """
    known = [chunks for step in run.retrievers if (chunks := chunks_of(step.chunks)) is not None]
    if not known:
        return None
    union: list[Chunk] = []
    seen: set[str] = set()
    for chunks in known:
        # Tools number their results anew each time: an id is no identity where there is a text.
        keys = [" ".join(chunk.text.split()) or f"id:{chunk.id}" for chunk in chunks]
        union += [chunk for chunk, key in zip(chunks, keys, strict=True) if key not in seen]
        seen.update(keys)
    return tuple(union)


def selected_of(run: Run) -> tuple[Chunk, ...] | None:
    """Return what was selected for the prompt: by assembly, else reranker, else retriever."""
    for field in (
        *(step.selected for step in reversed(run.assemblies)),
        *(step.selected for step in reversed(run.rerankers)),
    ):
        chunks = chunks_of(field)
        if chunks is not None:
            return chunks
    return retrieved_of(run)


def answering_step(run: Run) -> GenerateStep | None:
    """Return the step that answers: the last generation."""
    return run.generators[-1] if run.generators else None


def answer_of(run: Run) -> str | None:
    """Return the answer, of the run or of the step that answers; ``""`` when it is empty."""
    step = answering_step(run)
    fields: tuple[Field[str], ...] = (run.answer, *((step.answer,) if step else ()))
    for field in fields:
        if field.usable and field.value is not None:
            return field.value
    return None


def claims_of(run: Run) -> str | None:
    """Return the answer in the words of the call that saw the context; ``""`` when it is empty.

    Where a later call put it into other words (tone, format, language), these are no claims;
    neither are citations, code, nor what stands in JSON beside the answer.
    """
    said = _said(run)
    return said and _in_words(said)


def answers_in_code(run: Run) -> bool:
    """Tell whether the answer is code, and nothing in words."""
    said = (_said(run) or "").strip()
    return bool(said) and (is_statement(said) or not _in_words(said).strip())


def _in_words(said: str) -> str:
    return without_code(without_citations(said).text)


def cited_in(run: Run) -> Cited:
    """Return the answer as :func:`claims_of` has it, with what it cites."""
    return without_citations(_said(run) or "")


def _said(run: Run) -> str | None:
    step = answering_step(run)
    said = (text_of(step.draft) if step else None) or answer_of(run)
    return said and (structured_answer(said) or said)


def restated(run: Run) -> str:
    """Return the answer as a later call worded it, ``""`` without one or in another language.

    What it says beyond the draft in numbers and names is a claim; a translation may write them
    otherwise.
    """
    step = answering_step(run)
    draft = text_of(step.draft) if step else None
    answer = answer_of(run)
    if draft is None or not answer:
        return ""
    words = set(content_words(draft))
    carried = words & set(content_words(answer))
    return without_markup(answer) if len(carried) >= _HALF * len(words) else ""


def prompt_of(run: Run) -> str | None:
    """Return all text of the prompts that the calls which made the answer got."""
    for assembly in reversed(run.assemblies):
        prompt = text_of(assembly.prompt)
        if prompt is not None:
            return prompt
    step = answering_step(run)
    if step is None or not step.messages.usable or not step.messages.value:
        return None
    return "\n\n".join(message.content for message in step.messages.value) or None


@dataclass(frozen=True, slots=True)
class Context:
    """What the model saw: pieces in order, and all text whose numbers and names are known to it.

    ``assumed`` tells that no prompt was recorded and the selected chunks stand in for it.
    """

    pieces: tuple[str, ...]
    known: str
    assumed: bool = False


def context_of(run: Run) -> Context | None:
    """Return what the generator had to answer from: the prompt's chunks, never what retrieval had.

    Selected chunks of which at least half is in the prompt are pieces as they are; when none
    is, the context part of the prompt is one piece (without the question; none when hardly a
    sentence is left although chunks were selected). The prompt of a call that saw only what
    others had made of the chunks is a piece more; so are the paragraphs of the context when the
    text of a selected chunk was not recorded. Without a prompt the selected chunks are
    taken to have been passed. ``None`` when neither was recorded.
    """
    prompt = prompt_of(run)
    selected = selected_of(run)
    if prompt is None:
        if selected is None:
            return None
        pieces = tuple(chunk_text(chunk) for chunk in readable(selected))
        return Context(pieces, "\n".join(pieces), assumed=True)
    seen = PromptText.of(prompt)
    kept = tuple(
        chunk_text(chunk)
        for chunk in readable(selected or ())
        if seen.survival(chunk.text).kept >= _HALF
    )
    if kept:
        more = (*_unrecorded(run, selected or (), kept), *_reduced(run, prompt, selected or ()))
        return Context((*kept, *more), prompt)
    context = _prompt_context(run)
    if context is None and run.assemblies and run.assemblies[-1].context.usable:
        return Context((), prompt)
    rest = _without(context or prompt, text_of(run.question))
    # Beside known chunks, of which none is in the prompt, a short rest is instruction. Where
    # no text of a chunk was recorded, even a short one may be the context.
    fewest = _FEWEST_CONTEXT_WORDS if _can_tell(selected) else 1
    return Context((rest,) if len(content_words(rest)) >= fewest else (), prompt)


def _prompt_context(run: Run) -> str | None:
    """Return the context part of the prompt, as the last assembly that recorded one has it."""
    return next(
        (text for step in reversed(run.assemblies) if (text := text_of(step.context))), None
    )


def _can_tell(selected: tuple[Chunk, ...] | None) -> bool:
    """Tell whether what was selected is known: nothing at all, or chunks that can be read."""
    return selected is not None and (not selected or bool(readable(selected)))


def _unrecorded(run: Run, selected: Iterable[Chunk], kept: Iterable[str]) -> tuple[str, ...]:
    """Return the paragraphs of the context that may be chunks whose text was not recorded.

    Or that were lost whole, where attributes were dropped.
    """
    evicted = bool(run.loss.gaps or run.loss.dropped_attributes)
    if all(chunk.text.strip() for chunk in selected) and not evicted:
        return ()
    known = " ".join(" ".join(kept).split())
    paragraphs = (_prompt_context(run) or "").split("\n\n", _MOST_PARAGRAPHS)
    return tuple(
        text for text in paragraphs if text.strip() and " ".join(text.split()) not in known
    )


def _reduced(run: Run, prompt: str, selected: Iterable[Chunk]) -> tuple[str, ...]:
    """Return the answering call's own prompt when it holds none of the chunks.

    It saw what other calls had made of them (map and reduce, sub-questions): to find the
    question answered there is its work.
    """
    step = answering_step(run)
    if step is None or not step.messages.usable or not step.messages.value:
        return ()
    own = "\n\n".join(message.content for message in step.messages.value)
    if own == prompt:
        return ()
    seen = PromptText(own)
    if any(seen.survival(chunk.text).kept >= _HALF for chunk in readable(selected)):
        return ()
    return (_without(own, text_of(run.question)),)


def _without(text: str, question: str | None) -> str:
    """Return ``text`` without the question, which would make any prompt look relevant to it."""
    return text.replace(question.strip(), " ") if question else text

"""The prompts that made an answer, and what was selected for them, to the assembly step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.mapping.collapse import Call, View, origin_of
from otel_raglog.mapping.context import context_in
from otel_raglog.mapping.roles import SYNTHESIS_NAME
from otel_raglog.mapping.texts import folded, holds, normal, pieces_of
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import (
    AssemblyStep,
    Chunk,
    Field,
    FieldStatus,
    Message,
    Provenance,
    Role,
    SpanFacts,
    StepOrigin,
)

_TOLD = "\u2026"
"""Stands in a prompt for what an earlier call of the same answer said."""

_FEWEST_WORDS = 4
"""Words from which an output is known again anywhere in a prompt; "yes" is in many."""

_MAX_PIECES = 60


def find_assembly(
    view: View,
    family: Sequence[Call],
    selected: Field[tuple[Chunk, ...]],
    question: Field[str],
) -> AssemblyStep:
    """Return the making of the prompts of ``family``, whose last call is the one that answers.

    A synthesizer that answers in several calls (refine, tree) showed the model the chunks in
    all of them: their prompts and their contexts count together. What these calls told one
    another (the answer to refine) is cut out of the prompt: it is no evidence.
    """
    call = family[-1]
    origin = _origin(view, call)
    said = _declared(view, call)
    if said is not None and said.documents.usable:
        selected = said.documents
    if not call.messages.usable:
        lost: Field[str] = Field(None, call.messages.status, call.messages.source)
        return AssemblyStep(origin, selected, lost, lost)
    readable = [member for member in family if member.messages.usable]
    contexts: list[str] = []
    for member in readable:
        found = context_in(
            member.messages.value or (),
            template_variables(view, member),
            selected.value or (),
            question.value,
        )
        contexts.append(member.prompt if found is None else found)
    cut = len(readable) < len(family) or any(
        member.messages.status is FieldStatus.TRUNCATED for member in readable
    )
    status = FieldStatus.TRUNCATED if cut else call.messages.status
    text = "\n\n".join(_without_contained(contexts))
    told = _told(readable, selected.value or ())
    prompts = [_without_told(member, told) for member in readable]
    prompt = "\n\n".join(_without_contained(prompts))
    found_in = _source_of(text, call)
    return AssemblyStep(
        origin=origin,
        selected=selected,
        context=Field(text, status if text.strip() else FieldStatus.EMPTY, found_in),
        prompt=Field(prompt, status, call.messages.source),
    )


def _source_of(text: str, call: Call) -> Provenance | None:
    """Return where a text of the prompt was read: instructions may have a place of their own."""
    source = call.messages.source
    holding = [message for message in call.messages.value or () if text and text in message.content]
    if source is None or not holding or not all(message.key for message in holding):
        return source
    return replace(source, key=holding[0].key)


def _declared(view: View, call: Call) -> SpanFacts | None:
    """Return what a span says that a user said to be the making of the prompt, if there is one."""
    for index in _prompt_spans(view, call):
        facts = view.facts(index)
        if facts is not None and facts.settled:
            return facts
    return None


def with_rendered_prompts(view: View, calls: Sequence[Call]) -> tuple[Call, ...]:
    """Give calls that recorded no messages what a user said to be their rendered prompt."""
    known: list[Call] = []
    taken: set[bytes] = set()
    for call in calls:
        said = None if call.messages.usable else _declared(view, call)
        if said is None or not said.output.value or said.span_id in taken:
            known.append(call)
            continue
        taken.add(said.span_id)
        rendered = (Message("user", said.output.value),)
        read = Field(rendered, said.output.status, said.output.source)
        known.append(replace(call, messages=read))
    return tuple(known)


def said_pieces(call: Call) -> list[str]:
    """Return what a call said and a program may have put into a later prompt, as written."""
    pieces = pieces_of(call.output.value or "", call.data)[:_MAX_PIECES]
    return [piece for piece in pieces if len(piece.split()) >= _FEWEST_WORDS]


def template_variables(view: View, call: Call) -> dict[str, str]:
    """Return the variables of the prompt template that made a call's prompt.

    They are on the call itself, or on the last prompt span before it whose text became the
    prompt.
    """
    variables: dict[str, str] = {}
    for index in _prompt_spans(view, call):
        facts = view.facts(index)
        if facts is None:
            continue
        if isinstance(facts.input_data, Mapping):
            variables.update({k: v for k, v in facts.input_data.items() if isinstance(v, str)})
        variables.update(facts.prompt_variables)
    return {**variables, **call.variables}


def _prompt_spans(view: View, call: Call) -> tuple[int, ...]:
    before = [
        index
        for index in view.of_role(Role.PROMPT)
        if view.node(index).span.end_unix_nano <= call.start
    ]
    if not before:
        return ()
    last = max(before, key=lambda index: view.node(index).span.end_unix_nano)
    facts = view.facts(last)
    values = list((facts.prompt_variables if facts else {}).values())
    if call.messages.usable and values and not any(holds(call.prompt, v) for v in values if v):
        return ()
    return (last,)


def _origin(view: View, call: Call) -> StepOrigin:
    prompts = _prompt_spans(view, call)
    if prompts:
        return origin_of(view, prompts[0], prompts, "the span that renders the generator's prompt")
    synthesis = [
        index
        for index in view.tree.ancestors(call.nodes[0])
        if index in view.roles
        and index != view.top
        and SYNTHESIS_NAME.search(view.node(index).span.name)
    ]
    if synthesis:
        carrier = synthesis[-1]
        return origin_of(view, carrier, synthesis, "the synthesizer that puts chunks into prompts")
    why = "no span of its own: read from the generator's prompt, on whose span the verdict stands"
    return origin_of(view, call.leaf, [call.leaf], why)


def _told(family: Sequence[Call], chunks: Sequence[Chunk]) -> list[tuple[int, list[str]]]:
    """Return what each call said that a later one may repeat, longest piece first, and when.

    What a chunk says too is left out.
    """
    last = max((call.start for call in family), default=0)
    heard = [call for call in family if call.end <= last]
    known = "\n".join(folded(chunk.text) for chunk in chunks) if heard else ""
    return [
        (
            call.end,
            sorted(
                (
                    piece
                    for piece in pieces_of(call.output.value or "", call.data)[:_MAX_PIECES]
                    if normal(piece) not in known and not is_verdict(piece)
                ),
                key=len,
                reverse=True,
            ),
        )
        for call in heard
    ]


def _without_told(member: Call, told: Sequence[tuple[int, list[str]]]) -> str:
    """Return a member's prompt without what earlier members said."""
    prompt = member.prompt
    for end, pieces in told:
        if end <= member.start:
            for piece in pieces:
                if piece in prompt:
                    prompt = re.sub(rf"(?<!\w){re.escape(piece)}(?!\w)", _TOLD, prompt)
    return prompt


def _without_contained(texts: Sequence[str]) -> list[str]:
    """Drop texts that another one holds: an agent's prompt repeats what came before."""
    if len(texts) == 1:
        return [text for text in texts if text.strip()]
    known = [folded(text) for text in texts]
    kept: list[int] = []
    for position, text in enumerate(known):
        others = [*(known[i] for i in kept), *known[position + 1 :]]
        if not text or not any(text in other for other in others):
            kept.append(position)
    return [texts[position] for position in kept if known[position]]

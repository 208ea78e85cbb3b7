"""The prompt that a generator saw, and what was selected for it, to the assembly step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from otel_raglog.mapping.chunks import is_part, union
from otel_raglog.mapping.collapse import Call, View, origin_of
from otel_raglog.mapping.retrieving import Search
from otel_raglog.mapping.roles import SYNTHESIS_NAME
from otel_raglog.mapping.texts import holds, normal, squeezed
from otel_raglog.model import (
    NOT_CAPTURED,
    AssemblyStep,
    Chunk,
    Field,
    FieldStatus,
    Message,
    RetrieveStep,
    Role,
    StepOrigin,
)

CONTEXT_VARIABLE = re.compile(
    r"(?:^|_)(?:context|contexts|documents|docs|passages|chunks|sources|summaries|evidence|"
    r"knowledge|references|context_str|context_msg|retrieved)(?:_|$)",
    re.IGNORECASE,
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,}|`{3,}|\"{3,})[ \t]*$", re.MULTILINE)
_TAGGED = re.compile(
    r"<(context|contexts|documents|docs|passages|sources|search_results)>(.*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
_LABEL = re.compile(
    r"\b(?:context|documents?|passages?|sources?|excerpts|references|search results|"
    r"retrieved (?:chunks|information))\b[^\n:.]{0,40}:[ \t]*",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\n[ \t#*]*(?:user |original |the )?(?:question|query)[ \t*]*:[^\n]*", re.IGNORECASE
)
_NUMBERED = re.compile(r"(?:^|\n)\s*\[(?:1|doc(?:ument)? ?1)\]", re.IGNORECASE)
_PROBE_CHARS = 48


def selected_chunks(search: Search) -> Field[tuple[Chunk, ...]]:
    """Return the chunks that the last selecting steps handed on to the prompt.

    Those are the rerankings whose choice no later reranking took up, and the retrievals that
    no fusion and no reranking took up.
    """
    lists: list[Field[tuple[Chunk, ...]]] = []
    for position, step in enumerate(search.rerankings):
        later = search.rerankings[position + 1 :]
        if not (
            step.selected.value
            and any(_takes_up(other.candidates, step.selected) for other in later)
        ):
            lists.append(step.selected)
    fused = [step for step in search.retrievals if step.fused]
    for retrieval in search.retrievals:
        takers = [step.candidates for step in search.rerankings]
        takers += [step.chunks for step in fused if step is not retrieval and not retrieval.fused]
        if not _is_taken(retrieval, takers):
            lists.append(retrieval.chunks)
    usable = [chunks for chunks in lists if chunks.usable]
    if not usable:
        return lists[0] if lists else NOT_CAPTURED
    chunks = union([found.value or () for found in usable])
    status = FieldStatus.PRESENT if chunks else FieldStatus.EMPTY
    if any(found.status is FieldStatus.TRUNCATED for found in usable):
        status = FieldStatus.TRUNCATED
    return Field(chunks, status, usable[-1].source)


def find_assembly(
    view: View,
    call: Call,
    calls: Sequence[Call],
    selected: Field[tuple[Chunk, ...]],
    question: Field[str],
) -> AssemblyStep:
    """Return the making of the prompt that ``call`` answered.

    A synthesizer that answers in several calls (refine, tree) showed the model the chunks in
    all of them: their contexts count together.
    """
    origin = _origin(view, call)
    if not call.messages.usable:
        lost: Field[str] = Field(None, call.messages.status, call.messages.source)
        return AssemblyStep(origin, selected, lost, lost)
    family = [*_earlier_calls(call, calls, selected.value or ()), call]
    contexts: list[str] = []
    for member in family:
        found = context_in(
            member.messages.value or (),
            template_variables(view, member),
            selected.value or (),
            question.value,
        )
        contexts.append(member.prompt if found is None else found)
    text = "\n\n".join(_without_contained(contexts))
    status = call.messages.status if text.strip() else FieldStatus.EMPTY
    return AssemblyStep(
        origin=origin,
        selected=selected,
        context=Field(text, status, call.messages.source),
        prompt=Field(call.prompt, call.messages.status, call.messages.source),
    )


def context_in(
    messages: Sequence[Message],
    variables: Mapping[str, str],
    chunks: Sequence[Chunk],
    question: str | None,
) -> str | None:
    """Return the context in a prompt, ``None`` when it cannot be told from the rest.

    In this order: the context variables of the prompt's template; tool results; what stands
    between marks (rules, tags, ``Context:``) in the messages that hold the chunks, or else in
    all messages; those messages without the question.
    """
    prompt = "\n\n".join(message.content for message in messages)
    named = [value for name, value in variables.items() if CONTEXT_VARIABLE.search(name)]
    if named and all(not value.strip() for value in named):
        return ""
    seen = [value for value in named if value.strip() and holds(prompt, value)]
    if seen:
        return "\n\n".join(seen)
    tools = [message.content for message in messages if message.role == "tool"]
    if tools:
        return "\n\n".join(tools)
    probes = _probes(chunks)
    holding = [message for message in messages if _has_any(message.content, probes)]
    cut = [_between_marks(message.content, probes) for message in holding or messages]
    marked = [text for text in cut if text is not None]
    if marked and (not holding or len(marked) == len(holding)):
        return "\n\n".join(marked)
    if holding:
        return "\n\n".join(_without(message.content, question) for message in holding)
    rest = [message.content for message in messages if not _is_question(message, question)]
    return "\n\n".join(rest) if len(rest) < len(messages) else None


def shows_context(messages: Sequence[Message], variables: Mapping[str, str]) -> bool:
    """Tell whether a prompt visibly holds context: a variable, a tool result, or marks of it."""
    if any(CONTEXT_VARIABLE.search(name) and value.strip() for name, value in variables.items()):
        return True
    for message in messages:
        if message.role == "tool" and message.content.strip():
            return True
        if _NUMBERED.search(message.content):
            return True
        inside = _between_marks(message.content, ())
        if inside is not None and inside.strip() and message.role in {"system", "user"}:
            return True
    return False


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


def _without_contained(contexts: Sequence[str]) -> list[str]:
    """Drop contexts that another one holds: an agent's prompt repeats what came before."""
    kept: list[str] = []
    for position, context in enumerate(contexts):
        others = [*kept, *contexts[position + 1 :]]
        if not any(holds(other, context) for other in others):
            kept.append(context)
    return kept


def _earlier_calls(call: Call, calls: Iterable[Call], chunks: Sequence[Chunk]) -> list[Call]:
    probes = _probes(chunks)
    return [
        other
        for other in calls
        if other is not call
        and other.end <= call.start
        and other.messages.usable
        and _has_any(other.prompt, probes)
    ]


def _takes_up(candidates: Field[tuple[Chunk, ...]], chunks: Field[tuple[Chunk, ...]]) -> bool:
    return candidates.value is not None and is_part(chunks.value or (), candidates.value)


def _is_taken(step: RetrieveStep, takers: Iterable[Field[tuple[Chunk, ...]]]) -> bool:
    """Tell whether a later step had a retrieval's chunks to choose from.

    A fusion may have cut some of them: one chunk in common is enough.
    """
    chunks = step.chunks.value
    if not chunks:
        return any(taker.usable for taker in takers)
    return any(
        taker.value is not None and any(is_part((chunk,), taker.value) for chunk in chunks)
        for taker in takers
    )


def _probes(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    texts = [normal(chunk.text) for chunk in chunks if chunk.text.strip()]
    return tuple(dict.fromkeys(text[:_PROBE_CHARS] for text in texts if text))


def _has_any(text: str, probes: Sequence[str]) -> bool:
    folded = squeezed(text).casefold()
    return any(probe in folded for probe in probes)


def _between_marks(text: str, probes: Sequence[str]) -> str | None:
    """Return what stands between marks of context; ``None`` without any, or if it cuts chunks."""
    for found in _marked(text):
        folded, inside = squeezed(text).casefold(), squeezed(found).casefold()
        if all(probe in inside for probe in probes if probe in folded):
            return found.strip()
    return None


def _marked(text: str) -> list[str]:
    found: list[str] = []
    tagged = _TAGGED.findall(text)
    if tagged:
        found.append("\n\n".join(body for _, body in tagged))
    rules = list(_RULE.finditer(text))
    if len(rules) == 2:  # noqa: PLR2004  an opening and a closing rule
        found.append(text[rules[0].end() : rules[1].start()])
    label = _LABEL.search(text)
    if label:
        rest = text[label.end() :]
        asked = list(_ASKED.finditer(rest))
        found.append(rest[: asked[-1].start()] if asked else rest)
    return found


def _without(text: str, question: str | None) -> str:
    asked = list(_ASKED.finditer(text))
    if asked:
        text = text[: asked[-1].start()] + text[asked[-1].end() :]
    if question and question in text:
        head, _, tail = text.rpartition(question)
        text = head + tail
    return text.strip()


def _is_question(message: Message, question: str | None) -> bool:
    return (
        message.role == "user"
        and bool(question)
        and normal(message.content) == normal(question or "")
    )

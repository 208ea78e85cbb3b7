"""A run's inputs and prompts to its question and to the talk before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.context import shows_context
from otel_raglog.mapping.planning import before_rewriting
from otel_raglog.mapping.prompting import template_variables
from otel_raglog.mapping.question import (
    before_question,
    history_in,
    question_in_prompt,
    spoken_question,
    turns_in_text,
)
from otel_raglog.mapping.texts import normal
from otel_raglog.model import (
    NOT_CAPTURED,
    EmbedStep,
    Field,
    FieldStatus,
    Message,
    RetrieveStep,
    RewriteKind,
    RewriteStep,
    Role,
    SpanFacts,
)


def find_question(  # noqa: PLR0917  what a run knows before its question
    view: View,
    spoken: SpanFacts | None,
    call: Call | None,
    retrievals: Sequence[RetrieveStep],
    embeddings: Sequence[EmbedStep],
    calls: Sequence[Call] = (),
) -> Field[str]:
    """Return the question: from the topmost input, else the prompt, an inner input, the search.

    What one of ``calls`` had written for the prompt or the searches is no question of the user:
    that is what this call was asked. A question that was hidden or lost at the top is not guessed
    from further within, except from the prompt.
    """
    first = spoken_question(spoken) if spoken else NOT_CAPTURED
    if first.usable and first.value:
        return _within_prompt(view, first, call)
    asked = _asked_in_prompt(view, call, retrievals, embeddings)
    if asked is not None and asked.value and call is not None:
        return before_rewriting(view, asked, call, calls, retrievals)
    if first.status is not FieldStatus.NOT_CAPTURED:
        return first
    for found in _asked_within(view, retrievals, embeddings, call):
        if found.usable and found.value:
            return _within_prompt(view, found, call)
    if asked is not None or call is None:
        return asked or first
    return Field(None, call.messages.status, call.messages.source)


def unless_rewritten(
    question: Field[str],
    rewrites: Sequence[RewriteStep],
    spoken: SpanFacts | None,
    call: Call | None,
    others: Sequence[Call],
) -> tuple[Field[str], tuple[RewriteStep, ...]]:
    """Return a question as lost, where what was taken for it is what a rewriter wrote.

    So it is where nothing but the search told of it: the prompts, which had it, are hidden or cut.
    """
    asked = normal(question.value or "")
    wrote = {normal(text) for step in rewrites for text in step.rewrites.value or ()}
    if not asked or asked not in wrote or (spoken and spoken_question(spoken).value):
        return question, tuple(rewrites)
    known = [*(other.messages for other in others), *([call.messages] if call else [])]
    if any(asked in normal(m.content) for told in known for m in told.value or ()):
        return question, tuple(rewrites)
    status = next((told.status for told in known if not told.usable), FieldStatus.NOT_CAPTURED)
    cut = any(told.status is FieldStatus.TRUNCATED for told in known)
    lost: Field[str] = Field(None, FieldStatus.TRUNCATED if cut else status, question.source)
    return lost, tuple(replace(step, input=lost) for step in rewrites)


def find_history(
    spoken: SpanFacts | None,
    call: Call | None,
    rewrites: Sequence[RewriteStep],
    calls: Sequence[Call],
    question: Field[str],
) -> Field[tuple[Message, ...]]:
    """Return the talk before the question, from the input, the prompt or the condense prompt."""
    if spoken is not None:
        found = history_in(spoken.input_data, question.value)
        if found:
            return Field(found, FieldStatus.PRESENT, spoken.input.source)
    if call is not None:
        found = before_question(call.messages.value or (), question.value)
        if found:
            return Field(found, FieldStatus.PRESENT, call.messages.source)
    condensing = {
        step.origin.start_unix_nano for step in rewrites if step.kind is RewriteKind.CONDENSE
    }
    for other in calls:
        if other.start in condensing:
            talk = before_question(other.messages.value or (), question.value)
            found = talk or turns_in_text(other.prompt)
            if found:
                return Field(found, FieldStatus.PRESENT, other.messages.source)
    return NOT_CAPTURED


def turn_of(history: Field[tuple[Message, ...]]) -> int | None:
    """Return the number of the turn that a history comes before, ``None`` without one."""
    if not history.value:
        return None
    return 1 + sum(message.role == "user" for message in history.value)


def _within_prompt(view: View, first: Field[str], call: Call | None) -> Field[str]:
    """Return the question in a topmost input that is a whole user message of the prompt.

    So it is where a call of an SDK is all that there is (the Vercel AI SDK): its prompt has the
    context in it.
    """
    text = first.value or ""
    if call is None or "\n" not in text.strip():
        return first
    said = [m for m in call.messages.value or () if m.role == "user" and m.content == text]
    lost = call.messages.status is not FieldStatus.PRESENT
    if not said and lost and shows_context([Message("user", text)], {}):
        said = [Message("user", text)]  # the prompt is not there, or not whole, to compare with
    found = question_in_prompt(said[-1:], (), template_variables(view, call)) if said else None
    return replace(first, value=found) if found else first


def _asked_in_prompt(
    view: View,
    call: Call | None,
    retrievals: Sequence[RetrieveStep],
    embeddings: Sequence[EmbedStep],
) -> Field[str] | None:
    if call is None or not call.messages.usable:
        return None
    known = [step.query.value for step in retrievals if step.query.usable and step.query.value]
    known += [text for step in embeddings for text in step.texts.value or ()]
    found = question_in_prompt(call.messages.value or (), known, template_variables(view, call))
    cut = call.messages.status is FieldStatus.TRUNCATED
    if cut and found and shows_context([Message("user", found)], {}):
        return Field(None, FieldStatus.TRUNCATED, call.messages.source)  # it stood behind that
    return Field(found, call.messages.status, call.messages.source) if found else None


def _instructions(view: View, call: Call | None) -> set[str]:
    """Return the prompts, of one message each, of the LLM calls that do not answer.

    An SDK's span around such a call has its prompt for input (the Vercel AI SDK): what it tells
    to do is not what the user asked.
    """
    found: set[str] = set()
    for index in view.of_role(Role.LLM):
        facts = view.facts(index)
        messages = (facts.messages.value if facts is not None else None) or ()
        if len(messages) == 1 and (call is None or index not in call.nodes):
            found.add(normal(messages[0].content))
    return found - {""}


def _asked_within(
    view: View,
    retrievals: Sequence[RetrieveStep],
    embeddings: Sequence[EmbedStep],
    call: Call | None,
) -> list[Field[str]]:
    told = _instructions(view, call)
    found = [
        asked
        for index in view.of_role(Role.CHAIN, Role.AGENT)
        if (facts := view.facts(index)) is not None
        and normal((asked := spoken_question(facts)).value or "") not in told
    ]
    found += [
        facts.query
        for index in view.of_role(Role.REWRITER)
        if (facts := view.facts(index)) is not None
    ]
    found += [step.query for step in retrievals]
    found += [
        Field(text, FieldStatus.PRESENT, step.texts.source)
        for step in embeddings
        for text in step.texts.value or ()
    ]
    return found

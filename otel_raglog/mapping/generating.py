"""The LLM calls of a run to the one that answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_raglog.conventions.chat import messages_in
from otel_raglog.conventions.json_text import strings_in
from otel_raglog.mapping.collapse import Call, View, error_of, origin_of
from otel_raglog.mapping.combining import Combining
from otel_raglog.mapping.context import shows_any
from otel_raglog.mapping.helping import without_helpers
from otel_raglog.mapping.judging import is_judgement
from otel_raglog.mapping.question import answer_in
from otel_raglog.mapping.roles import GENERATOR_NAME, SYNTHESIS_NAME, called
from otel_raglog.mapping.texts import holds, normal, same_normal, sections
from otel_raglog.model import (
    Chunk,
    Field,
    FieldStatus,
    GenerateStep,
    Message,
    Role,
    SpanFacts,
    TokenUsage,
)

_MAIN_SHARE = 0.3
"""An output that is only a part of the run's answer must be at least this much of it."""

_CHAINS = {Role.CHAIN, Role.UNKNOWN, Role.AGENT}


def find_generator(
    view: View,
    calls: Sequence[Call],
    answer: Field[str],
    last_search_end: int,
    chunks: Sequence[Chunk] = (),
) -> Call | None:
    """Return the call that answers, ``None`` when none was captured.

    It is the last-ending one whose output is the run's answer, or the main part of it; without
    such a call, of those that end after the last search the last one that combines what others
    answered; else the only one that was shown ``chunks`` (those after it name the talk, or ask
    further questions), else the last one.
    """
    speaking = [call for call in calls if call.output.status is not FieldStatus.EMPTY]
    if answer.usable and answer.value:
        ranked = [(rank, call) for call in speaking if (rank := _rank(call, answer.value)) > 0]
        if ranked:
            highest = max(rank for rank, _ in ranked)
            return max(
                (call for rank, call in ranked if rank == highest),
                key=lambda call: (call.end, call.start),
            )
    late = [call for call in speaking if call.end > last_search_end]
    if late:
        return _last_to_answer(view, late, calls, chunks)
    custom = _custom_generator(view, answer, last_search_end)
    if custom is not None:
        return custom
    failed = [call for call in calls if call.error is not None and call.end > last_search_end]
    return max(failed, key=lambda call: call.end, default=None)


def answers(call: Call, answer: str) -> bool:
    """Tell whether a call's output is an answer, or the main part of it."""
    return _rank(call, answer) > 1


def _last_to_answer(
    view: View, late: Sequence[Call], calls: Sequence[Call], chunks: Sequence[Chunk]
) -> Call:
    combining = Combining(calls, chunks)
    if combined := [call for call in late if combining.combines(call)]:
        return max(combined, key=lambda call: (call.end, call.start))
    after = without_helpers(late, chunks)
    after = [call for call in after if not _judges(call)] or after
    if len(after) == 1:
        return after[0]
    shown = [call for call in after if shows_any(call.prompt, chunks)]
    own = len(shown) == 1 and shown[0].leaf in view.under(Role.TOOL)  # a tool's own model
    if len(shown) == 1 and not own and not any(_was_handed(call, shown[0]) for call in after):
        return shown[0]
    return max(after, key=lambda call: (call.end, call.start))


def as_told(call: Call, answer: Field[str]) -> Call:
    """Return a call that answered through the arguments of a tool with that text as its output.

    So do structured answers (an ``Answer`` tool), and agents that end with ``final_answer``.
    """
    if call.output.status is not FieldStatus.EMPTY or call.data is None or not answer.usable:
        return call
    wanted = normal(answer.value or "")
    told = next((t for t in strings_in(call.data) if wanted and normal(t) == wanted), None)
    if told is None:
        return call
    return replace(call, output=Field(told, FieldStatus.PRESENT, call.output.source))


def generate_step(
    view: View, call: Call, answer: Field[str], together: Sequence[Call] = ()
) -> GenerateStep:
    """Return the generator's step: the prompt as the model saw it, and what it told the user.

    Of several calls whose outputs are the answer ``together`` it is the answer and all their
    messages and tokens; the finish reason is that of the first which was cut off.
    """
    if len(together) > 1:
        return _joint_step(view, call, answer, together)
    output = call.output
    if output.value:
        output = replace(output, value=call.told)
    fields = sections(call.output.value or "")
    if fields and answer.usable and answer.value:
        named = next((text for text in fields.values() if normal(text) == normal(answer.value)), "")
        output = Field(named, output.status, output.source) if named else output
    if view.node(call.leaf).role is Role.LLM:
        how = "the LLM call after the last search that combines answers or was shown chunks, or the last"
        if output.value and answer.value and _rank(call, answer.value) > 0:
            how = "the last LLM call whose output is the run's answer"
    else:
        how = "a span named as a generator whose output is the run's answer"
    if len(call.nodes) > 1:
        how += f"; {len(call.nodes) - 1} wrapper span(s) collapsed into it"
    return GenerateStep(
        origin=origin_of(view, call.leaf, call.nodes, how),
        messages=call.messages,
        answer=output,
        finish_reason=call.finish_reason,
        tokens=call.tokens,
        model=call.model,
    )


def _joint_step(
    view: View, call: Call, answer: Field[str], together: Sequence[Call]
) -> GenerateStep:
    why = f"{len(together)} LLM calls whose outputs are the run's answer, one after the other"
    messages = dict.fromkeys(m for other in together for m in other.messages.value or ())
    hidden = next((other.messages for other in together if not other.messages.usable), None)
    reasons = [other.finish_reason for other in together if other.finish_reason]
    return GenerateStep(
        origin=origin_of(view, call.leaf, [i for other in together for i in other.nodes], why),
        messages=hidden or replace(call.messages, value=tuple(messages)),
        answer=answer,
        finish_reason=next((r for r in reasons if r.lower() != "stop"), call.finish_reason),
        tokens=total_tokens([other.tokens for other in together]),
        model=call.model,
    )


def total_tokens(counts: Sequence[TokenUsage]) -> TokenUsage:
    """Return the sum of what calls cost; ``None`` where none recorded any."""

    def total(numbers: list[int | None]) -> int | None:
        known = [number for number in numbers if number is not None]
        return sum(known) if known else None

    return TokenUsage(
        total([count.prompt for count in counts]),
        total([count.completion for count in counts]),
        total([count.total for count in counts]),
    )


def _judges(call: Call) -> bool:
    return is_judgement(call.messages.value or (), call.output.value or "")


def _was_handed(call: Call, earlier: Call) -> bool:
    """Tell whether a call was handed what an earlier one wrote, as the result of a tool."""
    wrote = normal(earlier.output.value or "")
    return bool(wrote) and any(
        message.role == "tool" and normal(message.content) == wrote
        for message in call.messages.value or ()
    )


def _rank(call: Call, answer: str) -> int:
    output = call.output.value
    if not output:
        return 0
    told = call.told
    if same_normal(answer, output) or (told != output and same_normal(answer, told)):
        return 3
    if holds(answer, told) and len(told) >= _MAIN_SHARE * len(answer):
        return 2
    return 1 if holds(output, answer) else 0


def _custom_generator(view: View, answer: Field[str], last_search_end: int) -> Call | None:
    """Return a generator that its framework did not label as an LLM (Haystack's own classes)."""
    found: list[Call] = []
    for index in view.of_role(*_CHAINS):
        node = view.node(index)
        inner = any(child in view.roles for child in node.children)
        if node.facts is None or node.facts.settled or index == view.top or inner:
            continue
        name = called(node)
        if node.span.end_unix_nano <= last_search_end or not GENERATOR_NAME.search(name):
            continue
        if SYNTHESIS_NAME.search(name):  # with nothing to put into a prompt it calls no LLM
            continue
        call = _as_call(index, node.facts, view)
        if call is not None and (not answer.value or _rank(call, answer.value) > 0):
            found.append(call)
    return max(found, key=lambda call: (call.end, call.start), default=None)


def _as_call(index: int, facts: SpanFacts, view: View) -> Call | None:
    text = facts.output.value
    if facts.output_data is not None:
        text = answer_in(facts.output_data)
    if not text:
        return None
    messages = messages_in(facts.input_data)
    if messages is None and facts.input.value and facts.input_data is None:
        messages = (Message("user", facts.input.value),)
    span = view.node(index).span
    given: Field[tuple[Message, ...]] = Field(messages, facts.input.status, facts.input.source)
    if messages is None and facts.input.usable:
        given = Field(None, FieldStatus.NOT_CAPTURED, facts.input.source)
    return Call(
        leaf=index,
        nodes=(index,),
        start=span.start_unix_nano,
        end=span.end_unix_nano,
        messages=given,
        output=Field(text, facts.output.status, facts.output.source),
        data=facts.output_data,
        model=facts.model,
        tokens=facts.tokens,
        error=error_of(view.node(index)),
    )

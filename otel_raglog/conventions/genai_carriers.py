"""Where GenAI spans carry what was said, newest way first, to messages.

The conventions have moved the content three times: span events per message, events with the whole
prompt, and now attributes with lists of messages; OpenLLMetry flattened it into numbered keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from otel_raglog.conventions.chat import message_from_item, normal_role, tool_calls_of
from otel_raglog.conventions.genai_messages import (
    beginning_of_list,
    calls_of,
    instructions_in,
    talk_in,
)
from otel_raglog.conventions.json_text import as_data, as_text, parse_json
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import (
    NOT_CAPTURED,
    AttributeValue,
    Field,
    FieldStatus,
    Message,
    SpanEvent,
    missing,
)

SYSTEM = "gen_ai.system_instructions"
BODY = "gen_ai.event.content"
"""The attribute of an event that holds it whole, as JSON (Azure)."""

_DETAILS = "gen_ai.client.inference.operation.details"
_UPLOADED = ("_ref", ".ref")
"""Ends of the keys that say where content was uploaded to."""


class Side(NamedTuple):
    """One side of a conversation: the keys and events that carry it."""

    current: str
    older: str
    whole: str
    speaker: str
    events: Mapping[str, str]
    """Names of the events of single messages, to the role that each stands for."""


GIVEN = Side(
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "gen_ai.content.prompt",
    "user",
    {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")},
)
ANSWERED = Side(
    "gen_ai.output.messages",
    "gen_ai.completion",
    "gen_ai.content.completion",
    "assistant",
    {"gen_ai.choice": "assistant"},
)


@dataclass(frozen=True, slots=True)
class Said:
    """One side of a conversation: the messages, or why there are none, and the tools called."""

    messages: Field[tuple[Message, ...]]
    calls: tuple[Mapping[str, object], ...] = ()
    finish_reason: str | None = None

    def text(self) -> Field[str]:
        """Return all that was said as one text."""
        read = self.messages
        if read.value is None:
            return missing(read.status, read.source)
        text = "\n\n".join(message.content for message in read.value if message.content)
        status = FieldStatus.EMPTY if not text else read.status
        return Field(text, status, read.source)

    def data(self) -> object | None:
        """Return the messages as JSON data."""
        if not self.messages.value:
            return None
        listed = [{"role": m.role, "content": m.content} for m in self.messages.value]
        return {"messages": listed}


class CarrierReader(WorkReader):
    """Finds both sides of the conversation of one span."""

    def said(self, side: Side) -> Said:
        """Return what a side says, from the newest of the ways in which it may be written."""
        empty: Said | None = None
        ways: tuple[Callable[[Side], Said | None], ...] = (
            self._current,
            self._numbered,
            self._single_events,
            self._whole_event,
            self._older,
        )
        for way in ways:
            found = way(side)
            if found is not None and found.messages.status is not FieldStatus.EMPTY:
                return found
            empty = empty or found
        return empty or Said(self._why_none(side))

    def whole(self, side: Side, key: str) -> Said | None:
        """Return what an attribute with a whole side in JSON or text says."""
        read, data = self.value(key)
        if read.source is None:
            return None
        return self._of_value(read, data, side)

    # ------------------------------------------------------------------ ways

    def _current(self, side: Side) -> Said | None:
        found = self.whole(side, side.current)
        if found is None:
            details = next((e for e in self.span.events if e.name == _DETAILS), None)
            if details is not None:
                found = self._of_event(details, side.current, side)
        system = self._instructions() if side is GIVEN else None
        if system is None:
            return found
        if found is None:
            return Said(system)
        read = found.messages
        if read.value is None or system.value is None:
            return found
        head = system.value[0].content
        if any(m.role == "system" and m.content == head for m in read.value):
            return found
        status = read.status if read.value else system.status
        return replace(found, messages=Field((*system.value, *read.value), status, read.source))

    def _instructions(self) -> Field[tuple[Message, ...]] | None:
        read, data = self.value(SYSTEM)
        if not read.value:
            return None
        text = read.value if data is None else instructions_in(data)
        if not text or is_redacted(text):
            return None
        return Field((Message("system", text),), read.status, read.source)

    def _numbered(self, side: Side) -> Said | None:
        listed = self.lists.read(side.older)
        if listed is None or not listed.indices:
            return None
        source = self.source(side.older)
        messages: list[Message] = []
        calls: list[Mapping[str, object]] = []
        reason: str | None = None
        for item in listed.items:
            message = message_from_item(item)
            role = side.speaker if "role" not in item else message.role
            messages.append(Message(role, message.content))
            calls.extend(_numbered_calls(item))
            found = item.get("finish_reason")
            reason = reason or (found if isinstance(found, str) else None)
        cut = listed.gaps or any(key.startswith(side.older + ".") for key in self.cut)
        read = self._hidden_or(tuple(messages), FieldStatus.PRESENT, source.key)
        if cut and read.status is FieldStatus.PRESENT:
            read = replace(read, status=FieldStatus.TRUNCATED)
        return Said(read, tuple(calls), reason)

    def _single_events(self, side: Side) -> Said | None:
        events = [event for event in self.span.events if event.name in side.events]
        if not events:
            return None
        messages: list[Message] = []
        calls: list[Mapping[str, object]] = []
        reason: str | None = None
        for event in events:
            role = side.events[event.name]
            body = _body(event)
            found = talk_in(_as_message(body, role), role)
            if found is not None:
                messages.extend(found.messages)
                calls.extend(found.calls)
                reason = reason or found.finish_reason
            own = body.get("finish_reason")
            reason = reason or (own if isinstance(own, str) else None)
        key = f"{events[0].name}/{BODY if BODY in events[0].attributes else 'content'}"
        if not any(message.content for message in messages) and not calls:
            return None  # events without content: they only say that there were messages
        status = FieldStatus.PRESENT
        if self.span.dropped_events_count > 0:
            status = FieldStatus.TRUNCATED
        return Said(self._hidden_or(tuple(messages), status, key), tuple(calls), reason)

    def _whole_event(self, side: Side) -> Said | None:
        for event in self.span.events:
            if event.name == side.whole:
                for key in (side.older, BODY):
                    found = self._of_event(event, key, side)
                    if found is not None:
                        return found
        return None

    def _older(self, side: Side) -> Said | None:
        return self.whole(side, side.older)

    # ------------------------------------------------------------------ values

    def _of_event(self, event: SpanEvent, key: str, side: Side) -> Said | None:
        value = event.attributes.get(key)
        text = as_text(value)
        if text is None:
            return None
        source = self.source(f"{event.name}/{key}")
        if is_redacted(text):
            return Said(missing(FieldStatus.REDACTED, source))
        status = FieldStatus.PRESENT if text.strip() else FieldStatus.EMPTY
        data = parse_json(text) if isinstance(value, str) else as_data(value)
        return self._of_value(Field(text, status, source), data, side)

    def _of_value(self, read: Field[str], data: object | None, side: Side) -> Said:
        if read.value is None or read.source is None:
            return Said(missing(read.status, read.source))
        if read.status is FieldStatus.EMPTY:
            return Said(Field((), FieldStatus.EMPTY, read.source))
        if data is None and read.status is FieldStatus.TRUNCATED and "[" in read.value[:2]:
            talk = talk_in(beginning_of_list(read.value), side.speaker)
        else:
            talk = talk_in(read.value if data is None else data, side.speaker)
        if talk is None or (not talk.messages and read.status is FieldStatus.TRUNCATED):
            lost = read.status is FieldStatus.TRUNCATED
            return Said(missing(read.status, read.source) if lost else NOT_CAPTURED)
        if talk.bare:
            return Said(NOT_CAPTURED, (), talk.finish_reason)
        if not talk.messages:
            return Said(Field((), FieldStatus.EMPTY, read.source))
        messages = self._hidden_or(talk.messages, read.status, read.source.key)
        return Said(messages, talk.calls, talk.finish_reason)

    def _hidden_or(
        self, messages: tuple[Message, ...], status: FieldStatus, key: str
    ) -> Field[tuple[Message, ...]]:
        source = self.source(key)
        if any(is_redacted(message.content) for message in messages):
            return missing(FieldStatus.REDACTED, source)
        return Field(messages, status, source)

    def _why_none(self, side: Side) -> Field[tuple[Message, ...]]:
        for end in _UPLOADED:
            if side.current + end in self.attributes:
                return missing(FieldStatus.EXTERNAL, self.source(side.current + end))
        if self.span.dropped_events_count > 0:
            return missing(FieldStatus.EVICTED)
        absent = self.absent(side.current, side.older)
        return missing(absent.status, absent.source)


def _body(event: SpanEvent) -> Mapping[str, object]:
    """Return what an event says, whether in attributes or as one JSON value."""
    body: dict[str, object] = {str(k): as_data(v) for k, v in event.attributes.items()}
    whole = event.attributes.get(BODY)
    data = parse_json(whole) if isinstance(whole, str) else as_data(whole)
    if isinstance(data, dict):
        body.update(data)
    elif isinstance(whole, str):
        body["content"] = whole
    message = body.get("message")
    inner = parse_json(message) if isinstance(message, str) else message
    if isinstance(inner, dict):
        return {**body, **inner}
    if isinstance(message, str) and "content" not in body:
        body["content"] = message
    return body


def _as_message(body: Mapping[str, object], role: str) -> dict[str, object]:
    """Return the body of an event as a message of the role that its name says."""
    kept = {key: body[key] for key in ("content", "parts", "tool_calls") if key in body}
    content = kept.get("content")
    if isinstance(content, str):
        parsed = parse_json(content)
        if isinstance(parsed, list) and parsed and all(_has_type(part) for part in parsed):
            kept["content"] = parsed
    if content is not None and not isinstance(kept["content"], str | list):
        kept["content"] = as_text(_written(content)) or ""
    kept.setdefault("content", "")
    said = body.get("role")
    kept["role"] = normal_role(said) if isinstance(said, str) and said else role
    return kept


def _written(value: object) -> AttributeValue:
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_written(item) for item in value)
    return value if isinstance(value, str | bool | int | float) else None


def _has_type(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _numbered_calls(item: Mapping[str, object]) -> Iterable[Mapping[str, object]]:
    """Return the tool calls of a numbered message (``tool_calls.M.name``)."""
    found = [call for call in tool_calls_of(item) if isinstance(call, dict) and call.get("name")]
    if found:
        return found
    numbered: dict[str, dict[str, object]] = {}
    for key, value in item.items():
        head, _, rest = key.partition(".")
        position, _, name = rest.partition(".")
        if head == "tool_calls" and position.isdigit() and name in {"name", "arguments"}:
            numbered.setdefault(position, {})[name] = value
    return list(numbered.values()) or calls_of(item)

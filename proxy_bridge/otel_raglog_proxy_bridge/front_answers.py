"""A response of a pipeline's own API, come whole, to the answer in it, "" where it has none."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence

from otel_raglog_proxy_bridge.formats.fields import Json, at, items
from otel_raglog_proxy_bridge.front_texts import (
    DEEPEST,
    are_messages,
    by_names,
    inside,
    is_aside,
    is_part,
    last_answer,
    plain_name,
    role_of,
    text_of,
)

SURE = (
    "answer", "finalanswer", "answertext", "finalresponse", "finaloutput", "answers", "reply",
    "replies", "textresponse", "responsetext", "generatedtext", "outputtext", "fulfillmenttext",
    "summarytext", "botresponse", "airesponse", "assistantresponse", "botreply", "assistantreply",
    "botmessage", "aimessage", "assistantmessage", "generation", "generations", "completion",
)  # fmt: skip
"""Names that tell an answer wherever they stand."""
_RESPONSES = ("response", "responses", "output", "outputs", "result", "results", "predictions")
_CHOICES = ("choices", "candidates", "artifacts", "artifact", "activities")
_WRAPPERS = ("data", "body", "payload", "values")
_MESSAGES = ("messages", "chatmessages")
_TEXTS = ("message", "msg", "text", "content", "parts", "value")
_FIRST_OF = frozenset({*SURE, *_CHOICES, "predictions", "outputs", "responses"})
"""Names under which the first of a list is the answer: of others a list is what was found."""
_OF_HITS = frozenset({"score", "similarity", "distance", "rank"})
_ASKED = frozenset({"input", "inputs", "request", "prompt", "question", "query", "user"})
"""Names under which a response gives back what was asked."""
_STATUS_NAMES = frozenset(
    {"status", "success", "ok", "code", "statuscode", "taskid", "jobid", "count", "total"}
)
_STATUS_WORDS = frozenset(
    {
        "ok", "success", "successful", "succeeded", "done", "completed", "complete", "accepted",
        "queued", "pending", "processing", "running", "started", "received", "created", "true",
        "false", "error", "failed", "failure",
    }
)  # fmt: skip
_FAILED = frozenset({"error", "failed", "failure", "fail", "timeout", "cancelled"})
_FIRST_ERROR = 400
_TAG = re.compile(r"<[^<>]*>")


def answer_in(data: object, question: str = "", *, any_name: bool = False) -> str:
    """Return the answer in the JSON of a response.

    The question given back is none, nor is what a status says, nor what stands under names of
    sources, thoughts, titles or suggestions. ``any_name``: the one text under a name that nobody
    knows is the answer, as GraphQL's fields are.
    """
    return _Finder(question.strip(), any_name=any_name).of(inside(data), 0).strip()


def piece_in(data: object, question: str) -> str:
    """Return what is said in an event of a stream, with the spaces around it."""
    return _Finder(question.strip(), any_name=False).of(data, 0)


def is_answer(said: str, question: str) -> bool:
    """Whether a text says something: it is not the question, nor one word that tells a status."""
    bare = said.strip()
    return bool(bare) and bare != question and bare.rstrip(".!").lower() not in _STATUS_WORDS


def tells_status(named: Mapping[str, object]) -> bool:
    """Whether beside a message stands that it is about the call: a status, a code, a count."""
    return not _STATUS_NAMES.isdisjoint(named)


def twiml_answer(body: str) -> str:
    """Return what the messages in a response to Twilio say."""
    said = []
    for piece in body.split("<Message")[1:]:
        inner = piece.partition(">")[2].partition("</Message")[0]
        said.append(html.unescape(_TAG.sub("", inner)).strip())
    return "\n".join(part for part in said if part)


def has_failed(data: Json) -> bool:
    """Whether a response says that there is no answer but an error."""
    named = by_names(data)
    status = named.get("statuscode", named.get("httpstatus"))
    if isinstance(status, int) and status >= _FIRST_ERROR:
        return True
    if named.get("success") is False or named.get("ok") is False or named.get("iserror") is True:
        return True
    if named.get("error") or named.get("errors"):
        return True
    state = named.get("status")
    return isinstance(state, str) and plain_name(state) in _FAILED


class _Finder:
    """Looks for one response's answer."""

    def __init__(self, question: str, *, any_name: bool) -> None:
        self.question = question
        self.any_name = any_name
        self._seen: dict[tuple[str, int], object] = {}  # so that nothing is looked through twice

    def of(self, data: object, deep: int) -> str:
        """Return the answer in data at a place where one may stand."""
        if isinstance(data, str):
            opened = inside(data) if deep <= 1 else data
            return self.of(opened, deep + 1) if isinstance(opened, Mapping) else self._text(data)
        if deep > DEEPEST:
            return ""
        if isinstance(data, Mapping):
            return self._of_object(data, deep)
        listed = items(data)
        if are_messages(listed):
            return last_answer(listed)
        if listed and all(isinstance(at(item, "recipient_id"), str) for item in listed):
            return "\n".join(said for item in listed if (said := text_of(at(item, "text"))))
        return (
            self._sure(listed[0], deep + 1) or self._responses(listed[0], deep + 1)
            if len(listed) == 1
            else ""
        )

    def _is_new(self, way: str, data: object) -> bool:
        key = (way, id(data))
        new = key not in self._seen
        self._seen[key] = data  # kept, or its id might become another's
        return new

    def _of_object(self, data: Json, deep: int) -> str:
        if not self._is_new("object", data):
            return ""
        if has_failed(data) or role_of(data) in {"user", "other"}:
            return ""
        if found := self._sure(data, deep):
            return found
        named = by_names(data)
        if any(name in named and not named[name] for name in SURE[:5]):
            return ""  # there is a place for the answer, and it is empty
        return (
            self._responses(data, deep)
            or self._wrapped(named, deep)
            or self._messages(named)
            or self._texts(named)
            or self._below(data, deep)
        )

    def _sure(self, data: object, deep: int) -> str:
        """Return the answer under a name that is sure, those nearer to the top first."""
        level = [data]
        for _ in range(DEEPEST - deep):
            below: list[object] = []
            for each in level:
                if not isinstance(each, Mapping) or has_failed(each):
                    continue
                named = by_names(each)
                for name in SURE:
                    if name in named and (found := self._value(name, named[name], deep + 1)):
                        return found
                for name, value in named.items():
                    opened = inside(value) if name == "body" else value
                    if isinstance(value, list) and len(value) == 1:
                        opened = value[0]
                    if isinstance(opened, Mapping) and not is_aside(name) and name not in _ASKED:
                        below.append(opened)
            level = below
        return ""

    def _value(self, name: str, value: object, deep: int) -> str:
        """Return the answer that is the value of a name which tells one."""
        if isinstance(value, str):
            return self._text(value)
        if deep > DEEPEST:
            return ""
        if isinstance(value, Mapping):
            return self._of_object(value, deep + 1)
        listed = items(value)
        return self._listed(name, listed, deep) if listed else ""

    def _listed(self, name: str, listed: Sequence[object], deep: int) -> str:
        if are_messages(listed):
            return last_answer(listed)
        if name in {"result", "results"}:
            return ""  # what was found
        if name in {"responses", "activities"}:
            said = [text_of(item) for item in listed if at(item, "type") in {"text", "message"}]
            return self._text("\n".join(part for part in said if part))
        if name == "output" and all(isinstance(item, str) for item in listed):
            return self._text(text_of(listed))
        if name in _FIRST_OF:
            several = len(listed) > 1 and isinstance(listed[0], str)
            return "" if several else self._value(name, listed[0], deep + 1)
        return self._text(text_of(listed)) if all(is_part(item) for item in listed) else ""

    def _responses(self, data: object, deep: int) -> str:
        if not isinstance(data, Mapping) or has_failed(data):
            return ""
        named = by_names(data)
        for name in (*_RESPONSES, *_CHOICES):
            if name in named and (found := self._value(name, named[name], deep + 1)):
                return found
        return ""

    def _wrapped(self, named: Mapping[str, object], deep: int) -> str:
        for name in _WRAPPERS:
            value = inside(named.get(name)) if name == "body" else named.get(name)
            if isinstance(value, str) and (found := self._text(value)):
                return found
            if isinstance(value, Mapping) and (found := self.of(value, deep + 1)):
                return found
            if name == "data" and (found := self._of_components(value, named)):
                return found
        return ""

    def _of_components(self, value: object, named: Mapping[str, object]) -> str:
        """Return the answer in what the components of a Gradio application show."""
        shown = items(value)
        if tells_status(named) or any(isinstance(item, Mapping) for item in shown):
            return ""
        for item in shown:
            listed = items(item)
            if are_messages(listed):
                return last_answer(listed)
            if isinstance(said := at(listed, -1, 1), str):  # pairs of question and answer
                return self._text(said)
        texts = [item for item in shown if isinstance(item, str) and item]
        return self._text(texts[0]) if texts else ""

    def _messages(self, named: Mapping[str, object]) -> str:
        for name in _MESSAGES:
            if are_messages(named.get(name)):
                return last_answer(items(named[name]))
        return ""

    def _texts(self, named: Mapping[str, object]) -> str:
        """Return a text under a name that any text may have, unless it is a status or a hit."""
        if not _OF_HITS.isdisjoint(named):
            return ""
        for name in _TEXTS:
            value = named.get(name)
            if name in {"message", "msg"} and isinstance(value, str):
                if tells_status(named):
                    continue
            elif isinstance(value, list) and not all(is_part(item) for item in value):
                continue
            if role_of(value) in {"user", "other"}:
                continue
            if found := self._text(text_of(value)):
                return found
        return ""

    def _below(self, data: Json, deep: int) -> str:
        """Return the answer below names that nobody knows."""
        if deep > DEEPEST or not self._is_new("below", data):
            return ""
        known = [(plain_name(key), value) for key, value in data.items()]
        others = [value for name, value in known if not is_aside(name) and name not in _ASKED]
        if len(others) == 1 and self.any_name and isinstance(others[0], str):
            return self._text(others[0])
        for value in others:
            if isinstance(value, Mapping) and (
                found := self._responses(value, deep + 1)
                or self._messages(by_names(value))
                or (self._below(value, deep + 1))
            ):
                return found
        return ""

    def _text(self, said: str) -> str:
        """Return ``said`` unless it is the question, or one word that tells a status."""
        return said if is_answer(said, self.question) else ""

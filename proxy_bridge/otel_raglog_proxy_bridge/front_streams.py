"""A response of a pipeline's own API that comes in pieces to the answer they make up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, text
from otel_raglog_proxy_bridge.front_answers import (
    SURE,
    answer_in,
    has_failed,
    is_answer,
    piece_in,
    tells_status,
)
from otel_raglog_proxy_bridge.front_texts import (
    by_names,
    last_answer,
    plain_name,
    role_of,
    text_of,
)

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_LETTERED = re.compile(r'[0-9a-k]:[\["{}\dnft]')
_TEXT_LETTER = "0:"
_TOOL_LETTERS = ("9:", "a:", "b:", "c:")
_ENDS = frozenset({"[DONE]", "[END]", "<END>", "[EOS]", "<|end|>"})
_LEAST_REPEATED = 5
_SPEAKER = "\0"
"""In place of a name: a message of several, of which the last is the answer."""

_ASIDE = (
    "error", "reason", "think", "thought", "tool", "function", "source", "document", "citation",
    "context", "retriev", "metadata", "status", "progress", "ping", "heartbeat", "title",
    "suggest", "followup", "related", "usage", "start", "begin", "debug", "log", "step", "node",
    "history", "question", "data", "quer", "search", "human", "user", "state", "agentthought",
    "workflowstarted", "reference", "chunks", "sql", "plan", "custom", "onretriever", "ontool",
    "onprompt", "onparser", "onchain",
)  # fmt: skip
"""How the kinds of events begin that have no piece of the answer."""
_ASIDE_INSIDE = ("error", "reason", "think", "tool", "source", "metadata")
_WHOLE = (
    "final", "complete", "done", "end", "finish", "result", "messageend", "workflowfinished",
    "replace", "messagereplace", "finalize",
)  # fmt: skip
"""How the kinds of events begin that may have the whole answer."""
_STATES = frozenset({"values", "updates", "messagespartial", "messagescomplete"})
"""Events that have all that is said so far."""
_DELTAS = ("delta", "textdelta", "contentdelta", "token", "chunk", "textchunk", "tokentext")
_AROUND = ("data", "response", "message", "result", "output")
_TEXTY = ("token", "chunk", "message", "content", "delta", "text", "answer", "item", "agentmessage")


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name where it has one, its data as text, and as JSON where they are that."""

    name: str
    raw: str
    data: object = None


@dataclass(slots=True)
class _Pieces:
    """The texts that came in one way: under one name, in events of one kind."""

    texts: list[str] = field(default_factory=list)
    whole: bool = False
    sure: bool = False
    replaced: bool = False

    def joined(self) -> str:
        """Return the text that they make up; of texts that each repeat those before, the last."""
        texts = self.texts
        if self.replaced or self.whole or _grows(texts):
            return texts[-1].strip() if texts else ""
        before = "".join(texts[:-1])
        repeated = before and texts[-1].strip() == before.strip()
        return (before if repeated else "".join(texts)).strip()


def events_in(body: str) -> tuple[Event, ...]:
    """Return the events of a body of server-sent events, or of JSON objects in a row.

    Nothing where it is neither: a text may have lines of JSON in it.
    """
    lines = _LINE_BREAK.split(body)
    if any(line.startswith("data:") for line in lines):
        return tuple(_sent(lines))
    return tuple(_in_a_row(body)) if body.lstrip()[:1] == "{" else ()


def lettered_answer(body: str) -> str | None:
    """Return the text of a stream in the AI SDK's first data protocol, ``None`` if it is none.

    Each line is a letter that tells what it has, and JSON: ``0:"Hello"``. What the model said
    before its last tool was called is not the answer.
    """
    if _LETTERED.match(body) is None:
        return None
    lines = [line for line in body.split("\n") if line.strip()]
    if not all(_LETTERED.match(line) for line in lines):
        return None
    if not any(line.startswith((_TEXT_LETTER, "d:", "f:")) for line in lines):
        return None
    said: list[str] = []
    before: list[str] = []
    for line in lines:
        if line.startswith(_TOOL_LETTERS) and said:
            before, said = said, []
        elif line.startswith(_TEXT_LETTER) and isinstance(piece := _json(line[2:]), str):
            said.append(piece)
    return "".join(said or before).strip()


def answer_of(events: tuple[Event, ...], question: str = "") -> str:
    """Return the answer that ``events`` make up."""
    ways: dict[tuple[str, ...], _Pieces] = {}
    plain: list[str] = []
    for event in events:
        if event.data is None:
            if not _is_aside(plain_name(event.name)) and event.raw.strip() not in _ENDS:
                plain.append(event.raw)
        else:
            _take(event, ways, question)
    found = [pieces for pieces in ways.values() if is_answer(pieces.joined(), question)]
    return _chosen(found) if found else "".join(plain).strip()


# ----------------------------------------------------------------------------- choosing


def _chosen(ways: list[_Pieces]) -> str:
    """Return the text of the way that has the answer, where the answer comes in several."""
    for pieces in reversed(ways):
        if pieces.replaced:
            return pieces.joined()
    pieced = [pieces for pieces in ways if not pieces.whole]
    whole = [pieces for pieces in ways if pieces.whole]
    sure = [pieces for pieces in pieced if pieces.sure]
    best = (
        sure[-1] if sure else max(reversed(pieced), key=lambda each: len(each.texts), default=None)
    )
    if best is None:
        return whole[-1].joined()
    streamed = best.joined()
    for pieces in reversed(whole):
        said = pieces.joined()
        if pieces.sure or said.startswith(streamed):
            return said
    return streamed


def _grows(texts: list[str]) -> bool:
    """Whether each text begins with the one before: what is said so far, not what is new."""
    if len(texts) < 2 or len(texts[0].strip()) < _LEAST_REPEATED:  # noqa: PLR2004  one cannot grow
        return False
    return all(later.startswith(earlier) for earlier, later in pairwise(texts))


# ----------------------------------------------------------------------------- reading


def _take(event: Event, ways: dict[tuple[str, ...], _Pieces], question: str) -> None:
    """Put what an event says where it belongs."""
    data = event.data
    name = plain_name(event.name)
    if isinstance(data, Mapping) and isinstance(data.get("ops"), list):
        _take_operations(data, ways, question)
        return
    if isinstance(data, Mapping) and "jsonrpc" in data:
        data = data.get("result")
    if name in _STATES:
        if said := _of_state(name, data, question):
            ways.setdefault((name,), _Pieces(whole=True, sure=name == "values")).texts.append(said)
        return
    if isinstance(data, list):  # LangGraph: a message, and what is known of it
        data = data[0] if role_of(at(data, 0)) else None
    kinds = _kinds(name, data)
    if any(_is_aside(kind) for kind in kinds) or _is_failed(data):
        return
    kind = kinds[-1] if kinds else ""
    whole = any(each.startswith(_WHOLE) for each in kinds)
    way, said = _piece(data, kinds, question, whole=whole)
    if said and role_of(data) not in {"user", "other"}:
        pieces = ways.setdefault((kind, *way), _Pieces())
        pieces.texts.append(said)
        pieces.whole = whole
        pieces.replaced = any("replace" in each for each in kinds)
        pieces.sure = way[0] in SURE or way[0] == _SPEAKER


def _of_state(name: str, data: object, question: str) -> str:
    if name.startswith("messages"):
        return last_answer(items(data))
    return answer_in(data, question)


def _kinds(name: str, data: object) -> list[str]:
    """Return what an event is called: by its own name, then by its data."""
    told = [name] if name not in {"data", "message", "messages", ""} else []
    if isinstance(data, Mapping):
        for key in ("node", "stage", "event", "type", "kind"):
            value = data.get(key)
            if isinstance(value, str) and not role_of({"type": value}):
                told.append(plain_name(value))
            elif isinstance(value, str) and role_of({"type": value}) != "assistant":
                told.append("tool")
    return told


def _is_aside(kind: str) -> bool:
    if kind.startswith("onchatmodelstream"):
        return False
    return kind.startswith((*_ASIDE, "on")) or any(part in kind for part in _ASIDE_INSIDE)


def _is_failed(data: object) -> bool:
    return isinstance(data, Mapping) and has_failed(data)


def _piece(
    data: object, kinds: list[str], question: str, *, whole: bool
) -> tuple[tuple[str, ...], str]:
    """Return under which name an event has text, and the text, with the spaces around it."""
    if isinstance(data, str):
        return ("",), "" if data in _ENDS else data
    if not isinstance(data, Mapping):
        return ("",), ""
    named = by_names(data)
    inner = named.get("data")
    texty = not whole and bool(kinds) and kinds[-1].startswith(_TEXTY)
    if isinstance(inner, str) and texty:
        return ("data",), "" if inner in _ENDS else inner
    return (
        _spoken(data, kinds)
        or _named_piece((named, *(by_names(mapping(named.get(key))) for key in _AROUND)))
        or _chosen_piece(data)
        or _plain_piece(named, data, question)
    )


def _spoken(data: Json, kinds: list[str]) -> tuple[tuple[str, ...], str] | None:
    """Return a piece of one of several messages, by the message's id."""
    chunk = at(data, "data", "chunk")
    if isinstance(chunk, Mapping):  # LangChain: an event of a model's run
        return (_SPEAKER, text(data, "run_id") or ""), text_of(chunk)
    if role_of(data) == "assistant" and isinstance(data.get("id"), str):
        return (_SPEAKER, str(data["id"])), text_of(data)
    if any(kind.startswith(("textdelta", "textmessage")) for kind in kinds):
        block = text(data, "id") or text(data, "messageId") or ""
        return (_SPEAKER, block), text_of(data.get("delta") or data.get("textDelta"))
    return None


def _named_piece(
    places: tuple[Mapping[str, object], ...],
) -> tuple[tuple[str, ...], str] | None:
    for key in (*_DELTAS, *SURE[:3], "textresponse"):
        for place in places:
            if said := text_of(place.get(key)):
                return (key,), said
    return None


def _chosen_piece(data: Json) -> tuple[tuple[str, ...], str] | None:
    """Return a piece in OpenAI's or the Agent2Agent protocol's form."""
    choice = at(data, "choices", 0)
    if choice is not None:
        return ("choices",), text_of(at(choice, "delta", "content")) or text_of(at(choice, "text"))
    artifact = at(data, "artifact", "parts")
    return (("artifact",), text_of(artifact)) if artifact is not None else None


def _plain_piece(
    named: Mapping[str, object], data: Mapping[str, object], question: str
) -> tuple[tuple[str, ...], str]:
    for key in ("content", "text", "response", "output", "message", "value"):
        value = named.get(key)
        about_call = key == "message" and tells_status(named)
        if isinstance(value, str) and value and not about_call:
            return (key,), value
    return ("found",), piece_in(data, question)


def _take_operations(
    data: Mapping[str, object], ways: dict[tuple[str, ...], _Pieces], question: str
) -> None:
    """Take what LangServe's log of a run says of the run's own output."""
    for operation in items(data.get("ops")):
        path, value = text(operation, "path"), at(operation, "value")
        if path == "/streamed_output/-":
            said = value if isinstance(value, str) else text_of(value) or answer_in(value, question)
            ways.setdefault(("output",), _Pieces()).texts.append(said)
        elif path == "/final_output" and (said := answer_in(value, question)):
            ways.setdefault(("final",), _Pieces(whole=True)).texts.append(said)


# ----------------------------------------------------------------------------- taking apart


def _sent(lines: list[str]) -> Iterator[Event]:
    name = ""
    data: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif not line:
            if data:
                yield _event(name, "\n".join(data))
            name, data = "", []


def _event(name: str, raw: str) -> Event:
    if raw.strip() in _ENDS:
        return Event(name, "")
    data = _json(raw)
    if isinstance(data, str | Mapping):
        return Event(name, raw, data)
    if isinstance(data, list) and any(isinstance(item, Mapping | str) for item in data):
        return Event(name, raw, data)
    # A token may be JSON too, such as 27, and so may the beginning of an object that was cut.
    return Event(name, "" if raw.startswith('{"') else raw)


def _in_a_row(body: str) -> Iterator[Event]:
    decoder = json.JSONDecoder()
    found: list[Event] = []
    at_ = 0
    while at_ < len(body):
        if body[at_] in " \t\r\n\x1e,":
            at_ += 1
            continue
        try:
            data, at_ = decoder.raw_decode(body, at_)
        except (ValueError, RecursionError):
            if body[at_] != "{":  # not what a stream that was cut ends with
                return
            break
        if not isinstance(data, Mapping):
            return
        found.append(Event("", "", data))
    yield from found


def _json(raw: str) -> object:
    try:
        found: object = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found

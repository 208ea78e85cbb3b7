"""Inputs, outputs and prompts of a run to its question, its answer and the talk before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from otel_raglog.conventions.chat import content_text, message_in, messages_in, responses_in
from otel_raglog.conventions.json_text import (
    looks_cut,
    parse_json,
    parse_json_or_literal,
    whole_members,
)
from otel_raglog.mapping.outputs import final_answer, plain_text
from otel_raglog.mapping.texts import holds, normal, sections
from otel_raglog.model import Field, FieldStatus, Message, SpanFacts

QUESTION_KEYS = (
    "question",
    "query",
    "query_str",
    "user_question",
    "user_query",
    "user_input",
    "input",
    "inputs",
    "message",
    "user_message",
    "str_or_query_bundle",
    "query_bundle",
    "messages",
    "chat_messages",
    "prompt",
    "text",
    "topic",
    "task",
)
"""Where a run's question is found in JSON, best first."""

ANSWER_KEYS = (
    "answer",
    "final_answer",
    "response",
    "generation",
    "output",
    "outputs",
    "result",
    "replies",
    "reply",
    "answers",
    "final_output",
    "output_text",
    "text",
    "content",
    "message",
    "messages",
    "choices",
    "generations",
    "completion",
    "prediction",
    "raw",
)
"""Where a run's answer is found in JSON, best first."""

HISTORY_KEYS = ("chat_history", "history", "conversation_history", "conversation", "messages")

_WRAPPERS = ("kwargs", "args", "input_data", "data", "state", "request", "body", "values", "kwds")
_ASKED_KEYS = (*QUESTION_KEYS, *_WRAPPERS)
_MAX_DEPTH = 5
_LONG = 400
_MARKED = re.compile(
    r"\n[ \t#*<]*(?:user |original |follow[- ]?up |current |the )?"
    r"(?:question|query|input)\b[ \t*>]*:[ \t*]*(?P<text>\S[^\n]*(?:\n(?![ \t#*<]*\w[\w ]{0,24}:)"
    r"(?!-{3,})[^\n]+)*)",
    re.IGNORECASE,
)
_TAGGED = re.compile(
    # An instruction may name the tag first ("the question in <question> tags").
    r"<(question|query|user_query)>\s*((?:(?!<\1\b).)*?)\s*</\1>",
    re.DOTALL | re.IGNORECASE,
)
_HEADED = re.compile(
    # LlamaIndex's condense prompt: a heading in angle brackets that nothing closes.
    r"^[ \t]*<(?:follow[- ]?up|latest|last|new|current) (?:user )?(?:message|question|query|input)>"
    r"[ \t]*\n+(?P<text>[^\n<][^\n]*(?:\n(?![ \t]*(?:\n|<))[^\n]+)*)",
    re.IGNORECASE | re.MULTILINE,
)
_RULE = re.compile(r"\n[ \t]*[-=*#_]{3,}[ \t]*(?=\n|\Z)")
_END_OF_TURN = re.compile(
    r"(?:<\|(?:eot_id|im_end|end|eom_id|end_of_text|endoftext)\|>|\[/INST\]|</s>|<end_of_turn>).*\Z",
    re.DOTALL,
)
"""Where templates of models, written into one text, end what the user says."""

_WRAPPED = re.compile(r"\A(\"{3}|'{3}|`{3}|\[|<<)(?P<text>.+?)(\"{3}|'{3}|`{3}|\]|>>)\Z", re.DOTALL)
_ANSWER_CUE = re.compile(
    r"\n[ \t#*]*(?:answer|response|helpful answer|assistant)[ \t*]*:?.*\Z",
    re.IGNORECASE | re.DOTALL,
)
_TURN = re.compile(
    r"^[ \t]*(?P<who>user|human|assistant|ai|bot)[ \t]*:[ \t]*(?P<text>.*?)"
    r"(?=^[ \t]*(?:user|human|assistant|ai|bot)[ \t]*:|^[ \t]*(?:<|-{3,}|follow|question|"
    r"standalone|new|latest)|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
OBSERVED = re.compile(
    r"\s*[\[<(#*]*\s*(?:observation|tool|function|search results?|result|context)\b"
    r"(?:[^\n?]{0,60}[:\]>)]|[ \t*]*\n)",
    re.IGNORECASE,
)
"""How agents without tool messages hand results back: these are no new questions."""


def question_in(data: object, depth: int = 0) -> str | None:  # noqa: C901, PLR0911  one return per known shape
    """Return the question in a run's input, ``None`` when the JSON names none."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(data, str):
        return plain_text(data)
    if isinstance(data, list):
        return _question_in_list(data, depth)
    if not isinstance(data, dict):
        return None
    for key in _ASKED_KEYS:
        value = data.get(key)
        if value is not None and value != "":
            found = question_in(value, depth + 1)
            if found is not None:
                return found
    for value in data.values():
        if isinstance(value, dict):
            found = _named_question(value, depth + 1)
            if found is not None:
                return found
    texts = [value for value in data.values() if isinstance(value, str) and value.strip()]
    return texts[0] if len(texts) == 1 == len(data) else None


def answer_in(data: object, depth: int = 0) -> str | None:  # noqa: C901, PLR0911  one return per known shape
    """Return the answer in a run's output, ``None`` when the JSON names none."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(data, str):
        return plain_text(data)
    if isinstance(data, list):
        last = _last_said(data)
        if last is not None and (message := message_in(last)) is not None:
            return message.content or None
        return answer_in(data[0], depth + 1) if len(data) == 1 else None
    if not isinstance(data, dict):
        return None
    message = message_in(data)
    if message is not None and message.content:
        return message.content
    for key in ANSWER_KEYS:
        value = data.get(key)
        if value is not None and value != "":
            found = answer_in(value, depth + 1)
            if found is not None:
                return found
    for value in data.values():
        if isinstance(value, dict) and not value.keys().isdisjoint(ANSWER_KEYS):
            found = answer_in(value, depth + 1)
            if found is not None:
                return found
    texts = responses_in(data)
    return plain_text(texts[0]) if texts else None


def _last_said(data: list[object]) -> dict[str, object] | None:
    """Return the last message of a list: what a tool gave back after it is no answer."""
    if not data or not isinstance(data[-1], dict) or message_in(data[-1]) is None:
        return None
    said = [item for item in data if isinstance(item, dict) and item.get("role") != "tool"]
    return next((item for item in reversed(said) if message_in(item) is not None), data[-1])


def history_in(data: object, question: str | None) -> tuple[Message, ...]:
    """Return the talk before the question in a run's input, oldest first."""
    if not isinstance(data, dict):
        return ()
    for key in HISTORY_KEYS:
        found = messages_in(data.get(key))
        if found:
            return before_question(found, question, in_prompt=False)
    for key in (*_WRAPPERS, "input", "inputs"):
        if isinstance(data.get(key), dict):
            return history_in(data[key], question)
    return ()


def before_question(
    messages: Sequence[Message], question: str | None, *, in_prompt: bool = True
) -> tuple[Message, ...]:
    """Return the user and assistant messages before the one that asks.

    That is the last user message that holds the question; in a prompt, whose last message may
    hold context and a rewritten question, or else the last that asks anything. A lone user
    message is no history; neither are an agent's own steps after it, nor the answer that a
    synthesizer refines.
    """
    talk = [
        message
        for message in messages
        if message.role in {"user", "assistant"}
        and message.content.strip()
        and not is_observed(message)
    ]
    asking = [i for i, message in enumerate(talk) if message.role == "user"]
    if not asking:
        return tuple(talk)
    last = asking[-1]
    if question and not holds(talk[last].content, question):
        earlier = [i for i in asking if holds(talk[i].content, question)] if in_prompt else []
        last = earlier[-1] if earlier else (last if in_prompt else len(talk))
    before = talk[:last]
    return tuple(before) if any(message.role == "assistant" for message in before) else ()


def this_turn(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without earlier turns of the talk: instructions, and what came last.

    A turn ends with what the assistant said before the last user message that asks.
    """
    asking = [
        i
        for i, message in enumerate(messages)
        if message.role == "user" and message.content.strip() and not is_observed(message)
    ]
    said = [
        i
        for i, message in enumerate(messages[: asking[-1]] if asking else ())
        if message.role == "assistant" and message.content.strip()
    ]
    begin = said[-1] + 1 if said else 0
    return tuple(m for i, m in enumerate(messages) if i >= begin or m.role == "system")


def is_observed(message: Message) -> bool:
    """Tell whether a user message only hands back what a tool found."""
    return (
        message.role == "user"
        and OBSERVED.match(message.content) is not None
        and _marked_question(message.content) is None
    )


def turns_in_text(text: str) -> tuple[Message, ...]:
    """Return the turns of a talk written out in a prompt (``user: … assistant: …``)."""
    turns = [
        Message("user" if m["who"].lower() in {"user", "human"} else "assistant", m["text"].strip())
        for m in _TURN.finditer(text)
    ]
    return tuple(turn for turn in turns if turn.content)


def question_in_prompt(
    messages: Sequence[Message], known: Iterable[str], variables: Mapping[str, str]
) -> str | None:
    """Return the user's question in a generator's prompt, without context and instructions.

    It is a template variable; or what stands after ``Question:`` or in ``<question>``; or the
    line of a long message that contains a ``known`` search text; or else the last user message
    that asks, one that is a ``known`` search text before others.
    """
    for key in QUESTION_KEYS:
        value = variables.get(key)
        if value and any(holds(message.content, value) for message in messages):
            return value
    known = tuple(known)
    asked = asked_in(messages)
    same = [text for text in asked if any(normal(text) == normal(search) for search in known)]
    text = next(iter((same or asked)[-1:]), "")
    marked = _marked_question(text) or _behind_instruction(text, known)
    marked = marked and _first_line_searched(marked, known)
    if marked is None and (len(text) > _LONG or "\n" in text.strip()):
        lines = [line.strip() for line in text.splitlines() if len(line) <= _LONG]
        marked = next(
            (line for search in known for line in reversed(lines) if holds(line, search)), None
        )
    return _without_template(marked or text) or None


def _first_line_searched(text: str, known: Iterable[str]) -> str:
    """Return the first line where that is what was searched for: what follows was put to it."""
    first, _, rest = text.partition("\n")
    if rest and any(normal(first) == normal(search) for search in known):
        return first
    return text


def _without_template(text: str) -> str:
    """Return a question without what a prompt's template puts around and after it."""
    text = _END_OF_TURN.sub("", text.strip()).strip()
    rule = _RULE.search(text)
    if rule and text[: rule.start()].rstrip().endswith("?"):
        text = text[: rule.start()]
    wrapped = _WRAPPED.match(text)
    return (wrapped["text"] if wrapped else text).strip()


def _behind_instruction(text: str, known: Iterable[str]) -> str | None:
    """Return what was searched for where a message hands it on (``Based on the above: …``)."""
    plain = normal(text)
    for search in known:
        head = plain.removesuffix(normal(search))
        if head != plain and head.rstrip().endswith(":"):
            return search.strip()
    return None


def asked_in(messages: Sequence[Message]) -> list[str]:
    """Return the user messages that ask; all of them if none does."""
    said = [
        message
        for message in messages
        if message.role == "user" and not looks_cut(message.content, declared_json=False)
    ]
    return [m.content for m in said if not is_observed(m)] or [m.content for m in said]


def _marked_question(text: str) -> str | None:
    tagged = _TAGGED.findall(text)
    if tagged:
        return str(tagged[-1][1])
    headed = [match["text"] for match in _HEADED.finditer(text)]
    if headed:
        return headed[-1].strip()
    fields = sections(text)
    for key in QUESTION_KEYS:
        if fields.get(key):
            return fields[key]
    marked = [match["text"] for match in _MARKED.finditer("\n" + text)]
    if not marked:
        return None
    return _ANSWER_CUE.sub("", "\n" + marked[-1]).strip() or marked[-1].strip()


def asks_several(facts: SpanFacts, runs: int) -> bool:
    """Tell whether an input is a list of as many questions as there are pipelines below it."""
    lists = [facts.input_data]
    if isinstance(facts.input_data, dict):
        lists.extend(_values(facts.input_data))
    return any(
        isinstance(value, list) and len(value) >= max(2, runs) and _are_questions(value)
        for value in lists
    )


def readable(output: Field[str]) -> Field[str]:
    """Return an output, or that there is none when it only shows a Python object."""
    if output.value and output.value.strip() and plain_text(output.value) is None:
        return Field(None, FieldStatus.NOT_CAPTURED, output.source)
    return output


def spoken_question(facts: SpanFacts) -> Field[str]:
    """Return the question in a span's input, with the reason where it is missing."""
    read = readable(facts.input)
    if read.value is None or read.status is FieldStatus.EMPTY:
        return read
    data = facts.input_data
    if data is None:
        data = parse_json_or_literal(read.value)
    if data is None and not looks_cut(read.value, declared_json=False):
        return read
    if data is None:
        named = {
            key: value for key, value in whole_members(read.value).items() if key in QUESTION_KEYS
        }
        return _before_cut(question_in(named), read)
    found = question_in(data)
    if found is None:
        return Field(None, FieldStatus.NOT_CAPTURED, read.source)
    cut = (
        read.status is FieldStatus.TRUNCATED
    )  # later messages are lost: the last may be among them
    return Field(found, read.status if cut else FieldStatus.PRESENT, read.source)


def spoken_answer(facts: SpanFacts) -> Field[str]:
    """Return the answer in a span's output, with the reason where it is missing."""
    read = readable(facts.output)
    if read.value is None or read.status is FieldStatus.EMPTY:
        return read
    if facts.output_data is None and looks_cut(read.value, declared_json=False):
        return _before_cut(answer_in(whole_members(read.value)), read)
    found = answer_in(read.value if facts.output_data is None else facts.output_data)
    if found is None:
        return Field(None, FieldStatus.NOT_CAPTURED, read.source)
    status = read.status if facts.output_data is None else FieldStatus.PRESENT
    return Field(final_answer(found), status, read.source)


def _before_cut(found: str | None, cut: Field[str]) -> Field[str]:
    """Return what stood whole before the cut in JSON, else that the cut took it."""
    status = FieldStatus.TRUNCATED if found is None else FieldStatus.PRESENT
    return Field(found, status, cut.source)


def _question_in_list(data: list[object], depth: int) -> str | None:
    messages = messages_in(data)
    if messages and not all(isinstance(element, str) for element in data):
        asked = asked_in(messages)
        return _without_state(asked[-1], depth) if asked else None
    first = data[0] if data else None
    if len(data) == 1 and not isinstance(first, dict):
        return question_in(first, depth + 1)
    if isinstance(first, str) and depth > 0:
        return first
    if len(data) == 1 and isinstance(first, dict):
        return question_in(first, depth + 1) or content_text(first) or None
    return None


def _without_state(text: str, depth: int) -> str:
    """Return the question of a user message, also where that is a whole state (LangGraph)."""
    state = parse_json(text)
    found = question_in(state, depth + 1) if isinstance(state, dict) else None
    return found or text


def _named_question(data: Mapping[str, object], depth: int) -> str | None:
    """Return a question one level down, where only an unmistakable name counts (Haystack)."""
    for key in ("question", "query", "user_input", "text", "input"):
        value = data.get(key)
        if isinstance(value, str) and value.strip():
            return value
    for value in data.values():
        if isinstance(value, dict) and depth < _MAX_DEPTH:
            found = _named_question(value, depth + 1)
            if found is not None:
                return found
    return None


def _values(data: Mapping[str, object]) -> Iterator[object]:
    for value in data.values():
        if isinstance(value, dict):
            yield from value.values()
        else:
            yield value


def _are_questions(values: list[object]) -> bool:
    if all(isinstance(value, str) for value in values):
        return True
    return all(
        isinstance(value, dict)
        and "role" not in value
        and question_in(value) is not None
        and message_in(value) is None
        for value in values
    )

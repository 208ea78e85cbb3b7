"""The messages of a prompt to the part of them that is context."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from otel_raglog.conventions.json_text import parse_json, strings_in
from otel_raglog.mapping.question import this_turn
from otel_raglog.mapping.texts import beginning, folded, holds, normal, sections
from otel_raglog.model import Chunk, Message

CONTEXT_VARIABLE = re.compile(
    r"(?:^|_)(?:context|contexts|documents|docs|passages|chunks|sources|summaries|evidence|"
    r"knowledge|references|context_str|context_msg|retrieved)(?:_|$)",
    re.IGNORECASE,
)
# Marks at the beginning of a line are looked for with the end of the line before it, which is found
# at once: in the text after a line break.
_RULE = re.compile(r"\n[ \t]*(?P<mark>-{3,}|={3,}|\*{3,}|#{3,}|\"{3,})[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"\n[ \t]*`{3,}[ \t]*(?P<language>[^\n`]*)$", re.MULTILINE)
_NUMBERED = re.compile(r"\n\s*\[(?:1|doc(?:ument)? ?1)\]", re.IGNORECASE)
_TAGGED = re.compile(
    r"<(context|contexts|documents|docs|passages|sources|search_results)>(.*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
_NAMED = (
    r"(?:context|documents?|passages?|sources?|excerpts|references|search results|"
    r"retrieved (?:chunks|information))"
)
_LABEL = re.compile(rf"(?<!`)(?<!data )\b{_NAMED}\b[^\n:.`]{{0,40}}:", re.IGNORECASE)
_LONGEST_LABEL = 40 + len("retrieved information")
_LABEL_PART = re.compile("context|document|passage|source|excerpts|references|search results|retr")
"""What every label holds, casefolded: quicker to look for than the label."""

_LEADS_IN = re.compile(rf"\b(?:{_NAMED}|chunks|information|text|notes)\b", re.IGNORECASE)
_LEADS_ELSEWHERE = re.compile(
    r"\b(?:questions?|query|queries|input|message|conversation|history|choices|options|tools|"
    r"examples?|schema|format)\b",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r"\n[ \t#*]*(?:user |original |the )?(?:question|query)[ \t*]*:[^\n]*", re.IGNORECASE
)
_HANDED_BACK = re.compile(r"\s*observation\s*:\s*", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that put no space between words."""

_MOST_WORDS_OF_A_VALUE = 5
_MANY = 12
_TASK = re.compile(
    r"\s*(?:please |you are [^\n.]{0,80}\.\s+|your task is to )?(?:summari[sz]e|translate|proofread|"
    r"paraphrase|classify|categori[sz]e|extract|condense|shorten|"
    r"(?:write|give|create|generate) (?:me )?an? (?:\w+ ){0,3}(?:summary|title|translation)|"
    r"fix (?:the )?(?:grammar|spelling))\b[^\n?]*(?:\n|$|:)",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\{\w*\}")
_PROBE_CHARS = 48


def probes_of(chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """Return the beginnings of chunks, by which :func:`has_any` knows them again."""
    texts = [beginning(chunk.text, _PROBE_CHARS) for chunk in chunks]
    return tuple(dict.fromkeys(text for text in texts if text))


def has_any(text: str, probes: Sequence[str]) -> bool:
    """Tell whether a :func:`~otel_raglog.mapping.texts.folded` text holds one of ``probes``."""
    return any(probe in text for probe in probes)


def shows_any(text: str, chunks: Sequence[Chunk]) -> bool:
    """Tell whether a text holds the beginning of one of ``chunks``, but for case and white space."""
    if any(c.text in text and beginning(c.text, _PROBE_CHARS) for c in chunks if c.text):
        return True
    return bool(chunks) and has_any(folded(text), probes_of(chunks))


def context_in(
    messages: Sequence[Message],
    variables: Mapping[str, str],
    chunks: Sequence[Chunk],
    question: str | None,
) -> str | None:
    """Return the context in a prompt, ``None`` when it cannot be told from the rest.

    In this order: the context variables of the prompt's template; tool results; what stands
    between marks (rules, tags, ``Context:``, DSPy's fields) in the messages that hold the
    chunks, or else in all messages of this turn; those messages without the question.
    """
    prompt = "\n\n".join(message.content for message in messages)
    named = [value for name, value in variables.items() if CONTEXT_VARIABLE.search(name)]
    if named and all(not value.strip() for value in named):
        return ""
    seen = [value for value in named if value.strip() and holds(prompt, value)]
    if seen:
        return "\n\n".join(seen)
    tools = _tool_results(messages)
    if tools:
        return "\n\n".join(tools)
    messages = this_turn(messages)
    holding = [message for message in messages if shows_any(message.content, chunks)]
    cut = [_between_marks(message.content, chunks) for message in holding or messages]
    marked = [text for text in cut if text is not None]
    if marked and (not holding or len(marked) == len(holding)):
        return "\n\n".join(marked)
    if holding:
        return "\n\n".join(_without(message.content, question) for message in holding)
    rest = [message.content for message in messages if not _is_question(message, question)]
    return "\n\n".join(rest) if len(rest) < len(messages) else None


def shows_context(
    messages: Sequence[Message], variables: Mapping[str, str], done: Collection[str] = ()
) -> bool:
    """Tell whether a prompt visibly holds context: a variable, a tool result, or marks of it.

    What earlier turns of the talk show does not count: a "thank you" searches for nothing. Nor
    do results without a passage in them (a sum, the weather as JSON) and those that are
    ``done``: what tools gave that act instead of searching. A text to summarise or to translate
    is no context: nobody asks anything.
    """
    if any(CONTEXT_VARIABLE.search(name) and value.strip() for name, value in variables.items()):
        return True
    current = this_turn(messages)
    known = {normal(text) for text in done}
    if any(has_passage(text) and normal(text) not in known for text in _tool_results(current)):
        return True
    for message in current:
        if _is_task(message.content):
            continue
        if _NUMBERED.search("\n" + message.content):
            return True
        if (
            message.role in {"system", "user"}
            and (_between_marks(message.content, ()) or "").strip()
        ):
            return True
    return False


def has_passage(text: str) -> bool:
    """Tell whether a text, or one in its JSON, is more than a value or a few words."""
    data = parse_json(text)
    texts = [text] if data is None else strings_in(data)
    return any(
        len(_WORD.findall(piece)) > _MOST_WORDS_OF_A_VALUE or len(_UNSPACED.findall(piece)) > _MANY
        for piece in texts
    )


def _is_task(text: str) -> bool:
    """Tell whether a message tells what to do with a text, and asks nothing about it."""
    return _TASK.match(text) is not None and not _ASKED.search("\n" + text)


def _tool_results(messages: Sequence[Message]) -> list[str]:
    """Return what tools handed back, also as the user's ``Observation:`` (ReAct)."""
    found: list[str] = []
    for message in messages:
        observed = _HANDED_BACK.match(message.content) if message.role == "user" else None
        if message.role == "tool":
            found.append(message.content)
        elif observed is not None:
            found.append(message.content[observed.end() :])
    return found


def _between_marks(text: str, chunks: Sequence[Chunk]) -> str | None:
    """Return what stands between marks of context; ``None`` without any, or if it cuts chunks."""
    marked = [m.inside for m in _marked(text) if m.introduced or shows_any(m.inside, chunks)]
    if not marked:
        return None
    whole = folded(text) if chunks else ""
    wanted = [probe for probe in probes_of(chunks) if probe in whole]
    for found in marked:
        inside = folded(found) if wanted else ""
        if all(probe in inside for probe in wanted):
            return found.strip()
    return None


class _Marked(NamedTuple):
    """What stands between marks; not ``introduced`` as context it must show that it is some."""

    inside: str
    introduced: bool = True


def _marked(text: str) -> Iterator[_Marked]:
    fields = sections(text)
    if fields:  # DSPy: a description of the fields is no context, nor are their placeholders
        named = [body for name, body in fields.items() if CONTEXT_VARIABLE.search(name)]
        if named and not any(_PLACEHOLDER.fullmatch(body) for body in named):
            yield _Marked("\n\n".join(named))
        return
    tagged = [body for _, body in _TAGGED.findall(text)]
    if tagged and not all(_PLACEHOLDER.fullmatch(body.strip()) for body in tagged):
        yield _Marked("\n\n".join(tagged))
    lined = "\n" + text
    rules = list(_RULE.finditer(lined))
    if len(rules) == 2 and rules[0]["mark"][0] == rules[1]["mark"][0]:  # noqa: PLR2004  a pair
        lead = _lead(lined[: rules[0].start()])
        if _LEADS_IN.search(lead) or not _LEADS_ELSEWHERE.search(lead):
            yield _Marked(lined[rules[0].end() : rules[1].start()])
    yield from _fenced(lined)
    rest = _after_label(text)
    if rest is not None:
        asked = list(_ASKED.finditer(rest))
        yield _Marked(rest[: asked[-1].start()] if asked else rest)


def _after_label(text: str) -> str | None:
    """Return what stands behind the first ``Context:`` or the like, ``None`` without any.

    A label is looked for where it ends, since prose has many more letters than colons.
    """
    start, end = 0, text.find(":") + 1
    while end:
        start = max(start, end - 1 - _LONGEST_LABEL)
        before = text[start:end].casefold()
        if _LABEL_PART.search(before) and _LABEL.search(text, start, end):
            return text[end:].lstrip(" \t")
        start, end = end, text.find(":", end) + 1
    return None


def _fenced(text: str) -> Iterator[_Marked]:
    """Yield what the only code fence holds.

    Fences mostly hold code, schemas and formats: those say nothing of context.
    """
    fences = list(_FENCE.finditer(text))
    if len(fences) != 2:  # noqa: PLR2004  an opening and a closing fence
        return
    inside = text[fences[0].end() : fences[1].start()]
    plain = fences[0]["language"].strip().lower() in {"", "text", "txt", "md", "markdown"}
    introduced = plain and _LEADS_IN.search(_lead(text[: fences[0].start()])) is not None
    yield _Marked(inside, introduced)


def _lead(text: str) -> str:
    """Return the last line before a mark that says something."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


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

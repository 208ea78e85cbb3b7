"""Small edits of texts that several faults share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.words import WORD, content_words, fold
from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.stores import Hit
from otel_raglog.lab.vocabulary import Vocabulary


def replaced(text: str, old: str, new: str) -> str:
    """Return ``text`` with the first ``old`` as a word of its own replaced, case aside."""
    pattern = rf"(?<!\w){re.escape(old)}(?!\w)"
    return tidy(re.sub(pattern, lambda _: new, text, count=1, flags=re.IGNORECASE))


def without(text: str, old: str) -> str:
    """Return ``text`` without any ``old``, with the words that led up to it (*in*, *the*)."""
    pattern = (
        rf"(?:\b(?:in|on|of|the|for|during|from|at|by)\s+)*(?<!\w){re.escape(old)}(?:'s)?(?!\w)"
    )
    return tidy(re.sub(pattern, "", text, flags=re.IGNORECASE))


def tidy(text: str) -> str:
    """Return ``text`` with single spaces, none before marks."""
    return re.sub(r"\s+([?.,;!])", r"\1", " ".join(text.split()))


def entities(text: str, vocabulary: Vocabulary) -> list[str]:
    """Return the names of ``text``, longest first.

    In lower case, those are words that the corpus writes with a capital, or else rare ones.
    """
    found = [name.text for name in names(text)]
    if not found:
        runs: list[list[str]] = [[]]
        for match in WORD.finditer(text):
            if vocabulary.name_like(fold(match.group())) and not match.group().isdigit():
                runs[-1].append(match.group())
            else:
                runs.append([])
        found = [" ".join(run) for run in runs if run]
    if not found:
        found = [word for word in content_words(text) if vocabulary.specific(word)]
    return sorted(found, key=len, reverse=True)


def other_entity(setting: Setting, entity: str, rng: Random) -> str | None:
    """Return a name of the corpus that is about as long and shares no word with ``entity``."""
    told = set(content_words(entity))
    passages = setting.bench.passages
    for _ in range(30):
        passage = rng.choice(passages)
        title = re.sub(r"\s*\(.*\)$", "", passage.title)
        found = [title] if title else [name.text for name in names(passage.text)]
        for name in found:
            size = len(name.split())
            if name and not told & set(content_words(name)) and size <= len(entity.split()) + 1:
                return name.lower() if entity.islower() else name
    return None


def on_rewrites(
    run: Execution, edit: Callable[[str], str], *, all_of_them: bool
) -> Injection | None:
    """Return the run with its rewrites edited, the first that changes or all of them."""
    old = run.rewrites or ()
    new: list[str] = []
    done = False
    for text in old:
        edited = text if done and not all_of_them else edit(text)
        done = done or edited != text
        new.append(edited)
    if not done or not all(text.strip(" ?") for text in new):
        return None
    return Injection(replace(run, rewrites=tuple(new)), " | ".join(old), " | ".join(new))


def on_embedded(run: Execution, edit: Callable[[str], str]) -> Injection | None:
    """Return the run with every embedded text edited."""
    old = run.embedded or ()
    new = tuple(edit(text) for text in old)
    if new == old or not all(new):
        return None
    return Injection(replace(run, embedded=new), " | ".join(old), " | ".join(new))


def on_answer(
    run: Execution, text: str | None, before: str = "", after: str = ""
) -> Injection | None:
    """Return the run with another answer; ``before`` and ``after`` default to the answers."""
    old = run.reply.text
    if text is None or not text.strip() or text == old:
        return None
    tokens = round(len(text.split()) * 4 / 3)
    reply = replace(run.reply, text=text, completion_tokens=tokens)
    return Injection(replace(run, reply=reply), before or old, after or text)


def ids(hits: Sequence[Hit]) -> str:
    """Return the ids of ``hits`` in words."""
    return ", ".join(hit.passage.id for hit in hits)


def holding(setting: Setting, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that hold what the question needs, or might."""
    return [hit for hit in hits if setting.evidence.holds(hit.passage.text) is not Holds.NO]


def with_retrieved(run: Execution, hits: tuple[Hit, ...]) -> Injection | None:
    """Return the run with other hits."""
    if hits == run.retrieved:
        return None
    return Injection(replace(run, retrieved=hits), ids(run.retrieved), ids(hits))


def case_as(word: str, like: str) -> str:
    """Return ``word`` with a capital where ``like`` has one."""
    return word.capitalize() if like[:1].isupper() else word

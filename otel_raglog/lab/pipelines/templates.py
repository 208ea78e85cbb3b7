"""Prompt templates: the question and the passages that were selected to what the LLM reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_raglog.lab.stores import Hit

Turns = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one passage in a prompt; ``text`` is empty where it was left blank."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Template:
    """How a prompt is written: ``block`` for each passage ({n}, {title}, {text}), ``whole`` around.

    ``whole`` has {context}, {history} (empty, or the turns with a line break behind) and
    {question}.
    """

    block: str
    whole: str
    between: str = "\n\n"
    untitled: str = ""
    """The block for passages without a title; empty: the same one."""

    def render(self, question: str, slots: Sequence[Slot], history: Turns = ()) -> str:
        """Return the prompt."""
        context = self.between.join(self._block(n, slot) for n, slot in enumerate(slots, 1))
        turns = "".join(f"{role.capitalize()}: {text}\n" for role, text in history)
        if turns:
            turns = f"Conversation so far:\n{turns}\n"
        return self.whole.format(context=context, question=question, history=turns)

    def _block(self, number: int, slot: Slot) -> str:
        block = self.block if slot.title or not self.untitled else self.untitled
        return block.format(n=number, title=slot.title, text=slot.text)


NUMBERED = Template(
    "[{n}] {title}: {text}",
    "{history}Context:\n{context}\n\nQuestion: {question}\nAnswer:",
    untitled="[{n}] {text}",
)
TAGGED = Template(
    '<document index="{n}">\n<title>{title}</title>\n{text}\n</document>',
    "<documents>\n{context}\n</documents>\n\n{history}{question}",
    "\n",
    untitled='<document index="{n}">\n{text}\n</document>',
)
HEADED = Template(
    "### {title}\n{text}",
    "Use these passages.\n\n{context}\n\n{history}## Question\n{question}",
    untitled="### Passage {n}\n{text}",
)
PLAIN = Template("{text}", "{history}{question}\n\nBackground:\n{context}", "\n---\n")
LISTED = Template(
    "- {text} ({title})",
    "Search results:\n{context}\n\n{history}User question: {question}\nYour answer:",
    "\n",
    untitled="- {text}",
)
SOURCED = Template(
    "Source {n} ({title}):\n{text}",
    "{history}Answer this question: {question}\n\nSources:\n\n{context}\n\nReply in at most three sentences.",
    untitled="Source {n}:\n{text}",
)

SYSTEM_STRICT = (
    "You answer questions for users of a knowledge base. Use only the context below. "
    "If the context does not contain the answer, say that you do not know."
)
SYSTEM_SHORT = "Answer from the passages, in one or two sentences. Do not use outside knowledge."
SYSTEM_HELPFUL = "You are a helpful assistant. Answer with the help of the context."
SYSTEM_DESK = (
    "You work at an information desk. Be brief and precise. Rely on the sources that you are given "
    "and say so when they do not help."
)


def within(hits: Sequence[Hit], budget_words: int | None) -> tuple[Slot, ...]:
    """Return the slots of ``hits``; from where their words pass the budget on, none.

    The first passage is always in, as most frameworks do it.
    """
    slots: list[Slot] = []
    used = 0
    for hit in hits:
        used += len(hit.passage.text.split())
        if slots and budget_words is not None and used > budget_words:
            break
        slots.append(Slot(hit.passage.id, hit.passage.title, hit.passage.text))
    return tuple(slots)

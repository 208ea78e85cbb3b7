"""A run to the same run without what must not leave the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from otel_raglog.checks.judge.visible import visible
from otel_raglog.model import Chunk, Field, Message, Run
from otel_raglog.patterns import UNSEEN, compile_pattern
from otel_raglog.redaction.redaction import Redaction
from otel_raglog.redaction.replacing import MASK as REDACTED

T = TypeVar("T")


class Redactor:
    """Replaces what any of ``patterns`` (regular expressions) matches, in every text of a run.

    Characters that nobody sees (soft hyphens, zero-width spaces) keep nothing from being matched: an
    LLM is not shown them either. Names of services and models, and ids, are no texts of a run:
    nobody is sent them.

    What ``redaction`` finds in texts is replaced, too.

    Raises:
        BadInput: a pattern is no regular expression of RE2.
        ConfigError: RE2 is not installed.
    """

    def __init__(self, patterns: Sequence[str], redaction: Redaction | None = None) -> None:
        self._patterns = tuple(map(compile_pattern, patterns))
        self._also = None if redaction is None else redaction.texts

    def __call__(self, run: Run) -> Run:
        """Return ``run`` as an LLM may see it."""
        if not self._patterns and self._also is None:
            return run
        text, texts, chunks, messages = (
            self._of(made) for made in (self.text, self._texts, self._chunks, self._messages)
        )
        return replace(
            run,
            question=text(run.question),
            answer=text(run.answer),
            history=messages(run.history),
            rewriters=tuple(
                replace(
                    s,
                    input=text(s.input),
                    rewrites=texts(s.rewrites),
                    filters=self._optional(s.filters),
                )
                for s in run.rewriters
            ),
            embedders=tuple(replace(s, texts=texts(s.texts)) for s in run.embedders),
            retrievers=tuple(
                replace(
                    s,
                    query=text(s.query),
                    chunks=chunks(s.chunks),
                    filters=self._optional(s.filters),
                )
                for s in run.retrievers
            ),
            rerankers=tuple(
                replace(
                    s,
                    query=text(s.query),
                    candidates=chunks(s.candidates),
                    selected=chunks(s.selected),
                )
                for s in run.rerankers
            ),
            assemblies=tuple(
                replace(
                    s,
                    selected=chunks(s.selected),
                    context=text(s.context),
                    prompt=text(s.prompt),
                )
                for s in run.assemblies
            ),
            generators=tuple(
                replace(
                    s,
                    messages=messages(s.messages),
                    answer=text(s.answer),
                    draft=text(s.draft),
                    finish_reason=self._optional(s.finish_reason),
                )
                for s in run.generators
            ),
        )

    def text(self, text: str) -> str:
        """Return ``text`` as an LLM may see it; as it is, where nothing matches."""
        seen = found = visible(UNSEEN.sub("", text)).text
        for pattern in self._patterns:
            found = pattern.sub(REDACTED, found)
        if self._also is not None:
            found = self._also(found)
        return text if found == seen else found

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _texts(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.text, texts))

    def _chunks(self, chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
        return tuple(
            replace(
                chunk,
                text=self.text(chunk.text),
                title=self._optional(chunk.title),
                metadata={},
            )
            for chunk in chunks
        )

    def _messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(replace(message, content=self.text(message.content)) for message in messages)

    @staticmethod
    def _of(made: Callable[[T], T]) -> Callable[[Field[T]], Field[T]]:
        def field_of(field: Field[T]) -> Field[T]:
            return field if field.value is None else replace(field, value=made(field.value))

        return field_of

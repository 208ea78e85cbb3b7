"""A span's role, input and output to facts: what every vocabulary reads in the same way.

Most vocabularies write what a step was given and what it gave back as free text or JSON under a
key of their own, and only some have keys for documents, messages or texts. A reader of such a
vocabulary says where input and output are and what the role is, and overrides the methods for
which its vocabulary has keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_raglog.conventions.chat import (
    finish_reason_in,
    messages_in,
    responses_in,
    without_speaker,
)
from otel_raglog.conventions.documents import chunks_in, with_score_kinds
from otel_raglog.conventions.json_text import looks_cut, parse_json, parse_json_or_literal
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.queries import embedded_texts_in, query_in, top_k_in
from otel_raglog.conventions.reprs import message_text
from otel_raglog.conventions.values import SpanValues
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    Loss,
    Message,
    Role,
    SpanFacts,
    TokenUsage,
    missing,
)

SEARCHING = frozenset({Role.RETRIEVER, Role.RERANKER, Role.TOOL})
"""Roles whose outputs are documents, also where these are bare strings."""

NO_TOKENS = TokenUsage()
NO_MODEL = frozenset({"", "unknown", "none"})
"""What instrumentations write for the name of a model that they do not know."""
_NO_LOSS = Loss()


class WorkReader(SpanValues):
    """Reads one span; every method without a leading underscore returns one fact.

    A vocabulary's reader sets ``role``, ``input`` with ``input_data`` and ``output`` with
    ``output_data`` before anything else is asked.
    """

    role: Role = Role.UNKNOWN
    input: Field[str] = NOT_CAPTURED
    input_data: object | None = None
    output: Field[str] = NOT_CAPTURED
    output_data: object | None = None

    def facts(self) -> SpanFacts:
        """Return all that the span says."""
        output_messages, calls = self.output_messages()
        documents, structured = self.documents()
        return SpanFacts(
            span_id=self.span.span_id,
            convention=self.convention,
            role=self.role,
            input=self.input,
            output=self.output,
            input_data=self.input_data,
            output_data=calls if calls and self.output_data is None else self.output_data,
            query=self.query(),
            documents=documents,
            input_documents=self.input_documents(),
            structured_documents=structured,
            embedding_texts=self.embedding_texts(),
            messages=self.messages(),
            output_messages=output_messages,
            prompt_template=self.prompt_template(),
            prompt_variables=self.prompt_variables(),
            top_k=self.top_k(),
            model=self.model(),
            finish_reason=self.finish_reason(),
            tokens=self.tokens(),
            tool_name=self.tool_name(),
            component=self.component_name(),
            session_id=self.session_id(),
            user_id=self.user_id(),
            loss=self.loss(),
        )

    # ------------------------------------------------------------------ searching

    def query(self) -> Field[str]:
        """Return the search text in the input."""
        if self.input.value is None:
            return self.input
        data = self.input_data
        if data is None and self.role is Role.TOOL:
            data = parse_json_or_literal(self.input.value)
        if data is None:
            return self.input
        text = query_in(data)
        if text is None:
            return NOT_CAPTURED
        if is_redacted(text):
            return missing(FieldStatus.REDACTED, self.input.source)
        return Field(text, FieldStatus.PRESENT, self.input.source)

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        """Return results, and whether they came from keys made for documents."""
        found = chunks_in(self.output_data, bare_strings=self.role in SEARCHING)
        if found is not None:
            status = FieldStatus.PRESENT if found else FieldStatus.EMPTY
            chunks = with_score_kinds(found, reranked=self.role is Role.RERANKER)
            return Field(chunks, status, self.output.source), False
        if self.output.status is FieldStatus.REDACTED and self.role in SEARCHING:
            return missing(FieldStatus.REDACTED, self.output.source), False
        if self.role in {Role.RETRIEVER, Role.TOOL}:
            return self.output_as_document(), False
        return self.absent(), False

    def output_as_document(self) -> Field[tuple[Chunk, ...]]:
        """Return a search result that is one text as one chunk: where it splits is not told.

        A tool's message is opened; the text in it may be JSON documents after all.
        """
        read = self.output
        if read.status is FieldStatus.EMPTY:
            return Field((), FieldStatus.EMPTY, read.source)
        if read.value is None:
            return missing(read.status)
        if read.status is FieldStatus.TRUNCATED and self.output_data is None:
            return missing(FieldStatus.TRUNCATED, read.source)
        texts = responses_in(read.value if self.output_data is None else self.output_data)
        if self.output_data is not None and not texts and self.role is Role.RETRIEVER:
            return NOT_CAPTURED
        text = "\n".join(texts) or read.value
        found = chunks_in(parse_json(text), bare_strings=True)
        if found is None:
            found = (Chunk(text),)
        status = read.status if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found), status, read.source)

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        """Return what a reranker (or a selecting step) was given."""
        found = chunks_in(self.input_data, bare_strings=self.role is Role.RERANKER)
        if found is not None:
            status = FieldStatus.PRESENT if found else FieldStatus.EMPTY
            return Field(with_score_kinds(found), status, self.input.source)
        if self.role is not Role.RERANKER:
            return NOT_CAPTURED
        return (
            missing(self.input.status, self.input.source) if _is_lost(self.input) else NOT_CAPTURED
        )

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        """Return the texts that an embedder was given."""
        if self.role is not Role.EMBEDDER:
            return NOT_CAPTURED
        if self.input.value is None:
            return missing(self.input.status, self.input.source)
        found = (
            (self.input.value,) if self.input_data is None else embedded_texts_in(self.input_data)
        )
        return Field(found, self.input.status, self.input.source) if found else NOT_CAPTURED

    def top_k(self) -> int | None:
        """Return the number of results asked for."""
        return top_k_in(self.input_data)

    # ------------------------------------------------------------------ talking

    def messages(self) -> Field[tuple[Message, ...]]:
        """Return the messages that an LLM was given."""
        if self.role is not Role.LLM:
            return NOT_CAPTURED
        if self.input.value is None:
            return missing(self.input.status, self.input.source)
        found = messages_in(self.input_data)
        if found is None and self.input_data is None:
            found = (Message("user", self.input.value),)
        if found is None:
            return NOT_CAPTURED
        if any(is_redacted(message.content) for message in found):
            return missing(FieldStatus.REDACTED, self.input.source)
        return Field(found, self.input.status, self.input.source)

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        """Return an LLM's response, and the tool calls in it as JSON data."""
        if self.role is not Role.LLM:
            return NOT_CAPTURED, None
        if self.output.value is None:
            return missing(self.output.status, self.output.source), None
        cut = self.output.status is FieldStatus.TRUNCATED and self.output_data is None
        if cut and looks_cut(self.output.value, declared_json=False):
            return missing(FieldStatus.TRUNCATED, self.output.source), None
        if self.output_data is None:
            text = without_speaker(message_text(self.output.value) or self.output.value)
        else:
            text = next(iter(responses_in(self.output_data)), "")
            if not text:
                return NOT_CAPTURED, None
        if is_redacted(text):
            return missing(FieldStatus.REDACTED, self.output.source), None
        message = Message("assistant", text)
        return Field((message,), self.output.status, self.output.source), None

    def prompt_template(self) -> Field[str]:
        """Return the template of a prompt."""
        return NOT_CAPTURED

    def prompt_variables(self) -> Mapping[str, str]:
        """Return what was put into the template of a prompt, by name."""
        return {}

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        """Return the model's name."""
        return None

    def finish_reason(self) -> str | None:
        """Return why an LLM stopped."""
        if self.role is not Role.LLM:
            return None
        return finish_reason_in(self.output.value if self.output_data is None else self.output_data)

    def tokens(self) -> TokenUsage:
        """Return the tokens of a call."""
        return NO_TOKENS

    def tool_name(self) -> str | None:
        """Return the name of the tool that was called."""
        return None

    def component_name(self) -> str | None:
        """Return what did the work, where the span's own name does not tell."""
        return None

    def session_id(self) -> str | None:
        """Return the conversation that the span belongs to."""
        return self.identity("session.id")

    def user_id(self) -> str | None:
        """Return who asked."""
        return self.identity("user.id")

    def loss(self) -> Loss:
        """Return the signs that content was lost."""
        truncated = self.cut | self._cut_fields((self.input, self.output))
        span, gaps = self.span, self.lists.gaps()
        dropped = span.dropped_attributes_count or span.dropped_events_count
        if not (dropped or gaps or self.redacted or truncated):
            return _NO_LOSS
        return Loss(
            dropped_attributes=span.dropped_attributes_count,
            dropped_events=span.dropped_events_count,
            gaps=gaps,
            redacted=tuple(sorted(self.redacted)),
            truncated=tuple(sorted(truncated)),
        )

    @staticmethod
    def _cut_fields(fields: Iterable[Field[str]]) -> set[str]:
        return {
            field.source.key
            for field in fields
            if field.status is FieldStatus.TRUNCATED and field.source is not None
        }


def _is_lost(field: Field[str]) -> bool:
    return field.status in {FieldStatus.REDACTED, FieldStatus.EVICTED, FieldStatus.TRUNCATED}

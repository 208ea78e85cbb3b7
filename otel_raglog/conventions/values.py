"""A span's attributes to fields, with the reason where a value is missing, for all conventions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Never

from otel_raglog.conventions.flattened import ListAttributes
from otel_raglog.conventions.json_text import as_data, as_text, looks_cut, parse_json
from otel_raglog.conventions.lengths import keys_cut_at_limit
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.model import (
    NOT_CAPTURED,
    Field,
    FieldStatus,
    Provenance,
    Span,
    missing,
    present,
)


class SpanValues:
    """Reads single values of one span; ``convention`` goes into their provenance."""

    def __init__(self, span: Span, convention: str) -> None:
        self.span = span
        self.convention = convention
        self.attributes = span.attributes
        self.lists = ListAttributes(span.attributes, whole=not span.dropped_attributes_count)
        texts = {key: value for key, value in span.attributes.items() if isinstance(value, str)}
        self.redacted = frozenset([key for key, text in texts.items() if is_redacted(text)])
        self.cut = span.truncated_keys | keys_cut_at_limit(texts)

    def source(self, key: str) -> Provenance:
        """Return where the value of ``key`` was read."""
        return Provenance(self.span.span_id, key, self.convention)

    def absent(self, *siblings: str) -> Field[Never]:
        """Return why nothing is there: masks drop whole lists beside a redacted sibling."""
        for sibling in siblings:
            if sibling in self.redacted:
                return missing(FieldStatus.REDACTED, self.source(sibling))
        if self.span.dropped_attributes_count > 0:
            return missing(FieldStatus.EVICTED)
        return NOT_CAPTURED

    def text(self, key: str) -> Field[str]:
        """Return the text of an attribute; numbers and structures are written out."""
        text = as_text(self.attributes.get(key))
        if text is None:
            return self.absent()
        source = self.source(key)
        if key in self.redacted:
            return missing(FieldStatus.REDACTED, source)
        if not text.strip():
            return Field("", FieldStatus.EMPTY, source)
        if key in self.cut:
            return Field(text, FieldStatus.TRUNCATED, source)
        return present(text, source)

    def value(self, key: str) -> tuple[Field[str], object | None]:
        """Return the text of an attribute with the JSON data in it, ``None`` when it is no JSON.

        JSON is common without a mime type, so it is tried whenever the text looks like it. A
        beginning of JSON that does not parse is a cut value.
        """
        value = self.attributes.get(key)
        read = self.text(key)
        if read.value is None or read.status is FieldStatus.EMPTY:
            return read, None
        if value is not None and not isinstance(value, str):
            return read, as_data(value) if isinstance(value, tuple | Mapping) else None
        data = parse_json(read.value)
        if data is None:
            mime = self.attributes.get(key.replace(".value", ".mime_type"))
            declared = isinstance(mime, str) and "json" in mime.lower()
            if looks_cut(read.value, declared_json=declared):
                return Field(read.value, FieldStatus.TRUNCATED, read.source), None
        return read, data

    def identity(self, key: str) -> str | None:
        """Return an identifier, ``None`` when it is missing, empty or hidden."""
        text = as_text(self.attributes.get(key))
        return text if text and key not in self.redacted else None


def text_within(read: Field[str], text: str) -> Field[str]:
    """Return a text that stands within the JSON of a value, from the same place."""
    if is_redacted(text):
        return missing(FieldStatus.REDACTED, read.source)
    return replace(read, value=text, status=read.status if text.strip() else FieldStatus.EMPTY)

"""The bytes of a span to whether a value marks it, such as a statement that searches for vectors.

Applications send few different statements, so what was found in one is remembered.
"""

from __future__ import annotations

from otel_raglog.receive.markers import Markers

_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 2_048
_LOOKED_INTO = 64 * 1024
"""So many bytes are searched: a statement is shorter, the vector in it aside."""
_LONGEST_BEGINNING = 16
"""Bytes in which a text is excluded: white space and a short word."""
_OPERATOR = b"<"

_KEY, _VALUE, _STRING = 0x0A, 0x12, 0x0A
"""How protobuf begins the key and the value of an attribute, and a text as a value."""
_MORE = 0x80
_LONGEST_LENGTH = 28
"""Bits of a length, beyond which the span is odd."""


class MarkingValues:
    """Tells whether values mark spans."""

    def __init__(self, markers: Markers) -> None:
        self._keys = markers.value_keys
        self._excluded = markers.value_exclusions
        parts = [part.lower() for part in markers.value_parts]
        self._operators = [part for part in parts if part.startswith(_OPERATOR)]
        self._words = [part for part in parts if not part.startswith(_OPERATOR)]
        self._remembered: dict[bytes, bool] = {}

    def mark(self, body: bytes, start: int, end: int) -> bool:
        """Tell whether a marking value is in a span, ``body[start:end]``, that has such a key.

        Where the value is not where protobuf usually puts it the whole span is searched, and
        what is found in another value counts, too: the convention that reads it decides.
        """
        for key in self._keys:
            at = body.find(key, start, end)
            if at >= 0 and self._marks_after(body, start, end, at, len(key)):
                return True
        return False

    def _marks_after(self, body: bytes, start: int, end: int, at: int, size: int) -> bool:
        after = at + size
        if at < start + 2 or body[at - 1] != size or body[at - 2] != _KEY:
            return self._search(body, start, end)
        # The key's end; then the value and its length, the text and its length.
        if after + 4 > end or body[after] != _VALUE:
            return self._search(body, start, end)
        after += 2
        while body[after - 1] & _MORE and after < end:
            after += 1
        if after + 2 > end or body[after] != _STRING:
            return self._search(body, start, end)
        after += 1
        length, shift = 0, 0
        while body[after] & _MORE and after + 1 < end and shift < _LONGEST_LENGTH:
            length |= (body[after] & ~_MORE) << shift
            shift += 7
            after += 1
        length |= body[after] << shift
        after += 1
        if body[after : after + _LONGEST_BEGINNING].lstrip().lower().startswith(self._excluded):
            return False
        last = min(after + length, end)
        if length > _LONGEST_REMEMBERED:
            return self._search(body, after, last)
        return self._recall(body[after:last])

    def _recall(self, text: bytes) -> bool:
        found = self._remembered.get(text)
        if found is None:
            found = self._search(text, 0, len(text))
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[text] = found
        return found

    def _search(self, body: bytes, start: int, end: int) -> bool:
        text = body[start : min(end, start + _LOOKED_INTO)].lower()
        if _OPERATOR in text and any(operator in text for operator in self._operators):
            return True
        return any(word in text for word in self._words)

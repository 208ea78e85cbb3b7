"""Texts to the same texts without what patterns find in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from otel_raglog.patterns import UNSEEN
from otel_raglog.redaction.finding import FINDERS, Place
from otel_raglog.redaction.replacing import Action, Replacing
from otel_raglog_proxy_bridge.secret_formats import mask_formats

SECRETS = "key"
"""The name of the pattern for keys, tokens, passwords in URLs and the like: always masked."""

_ESCAPE = re.compile(r"\\u([0-9a-cefA-CEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})")
"""A character written in JSON; halves of pairs (surrogates) are left as they are."""


@dataclass(frozen=True, slots=True)
class TextRules:
    r"""Finds by built-in patterns (``find``) and by users' compiled ``expressions`` of RE2.

    Characters that nobody sees (soft hyphens, zero-width spaces), and characters that are written
    as ``\u0040``, keep nothing from being found.
    """

    find: Sequence[str] = ()
    expressions: Sequence[Any] = ()
    action: Action = Action.MASK
    replacing: Replacing = field(default_factory=Replacing)

    def __call__(self, text: str) -> str:
        """Return ``text`` with a replacement for all that is found; as it is where nothing is."""
        seen = UNSEEN.sub("", text)
        if "\\u" in seen:
            seen = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), seen)
        places = sorted(self._places(seen))
        found = self._replaced(seen, places) if places else seen
        if SECRETS in self.find:
            found = mask_formats(found)
        return text if found == seen else found

    def _places(self, text: str) -> Iterator[Place]:
        for name in self.find:
            if name != SECRETS:
                yield from FINDERS[name](text)
        if not self.expressions:
            return
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # of the same length
        for expression in self.expressions:
            for match in expression.finditer(encodable):
                if match.end() > match.start():
                    yield match.start(), match.end()

    def _replaced(self, text: str, places: Sequence[Place]) -> str:
        parts: list[str] = []
        copied = 0
        for start, end in _apart(places):
            parts += (text[copied:start], self.replacing(text[start:end], self.action))
            copied = end
        return "".join((*parts, text[copied:]))


def _apart(places: Sequence[Place]) -> Iterator[Place]:
    """Yield sorted places, those that overlap as one."""
    begin, end = places[0]
    for start, stop in places[1:]:
        if start >= end:
            yield begin, end
            begin, end = start, stop
        else:
            end = max(end, stop)
    yield begin, end

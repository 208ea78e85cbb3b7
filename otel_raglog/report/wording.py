"""A run and what may be shown of it to the words that no explanation may hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace

from otel_raglog.model import Measurement, Run

_WORD = re.compile(r"\w+")
_MARKS = re.compile(r"[\u0300-\u036f]")
_SHARE = re.compile(r"\b[01]\.\d+")
_NOT_OF_THE_RUN = frozenset({"view", "stages", "notes", "loss", "why", "source", "conventions"})
_SHORTEST_STEM = 4
_LONG_NUMBER = 4


@dataclass(frozen=True, slots=True)
class Wording:
    """Words that are hidden, and the words and digits that can be seen."""

    hidden: frozenset[str]
    stems: frozenset[str]
    seen: frozenset[str]

    def may_show(self, text: str) -> bool:
        """Tell whether no word of ``text``, in any form, stands in the redacted texts alone."""
        return not any(map(self._hides, _words(_SHARE.sub("", text))))

    def measured(self, measurement: Measurement) -> Measurement:
        """Return a measurement whose words may be shown."""
        evidence, quotes = measurement.evidence, measurement.quotes
        if (not evidence and not quotes) or self.may_show(" ".join((evidence, *quotes))):
            return measurement
        return replace(measurement, evidence="", quotes=())

    def _hides(self, word: str) -> bool:
        if word in self.seen:
            return False
        # Numbers are written in other ways where they are compared: 4,111 as 4111.
        number = len(word) >= _LONG_NUMBER and word.isdigit()
        return number or word in self.hidden or word in self.stems


def wording_of(run: Run) -> Wording | None:
    """Return what may be said of ``run``; ``None`` where nothing in it is redacted."""
    if run.view is None:
        return None
    seen = frozenset(word for text in _texts(run.view) for word in _words(text))
    hidden = frozenset(word for text in _texts(run) for word in _words(text)) - seen
    stems = {
        word[:length]
        for word in hidden
        if not word.isdigit()
        for length in range(_SHORTEST_STEM, len(word))
    }
    return Wording(hidden, frozenset(stems - seen), seen)


def _words(text: str) -> Iterator[str]:
    folded = text.casefold()
    if not folded.isascii():
        folded = _MARKS.sub("", unicodedata.normalize("NFKD", folded))
    return (match.group() for match in _WORD.finditer(folded))


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a run, wherever it stands."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            if field.name not in _NOT_OF_THE_RUN:
                yield from _texts(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)

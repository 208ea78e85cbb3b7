"""Values of attributes, JSON in strings included, to the same values without what is redacted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from otel_raglog.redaction.keys import KeyRules
from otel_raglog.redaction.replacing import MASK, Action, Replacing
from otel_raglog.redaction.texts import TextRules

_OPENING = ("{", "[", '"')


@dataclass(frozen=True, slots=True)
class ValueRules:
    """Redacts what a key, or a path inside a value, says, and what patterns find in all texts."""

    keys: KeyRules = field(default_factory=KeyRules)
    texts: TextRules = field(default_factory=TextRules)
    replacing: Replacing = field(default_factory=Replacing)

    def string(self, text: str, path: str, above: Action | None = None) -> str:
        """Return the string at ``path``; JSON in it stays JSON.

        ``above`` is what a rule says of the value that it is in.

        Raises:
            RecursionError: JSON in it is nested too deep.
        """
        action = self.keys.action(path) or above
        if action is not None:
            return self.replacing(text, action)
        if text.lstrip().startswith(_OPENING):
            plain = self.texts(text)
            if plain == text and "\\" not in text and not self.keys.reaches_below(path):
                return text
            redacted = self._json(text, path)
            return plain if redacted is None else redacted
        return self.texts(text)

    def number(
        self,
        number: int | float,  # noqa: PYI041  told apart below
        path: str,
        above: Action | None = None,
    ) -> str | None:
        """Return what stands in the place of a number; ``None`` where it may stay.

        Patterns are looked for in whole numbers alone: fractions are scores.
        """
        written = str(number)
        action = self.keys.action(path) or above
        if action is not None:
            return self.replacing(written, action)
        if isinstance(number, float) or self.texts(written) == written:
            return None
        return self.replacing(written, self.texts.action)

    def truth(self, path: str, above: Action | None = None) -> str | None:
        """Return what stands in the place of true or false: there is nothing to hash in it."""
        return None if (self.keys.action(path) or above) is None else MASK

    def _json(self, text: str, path: str) -> str | None:
        """Return JSON without what is redacted; ``None`` where the text is none."""
        try:
            data = json.loads(text, object_pairs_hook=_members)
        except ValueError:
            return None
        redacted = self._value(data, path, None)
        if redacted == data and not _has_repeated(data):
            return text
        separators = None if ": " in text or ", " in text else (",", ":")
        return json.dumps(redacted, ensure_ascii=text.isascii(), separators=separators)

    def _value(self, value: Any, path: str, above: Action | None) -> Any:
        action = self.keys.action(path) or above
        if action is Action.MASK:
            return MASK
        if isinstance(value, dict):
            return {
                self.texts(key): self._value(item, f"{path}.{key}", action)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._value(item, f"{path}.{i}", action) for i, item in enumerate(value)]
        if isinstance(value, str):
            return self.string(value, path, above)
        if isinstance(value, bool):
            found = self.truth(path, above)
        elif isinstance(value, int | float):
            found = self.number(value, path, above)
        else:
            return value
        return value if found is None else found


class _Repeated(dict[str, Any]):
    """An object in which a key stood twice: what the first one held is nowhere in it."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Repeated(members)


def _has_repeated(value: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(value, _Repeated) or any(map(_has_repeated, value.values()))
    return isinstance(value, list) and any(map(_has_repeated, value))

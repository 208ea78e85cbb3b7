"""What must not be read to what stands in its place: a mask, or a keyed hash that stays the same."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from enum import StrEnum

MASK = "[redacted]"
_HEX_DIGITS = 32
"""128 bits of the hash: no two texts of one deployment share it by chance."""

_HASHED = re.compile(r"\[redacted:[0-9a-f]{32}\]")


class Action(StrEnum):
    """What becomes of what must not be read."""

    MASK = "mask"
    HASH = "hash"


def is_hashed(text: str) -> bool:
    """Tell whether a whole value is a keyed hash: it cannot be read, but be told from others."""
    return _HASHED.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Replacing:
    """Makes what stands in a text's place. With one key equal texts have equal hashes, for ever.

    The forms ``[redacted]`` and ``[redacted:…]`` are known as placeholders to whoever reads spans
    with our conventions: such a text is never judged.
    """

    key: bytes = field(default=b"", repr=False)

    def __call__(self, text: str, action: Action) -> str:
        """Return what stands in the place of ``text``."""
        if action is Action.MASK:
            return MASK
        digest = hmac.new(self.key, text.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"[redacted:{digest.hexdigest()[:_HEX_DIGITS]}]"

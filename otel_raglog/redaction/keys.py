"""Keys of attributes, and paths within their values, to what becomes of what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache

from otel_raglog.redaction.replacing import Action

OWN_PREFIX = "raglog."
DOCUMENT_ID_KEYS = (
    "*.document.id",
    "*.documents.*.id",
    "*.documents.*.doc_id",
    "*document_id",
    "*document.id",
    "*doc_id",
    "*node_id",
    "*chunk_id",
    "*.result.*.id",
    "*.matches.*.id",
    "*.points.*.id",
    "*.ids",
    "*.ids.*",
)
"""Where instrumentations write ids of documents, chunks and points of a vector database."""

_WILD = re.compile(r"[*?\[]")
_REMEMBERED_KEYS = 16_384


class KeyRules:
    """Tells by a key, or by the dotted path of a value inside one, what becomes of the value.

    A rule is a whole key, or a pattern with ``*`` (dots too), ``?`` and ``[…]``. What is in JSON
    has the path ``key.member``, items of a list their number. Where both say something, masking
    wins. Our own attributes are meant by rules that begin with ``raglog.`` alone.
    """

    def __init__(self, mask: Iterable[str] = (), hashed: Iterable[str] = ()) -> None:
        self._rules = tuple(
            (action, _Names(names))
            for action, names in ((Action.MASK, tuple(mask)), (Action.HASH, tuple(hashed)))
            if names
        )
        self.action = lru_cache(_REMEMBERED_KEYS)(self._action)
        self.reaches_below = lru_cache(_REMEMBERED_KEYS)(self._reaches_below)

    def _action(self, key: str) -> Action | None:
        """Return what becomes of the value of ``key``; ``None`` where no rule means it."""
        if not key:
            return None  # a text that no rule can mean
        return next((action for action, names in self._rules if names.mean(key)), None)

    def _reaches_below(self, key: str) -> bool:
        """Tell whether a rule may mean something inside the value of ``key``."""
        return bool(key) and any(names.may_mean_below(key) for _, names in self._rules)


class _Names:
    """Keys, and patterns of keys."""

    def __init__(self, names: Sequence[str]) -> None:
        self._exact = frozenset(name for name in names if not _WILD.search(name))
        patterns = [name for name in names if _WILD.search(name)]
        self._patterns = tuple((name, re.compile(translate(name))) for name in patterns)
        self._beginnings = tuple(_WILD.split(name, maxsplit=1)[0] for name in patterns)

    def mean(self, key: str) -> bool:
        if key in self._exact:
            return True
        own = key.startswith(OWN_PREFIX)
        return any(
            expression.match(key)
            for name, expression in self._patterns
            if not own or name.startswith(OWN_PREFIX)
        )

    def may_mean_below(self, key: str) -> bool:
        prefix = f"{key}."
        return any(name.startswith(prefix) for name in self._exact) or any(
            beginning.startswith(prefix) or prefix.startswith(beginning)
            for beginning in self._beginnings
        )

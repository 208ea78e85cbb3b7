"""Pieces of streamed texts to the texts, without copying what came before at each piece."""

from __future__ import annotations

from collections.abc import Hashable


class Pieces:
    """Texts that grow, by key; a text is put together when it is asked for."""

    def __init__(self) -> None:
        self._held: dict[Hashable, list[str]] = {}

    def add(self, key: Hashable, more: str | None) -> None:
        """Add a piece to the text at ``key``; ``None`` and an empty one add nothing."""
        if more:
            self._held.setdefault(key, []).append(more)

    def forget(self, *keys: Hashable) -> None:
        """Forget the texts at ``keys``: they begin anew."""
        for key in keys:
            self._held.pop(key, None)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._held

    def joined(self, key: Hashable) -> str:
        """Return the text at ``key``, empty where nothing was added."""
        return "".join(self._held.get(key, ()))

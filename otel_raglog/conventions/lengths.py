"""Attribute values to those that a length limit cut, as their common round length tells."""

from __future__ import annotations

from collections.abc import Mapping

_ROUND = frozenset(
    {
        128,
        250,
        255,
        256,
        500,
        512,
        *(1000 * n for n in range(1, 101)),
        *(1024 * n for n in range(1, 129)),
    }
)


def keys_cut_at_limit(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the keys of a span whose texts all end at one round length that nothing passes.

    OpenTelemetry SDKs cut values silently. One text of a round length is chance; two
    different ones that are also the longest of the span are a limit.
    """
    lengths = list(map(len, texts.values()))
    longest = max(lengths, default=0)
    if longest not in _ROUND or lengths.count(longest) < 2:  # noqa: PLR2004  see above
        return frozenset()
    cut = {key: text for key, text in texts.items() if len(text) == longest}
    return frozenset(cut) if len(set(cut.values())) > 1 else frozenset()

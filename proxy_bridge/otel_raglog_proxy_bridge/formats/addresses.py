"""A call's method and address to the answers that rules ask of them."""

from __future__ import annotations

from itertools import pairwise

from otel_raglog_proxy_bridge.model import Exchange


def posts(exchange: Exchange, *tail: str) -> bool:
    """Return whether this is a POST to a path that ends in the segments of ``tail``."""
    return exchange.call.method.upper() == "POST" and ends(exchange, *tail)


def ends(exchange: Exchange, *tail: str) -> bool:
    """Return whether the path's last segments are those of ``tail``; with none, it does."""
    return not tail or exchange.segments[-len(tail) :] == tail


def after(exchange: Exchange, *names: str) -> str | None:
    """Return the segment that follows the first one in the path that is among ``names``."""
    return next((then for name, then in pairwise(exchange.segments) if name in names), None)


def operation(exchange: Exchange) -> tuple[str, str]:
    """Return what stands before and after the last colon of the last segment, as Google writes it.

    ``…/models/gemini-x:generateContent`` gives ``("gemini-x", "generateContent")``; without a
    colon there is no operation, ``""``.
    """
    last = exchange.segments[-1] if exchange.segments else ""
    name, colon, verb = last.rpartition(":")
    return (name, verb) if colon else (last, "")

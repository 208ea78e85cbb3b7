"""Method, host and path of an exchange to whether they are those of an operation."""

from __future__ import annotations

from otel_raglog_proxy_bridge.model import Exchange


def goes_to(exchange: Exchange, methods: str, tail: str) -> bool:
    """Return whether the path ends in ``tail`` and the method is one of ``methods``.

    ``tail`` is segments parted by ``/``, of which ``*`` stands for any one; ``methods`` are parted
    by spaces. Gateways put prefixes before a path, so only its end is looked at.
    """
    wanted = tail.split("/")
    return exchange.call.method.upper() in methods.split() and _same(
        exchange.segments[-len(wanted) :], wanted
    )


def passes(exchange: Exchange, part: str) -> bool:
    """Return whether ``part``, written as in :func:`goes_to`, is anywhere in the path."""
    wanted = part.split("/")
    starts = range(len(exchange.segments) - len(wanted) + 1)
    return any(_same(exchange.segments[at : at + len(wanted)], wanted) for at in starts)


def on_host(exchange: Exchange, *domains: str) -> bool:
    """Return whether the host is one of ``domains`` or below one."""
    return any(
        exchange.host == domain or exchange.host.endswith(f".{domain}") for domain in domains
    )


def _same(found: tuple[str, ...], wanted: list[str]) -> bool:
    return len(found) == len(wanted) and all(
        want in {"*", have} for have, want in zip(found, wanted, strict=True)
    )

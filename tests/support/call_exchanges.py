"""Exchanges for tests of the bridge's formats, said in one line."""

from __future__ import annotations

from call_samples import call_of

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import Exchange, Reading
from otel_raglog_proxy_bridge.parsing import parse


def exchange_of(
    url: str,
    request: object = None,
    response: object = None,
    *,
    events: list | None = None,
    method: str = "POST",
    status: int = 200,
) -> Exchange:
    """Return the exchange of a call; a path alone is one of some host's."""
    data = {"url": url if "://" in url else f"https://api.example.com{url}"}
    data |= {"method": method, "status": status, "request": request, "response": response}
    if events is not None:
        data["events"] = events
    return parse(call_of(data))


def told(exchange: Exchange) -> str | None:
    """Return the name of the API that has the exchange, ``None`` when nobody knows it."""
    return next((api.name for api in APIS if api.recognises(exchange)), None)


def read(exchange: Exchange) -> Reading:
    """Return what the API that has the exchange reads off it."""
    api = next(api for api in APIS if api.recognises(exchange))
    assert api.read is not None, f"{api.name} reads nothing"
    return api.read(exchange)

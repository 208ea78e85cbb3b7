"""The state of the service to ``/live`` and ``/ready``."""

from __future__ import annotations

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route


def health_app(why_not_ready: Callable[[], str | None]) -> Starlette:
    """Return the health endpoints.

    ``/live`` says 200 as long as the process answers. ``/ready`` says 503 with the reason while
    ``why_not_ready`` returns one: starting, refusing requests, or stopping.
    """

    async def live(_: Request) -> JSONResponse:
        return JSONResponse({"status": "live"})

    async def ready(_: Request) -> JSONResponse:
        reason = why_not_ready()
        if reason is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "reason": reason}, status_code=503)

    return Starlette(routes=[Route("/live", live), Route("/ready", ready)])

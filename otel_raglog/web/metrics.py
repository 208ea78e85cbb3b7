"""A Prometheus registry to ``/metrics``, with exemplars where the scraper takes OpenMetrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def metrics_app(registry: CollectorRegistry) -> Starlette:
    """Return the metrics endpoint."""

    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        # Rendering takes milliseconds at the capped number of series.
        return Response(encode(registry), headers={"content-type": content_type})

    return Starlette(routes=[Route("/metrics", metrics)])

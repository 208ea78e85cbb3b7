"""Options to the JSON API of a running service: the store, its thread and its server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from otel_raglog.clock import Clock
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.options import Api
from otel_raglog.receive.auth import Tokens
from otel_raglog.telemetry import add_gauge
from otel_raglog.web.api.application import api_app
from otel_raglog.web.recent.keeping import Keeping
from otel_raglog.web.recent.runs import RecentRuns
from otel_raglog.web.recent.setups import RecentSetups
from otel_raglog.web.server import HttpServer

_MIB = 1024 * 1024
_HOUR = 3_600
_STOP_SECONDS = 0.5


class ApiService:
    """Keeps recent reports (:attr:`keeping`) and answers about them. ``epoch`` is hex."""

    def __init__(
        self,
        options: Api,
        tokens: Tokens,
        conventions: ConventionSet,
        clock: Clock,
        registry: CollectorRegistry,
        *,
        epoch: str,
    ) -> None:
        self._host = options.host
        max_bytes, max_age = int(options.max_mib * _MIB), options.max_age_hours * _HOUR
        runs = RecentRuns(
            max_runs=options.max_runs, max_bytes=max_bytes, max_age_seconds=max_age, clock=clock
        )
        setups = RecentSetups(conventions, clock, max_age_seconds=max_age)
        self.keeping = Keeping(
            runs, setups, clock, content=options.content, max_waiting_bytes=max_bytes
        )
        self._server = HttpServer(
            api_app(runs, setups, tokens, epoch), options.host, options.port, option="api.port"
        )
        add_gauge(registry, "raglog_api_runs", "Runs kept for the JSON API.", lambda: len(runs))
        add_gauge(
            registry,
            "raglog_api_bytes",
            "Memory of the runs kept for the JSON API, and of those that wait to be.",
            lambda: runs.size_bytes + self.keeping.waiting_bytes,
        )
        add_gauge(
            registry,
            "raglog_api_dropped_reports",
            "Reports since the start that were not kept for the JSON API.",
            lambda: self.keeping.dropped,
        )

    def start(self) -> str:
        """Keep and answer; return the bound address as ``host:port``.

        Raises:
            ConfigError: the address cannot be had.
        """
        self.keeping.start()
        self._server.start()
        return f"{self._host}:{self._server.port}"

    def stop(self) -> None:
        """Answer and keep nothing more."""
        self._server.stop(_STOP_SECONDS)
        self.keeping.stop()

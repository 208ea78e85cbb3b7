"""A configuration to a running service: every part built, connected, started and stopped."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry

from otel_raglog.assemble.assembler import Assembler
from otel_raglog.assemble.policy import CompletionPolicy
from otel_raglog.assemble.worker import Worker
from otel_raglog.building import build_analyser, build_markers
from otel_raglog.clock import SystemClock
from otel_raglog.config import Config, Hold, Sending
from otel_raglog.errors import ConfigError
from otel_raglog.pipeline import Outlet, Pipeline, TraceLimits
from otel_raglog.receive.grpc_door import GrpcDoor
from otel_raglog.receive.http_door import build_http_app
from otel_raglog.receive.inbox import MemoryInbox
from otel_raglog.receive.intake import Intake
from otel_raglog.receive.limits import Limits
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import ExemplarChoice, Ledger, RunMetrics, add_gauge
from otel_raglog.web.health import health_app
from otel_raglog.web.metrics import metrics_app
from otel_raglog.web.server import HttpServer
from otel_raglog_exporters.fan_out import FanOut
from otel_raglog_exporters.registry import build_exporter
from otel_raglog_exporters.sending import Exporter, Sender, SendingConfig

_MIB = 1024 * 1024
_LAST_SECONDS = 1.0
_log = structlog.get_logger()


def build_exporters(config: Config) -> list[Exporter]:
    """Return the exporters that ``config`` names.

    Raises:
        ConfigError: a kind or an option is unknown, or a value is wrong.
    """
    return [
        build_exporter(destination.kind, {**destination.options, "name": name})
        for name, destination in config.exporters.items()
    ]


class _WorkerCounts:
    """Books what the assembly worker gives up, for every destination."""

    def __init__(self, ledger: Ledger, metrics: RunMetrics, exporters: list[str]) -> None:
        self._ledger = ledger
        self._metrics = metrics
        self._exporters = exporters

    def dropped(self, reason: str, count: int) -> None:
        for exporter in self._exporters:
            self._ledger.dropped(exporter, reason, count)

    def failed(self, where: str) -> None:
        self._metrics.skipped.labels(f"{where}_error").inc()


class Service:
    """The sidecar: doors, assembler, detector, senders, metrics and health.

    Building it checks the configuration and loads the model; :meth:`start` binds the ports.

    Raises:
        ConfigError: an option is wrong, there is no exporter, or (from :meth:`start`) a port is
            taken.
    """

    def __init__(self, config: Config) -> None:
        if not config.exporters:
            raise ConfigError(
                "exporters: no destination is configured; name one, for example "
                "exporters.backend.endpoint: http://phoenix:4317, or use --forward-to"
            )
        self._config = config
        clock = self._clock = SystemClock()
        self.registry = CollectorRegistry()
        self.ledger = Ledger(self.registry)
        self.metrics = RunMetrics(self.registry, config.metrics.max_label_values)
        self._senders = [
            Sender(exporter, _sending(config.sending), self.ledger, clock, random.Random())  # noqa: S311  jitter
            for exporter in build_exporters(config)
        ]
        names = [sender.name for sender in self._senders]
        for name in names:
            self.ledger.add_exporter(name)
        counts = _WorkerCounts(self.ledger, self.metrics, names)
        self._outlet = Outlet(
            FanOut(self._senders),
            lambda exporter, spans: self.ledger.dropped(exporter, "shutdown", spans),
        )
        self._pipeline = Pipeline(
            build_analyser(
                config.analysis,
                quote_text=config.explanations.quote_text,
                failures=self.metrics,
            ),
            self._outlet,
            self.metrics,
            ExemplarChoice(config.metrics.exemplars_per_minute, clock),
            AnnotationOptions(config.annotations.openinference_evaluations),
            backlog_traces=config.analysis.backlog_traces,
            remember_traces=config.hold.remember_traces,
            limits=TraceLimits(
                config.analysis.max_trace_spans, int(config.analysis.max_trace_text_mib * _MIB)
            ),
        )
        receive = config.receive
        self._inbox = MemoryInbox(receive.max_waiting_spans, int(receive.max_waiting_mib * _MIB))
        self._assembler = Assembler(_policy(config.hold))
        self._worker = Worker(
            self._inbox,
            self._assembler,
            self._pipeline,
            clock,
            counts,
        )
        limits = Limits(
            max_request_bytes=int(receive.max_request_mib * _MIB),
            max_spans_per_request=receive.max_spans_per_request,
        )
        intake = Intake(self._inbox, self.ledger, limits, build_markers())
        self._grpc = GrpcDoor(
            intake, receive.grpc.host, receive.grpc.port, option="receive.grpc.port"
        )
        self._servers = {
            "http": HttpServer(
                build_http_app(intake),
                receive.http.host,
                receive.http.port,
                option="receive.http.port",
            ),
            "metrics": HttpServer(
                metrics_app(self.registry),
                config.metrics.host,
                config.metrics.port,
                option="metrics.port",
            ),
            "health": HttpServer(
                health_app(self.why_not_ready),
                config.health.host,
                config.health.port,
                option="health.port",
            ),
        }
        self._add_gauges()
        self._sending_stopped = threading.Event()
        self._state: str | None = "starting"

    def start(self) -> dict[str, str]:
        """Bind all ports and begin; return the bound addresses as ``host:port`` by name."""
        for sender in self._senders:
            sender.start()
        self._pipeline.start()
        self._worker.start()
        addresses: dict[str, str] = {}
        try:
            for name in ("metrics", "health", "http"):
                server = self._servers[name]
                server.start()
                addresses[name] = f"{self._host(name)}:{server.port}"
            self._grpc.start()
        except ConfigError:
            self.stop()
            raise
        addresses["grpc"] = f"{self._config.receive.grpc.host}:{self._grpc.port}"
        self._state = None
        return addresses

    def stop(self) -> None:
        """Close the doors, judge and deliver what is held, then close everything.

        Takes little more than ``shutdown_grace_seconds``: traces that wait to be judged for longer
        than half of it pass unjudged. What is not delivered by then is dropped and counted.
        """
        self._state = "stopping"
        deadline = self._clock.monotonic() + self._config.shutdown_grace_seconds
        self._grpc.stop(min(1.0, self._left(deadline)))
        self._servers["http"].stop(min(1.0, self._left(deadline)))
        # Waiting for room may take all but the last of the grace. Judging may use half of what is
        # left: a verdict is worth less than the span it is for.
        if not self._worker.stop(max(0.0, self._left(deadline) - _LAST_SECONDS)):
            self._outlet.give_up()
            self._worker.stop(_LAST_SECONDS)
        if not self._pipeline.stop(self._left(deadline) / 2):
            self._pipeline.stop(self._left(deadline))
            self._outlet.give_up()
            self._pipeline.stop(_LAST_SECONDS)
        self._sending_stopped.set()
        self._stop_senders(max(_LAST_SECONDS, self._left(deadline)))
        self._servers["health"].stop(0.5)
        self._servers["metrics"].stop(0.5)

    def hurry(self) -> None:
        """Cut :meth:`stop` on another thread short; may be called again while it lasts.

        Nothing more is judged, and what destinations do not take at once is dropped and counted.
        """
        self._pipeline.hurry()
        self._outlet.give_up()
        if self._sending_stopped.is_set():
            self._stop_senders(_LAST_SECONDS)

    def _stop_senders(self, grace_seconds: float) -> None:
        """Stop all senders at once: none may use up the time of another."""
        threads = [
            threading.Thread(target=sender.stop, args=(grace_seconds,), daemon=True)
            for sender in self._senders
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(grace_seconds + 2 * _LAST_SECONDS)

    def _left(self, deadline: float) -> float:
        return max(0.0, deadline - self._clock.monotonic())

    def undelivered_spans(self) -> int:
        """Return the accepted spans that were dropped, over all destinations."""
        return sum(self.ledger.balance(sender.name).dropped for sender in self._senders)

    def why_not_ready(self) -> str | None:
        """Return why requests are refused now, if they are."""
        if self._state is not None:
            return self._state
        if self._outlet.waiting:
            return "a destination's queue is full"
        return None

    def _host(self, name: str) -> str:
        hosts = {
            "http": self._config.receive.http.host,
            "metrics": self._config.metrics.host,
            "health": self._config.health.host,
        }
        return hosts[name]

    def _add_gauges(self) -> None:
        gauges: list[tuple[str, str, Callable[[], float]]] = [
            ("raglog_traces_open", "Traces held.", lambda: self._assembler.open_traces),
            ("raglog_held_spans", "Spans held.", lambda: self._assembler.held_spans),
            ("raglog_held_bytes", "Bytes held.", lambda: self._assembler.held_bytes),
            ("raglog_inbox_spans", "Spans not yet sorted.", lambda: self._inbox.spans),
            ("raglog_inbox_bytes", "Bytes not yet sorted.", lambda: self._inbox.bytes),
            (
                "raglog_backlog_traces",
                "Traces that wait to be judged.",
                lambda: self._pipeline.backlog,
            ),
        ]
        for name, text, read in gauges:
            add_gauge(self.registry, name, text, read)


def _policy(hold: Hold) -> CompletionPolicy:
    return CompletionPolicy(
        quiet_seconds=hold.quiet_seconds,
        orphan_quiet_seconds=hold.orphan_quiet_seconds,
        max_wait_seconds=hold.max_wait_seconds,
        max_spans_per_trace=hold.max_spans_per_trace,
        max_open_traces=hold.max_open_traces,
        max_held_bytes=int(hold.max_held_mib * _MIB),
        remember_traces=hold.remember_traces,
    )


def _sending(options: Sending) -> SendingConfig:
    return SendingConfig(
        queue_spans=options.queue_spans,
        queue_bytes=int(options.queue_mib * _MIB),
        batch_spans=options.batch_spans,
        batch_seconds=options.batch_seconds,
        initial_backoff_seconds=options.initial_backoff_seconds,
        max_backoff_seconds=options.max_backoff_seconds,
        max_elapsed_seconds=options.max_elapsed_seconds,
    )

"""A configuration to a running service: every part built, connected, started and stopped."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace

import structlog
from prometheus_client import CollectorRegistry

from otel_raglog.acceptance import JournalInbox, OwnSpans
from otel_raglog.asking import Asking
from otel_raglog.assemble.assembler import Assembler
from otel_raglog.assemble.policy import CompletionPolicy
from otel_raglog.assemble.worker import Worker
from otel_raglog.building import (
    build_analyser,
    build_conventions,
    build_markers,
    llm_options,
)
from otel_raglog.clock import SystemClock
from otel_raglog.config import read_tokens
from otel_raglog.delivery import Delivery
from otel_raglog.errors import ConfigError
from otel_raglog.ledger import Ledger
from otel_raglog.mapping.fragments import JoinBy
from otel_raglog.marking import Marking
from otel_raglog.memory_budget import MemoryBudget
from otel_raglog.options import Config, Hold
from otel_raglog.outlet import Outlet
from otel_raglog.pipeline import Pipeline, TraceLimits
from otel_raglog.receive.auth import Tokens
from otel_raglog.receive.grpc_door import GrpcDoor
from otel_raglog.receive.headers import AllowList
from otel_raglog.receive.http_door import build_http_app
from otel_raglog.receive.inbox import HeldQueue
from otel_raglog.receive.intake import Intake
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.sifting import Sifter
from otel_raglog.redaction.building import build_redaction
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import ExemplarChoice, RunMetrics, add_gauge
from otel_raglog.waiting import JoinLimits, WaitingRoom
from otel_raglog.web.api.service import ApiService
from otel_raglog.web.health import health_app
from otel_raglog.web.metrics import metrics_app
from otel_raglog.web.server import HttpServer

_MIB = 1024 * 1024
_LAST_SECONDS = 1.0
_HELD_SHARE = 2
_BACKLOG_SHARE = 4
_JOIN_SHARE = 8
_FEEDBACK_SHARE = 16
_INSTANCE_BYTES = 8
_NO_LIMITS = {"max_request_bytes": 2**62, "max_spans_per_request": 2**62}
_log = structlog.get_logger()


class Service:
    """The sidecar: doors, journal, assembler, detector, senders, metrics, health and JSON API.

    Building it checks the configuration, opens the journal and loads the model; :meth:`start`
    takes up what an earlier process left, and binds the ports.

    Raises:
        ConfigError: an option is wrong, there is no exporter, the journal cannot be had, or (from
            :meth:`start`) a port is taken.
    """

    def __init__(self, config: Config) -> None:
        if not config.exporters:
            raise ConfigError(
                "exporters: no destination is configured; name one, for example "
                "exporters.backend.endpoint: http://phoenix:4317, or use --forward-to"
            )
        self._config = config
        clock = self._clock = SystemClock()
        budget_bytes = int(config.memory.budget_mib * _MIB)
        self.registry = CollectorRegistry()
        self.ledger = Ledger(self.registry)
        self.metrics = RunMetrics(self.registry, config.metrics.max_label_values)
        instance_id = secrets.token_hex(_INSTANCE_BYTES)
        allowed = AllowList(config.receive.forward_headers)
        self._tokens = Tokens(read_tokens(config.receive.auth))
        self._conventions = build_conventions(config.conventions)
        self._redaction = build_redaction(config.redaction)
        self._delivery = Delivery(config, self.ledger, clock, instance_id, self._redaction)
        self._outlet = Outlet(self._delivery.journal.decide)
        self._api = self._build_api(instance_id)
        self._pipeline = self._build_pipeline(budget_bytes)
        self._held = HeldQueue()
        self._assembler = Assembler(_policy(config.hold, budget_bytes))
        self._worker = Worker(self._held, self._assembler, self._pipeline, clock, self.metrics)
        limits = Limits(
            max_request_bytes=int(config.receive.max_request_mib * _MIB),
            max_spans_per_request=config.receive.max_spans_per_request,
        )
        markers = build_markers(self._conventions)
        # What was accepted under wider limits is read as it was then.
        restoring = Sifter(replace(limits, **_NO_LIMITS), markers)
        self._inbox = JournalInbox(self._delivery.journal, self._held, restoring)
        self._budget = MemoryBudget(budget_bytes, self._used_bytes, clock)
        intake = Intake(
            self._inbox,
            self.ledger,
            limits,
            Sifter(limits, markers),
            instance_id=instance_id,
            why_refuse=self._budget.why_refuse,
        )
        self._grpc = GrpcDoor(
            intake,
            config.receive.grpc.host,
            config.receive.grpc.port,
            option="receive.grpc.port",
            signals=self._delivery.signals,
            headers=allowed,
            tokens=self._tokens,
            request_timeout_seconds=config.receive.request_timeout_seconds,
        )
        self._servers = self._build_servers(intake, allowed)
        self._add_gauges()
        self._state: str | None = "starting"

    def start(self) -> dict[str, str]:
        """Bind all ports and begin; return the bound addresses as ``host:port`` by name."""
        addresses: dict[str, str] = {}
        try:
            # First: a long recovery must not look like a dead process.
            self._start_server("metrics", addresses)
            self._start_server("health", addresses)
            if self._api is not None:
                addresses["api"] = self._api.start()
            self._recover()
            self._delivery.start()
            self._pipeline.start()
            self._worker.start()
            self._start_server("http", addresses)
            self._grpc.start()
        except ConfigError:
            self.stop()
            raise
        addresses["grpc"] = f"{self._config.receive.grpc.host}:{self._grpc.port}"
        self._state = None
        return addresses

    def _start_server(self, name: str, addresses: dict[str, str]) -> None:
        server = self._servers[name]
        server.start()
        addresses[name] = f"{self._host(name)}:{server.port}"

    def stop(self) -> None:
        """Close the doors, judge and deliver what is held, then close everything.

        Takes little more than ``shutdown_grace_seconds``: traces that wait to be judged for longer
        than half of it pass unjudged. What is not delivered by then stays in the journal.
        """
        self._state = "stopping"
        deadline = self._clock.monotonic() + self._config.shutdown_grace_seconds
        self._grpc.stop(min(1.0, self._left(deadline)))
        self._servers["http"].stop(min(1.0, self._left(deadline)))
        # Waiting for the journal may take all but the last of the grace. Judging may use half of
        # what is left: a verdict is worth less than the span it is for.
        if not self._worker.stop(max(0.0, self._left(deadline) - _LAST_SECONDS)):
            self._outlet.give_up()
            self._worker.stop(_LAST_SECONDS)
        if not self._pipeline.stop(self._left(deadline) / 2):
            self._pipeline.stop(self._left(deadline))
            self._outlet.give_up()
            self._pipeline.stop(_LAST_SECONDS)
        if self._analyser.llm is not None:
            self._analyser.llm.close(0.0)
        self._delivery.stop(max(_LAST_SECONDS, self._left(deadline)))
        self._delivery.close()
        if self._api is not None:
            self._api.stop()
        self._servers["health"].stop(0.5)
        self._servers["metrics"].stop(0.5)

    def hurry(self) -> None:
        """Cut :meth:`stop` on another thread short; may be called again while it lasts.

        Nothing more is judged or sent: what is not delivered stays in the journal as it is.
        """
        self._pipeline.abandon()
        self._outlet.give_up()
        self._delivery.stop(0.0)

    def _left(self, deadline: float) -> float:
        return max(0.0, deadline - self._clock.monotonic())

    def undelivered(self) -> tuple[int, int]:
        """Return the accepted items, of all signals and destinations, that are kept and lost."""
        balances = self.ledger.balances().values()
        return (
            sum(balance.pending for balance in balances),
            sum(balance.dropped for balance in balances),
        )

    def why_not_ready(self) -> str | None:
        """Return why requests are refused now, if they are."""
        if self._state is not None:
            return self._state
        return self._budget.why_refusing() or self._delivery.journal.why_refusing()

    def _recover(self) -> None:
        """Take up what the journal holds, before anything new comes in."""
        recovered = self._delivery.recover()
        for trace_id, late_addition in recovered.traces:
            self._assembler.remember(trace_id)
            self._pipeline.restore(trace_id, late_addition)
        undecided = self._inbox.restore(recovered)
        for signal, items in undecided.items():
            self._delivery.owe(signal, items)
        owed = sum(recovered.owed.values())
        if owed or undecided:
            _log.info(
                "the journal held undelivered data",
                decided_items=owed,
                undecided_items=sum(undecided.values()),
            )

    def _build_pipeline(self, budget_bytes: int) -> Pipeline:
        config = self._config
        options = AnnotationOptions(config.annotations.openinference_evaluations)
        self._analyser = build_analyser(
            config.analysis,
            quote_text=config.explanations.quote_text,
            failures=self.metrics,
            conventions=self._conventions,
            llm=llm_options(config.judge),
            redaction=self._redaction,
        )
        exemplars = ExemplarChoice(config.metrics.exemplars_per_minute, self._clock)
        return Pipeline(
            self._analyser,
            self._outlet,
            self.metrics,
            Marking(self.metrics, exemplars, options),
            backlog_traces=config.analysis.backlog_traces,
            backlog_bytes=budget_bytes // _BACKLOG_SHARE,
            remember_traces=config.hold.remember_traces,
            limits=TraceLimits(
                config.analysis.max_trace_spans, int(config.analysis.max_trace_text_mib * _MIB)
            ),
            room=self._build_room(budget_bytes),
            asking=self._build_asking(budget_bytes, options),
            recent=self._api.keeping if self._api is not None else None,
        )

    def _build_api(self, epoch: str) -> ApiService | None:
        options = self._config.api
        if not options.enabled:
            return None
        return ApiService(
            options, self._tokens, self._conventions, self._clock, self.registry, epoch=epoch
        )

    def _build_asking(self, budget_bytes: int, options: AnnotationOptions) -> Asking | None:
        llm = self._analyser.llm
        if llm is None:
            return None
        own = OwnSpans(self._delivery.journal, self.ledger)
        return Asking(
            llm,
            own.send,
            self.metrics,
            options,
            self._clock,
            secrets.token_bytes,
            hold_seconds=self._config.hold.escalated_seconds,
            remember_bytes=budget_bytes // _FEEDBACK_SHARE if self._config.judge.feedback else 0,
        )

    def _build_room(self, budget_bytes: int) -> WaitingRoom | None:
        join = self._config.join
        if not join.enabled:
            return None
        limits = JoinLimits(
            by=JoinBy(join.by),
            window_seconds=join.window_seconds,
            max_fragments=join.max_fragments,
            max_bytes=min(int(join.max_mib * _MIB), budget_bytes // _JOIN_SHARE),
        )
        return WaitingRoom(limits, self._clock)

    def _build_servers(self, intake: Intake, allowed: AllowList) -> dict[str, HttpServer]:
        receive, metrics, health = self._config.receive, self._config.metrics, self._config.health
        return {
            "http": HttpServer(
                build_http_app(
                    intake,
                    signals=self._delivery.signals,
                    headers=allowed,
                    tokens=self._tokens,
                    request_timeout_seconds=receive.request_timeout_seconds,
                ),
                receive.http.host,
                receive.http.port,
                option="receive.http.port",
                max_connections=receive.max_connections,
            ),
            "metrics": HttpServer(
                metrics_app(self.registry), metrics.host, metrics.port, option="metrics.port"
            ),
            "health": HttpServer(
                health_app(self.why_not_ready), health.host, health.port, option="health.port"
            ),
        }

    def _host(self, name: str) -> str:
        hosts = {
            "http": self._config.receive.http.host,
            "metrics": self._config.metrics.host,
            "health": self._config.health.host,
        }
        return hosts[name]

    def _used_bytes(self) -> int:
        """Return the bytes in memory that count against the budget."""
        return (
            self._held.bytes
            + self._assembler.held_bytes
            + self._pipeline.backlog_bytes
            + self._pipeline.waiting_bytes
            + self._delivery.memory_bytes
        )

    def _add_gauges(self) -> None:
        journal = self._delivery.journal
        gauges: list[tuple[str, str, Callable[[], float]]] = [
            ("raglog_traces_open", "Traces held.", lambda: self._assembler.open_traces),
            ("raglog_held_spans", "Spans held.", lambda: self._assembler.held_spans),
            ("raglog_held_bytes", "Bytes held.", lambda: self._assembler.held_bytes),
            ("raglog_memory_bytes", "Bytes in memory, of the budget.", self._used_bytes),
            (
                "raglog_backlog_traces",
                "Traces that wait to be judged.",
                lambda: self._pipeline.backlog,
            ),
            (
                "raglog_fragments_pending",
                "Traces that wait for the other traces of their run.",
                lambda: self._pipeline.waiting_fragments,
            ),
            (
                "raglog_judge_pending",
                "Traces whose runs an LLM is asked about.",
                lambda: self._pipeline.asking,
            ),
            ("raglog_journal_bytes", "Size of the journal.", lambda: journal.size_bytes),
            (
                "raglog_journal_oldest_seconds",
                "Age of the oldest record in the journal.",
                lambda: journal.oldest_seconds,
            ),
            (
                "raglog_journal_undecided_items",
                "Accepted items that wait for their trace or its verdict.",
                lambda: journal.undecided_items,
            ),
        ]
        for name, text, read in gauges:
            add_gauge(self.registry, name, text, read)


def _policy(hold: Hold, budget_bytes: int) -> CompletionPolicy:
    return CompletionPolicy(
        quiet_seconds=hold.quiet_seconds,
        orphan_quiet_seconds=hold.orphan_quiet_seconds,
        max_wait_seconds=hold.max_wait_seconds,
        max_spans_per_trace=hold.max_spans_per_trace,
        max_open_traces=hold.max_open_traces,
        max_held_bytes=min(int(hold.max_held_mib * _MIB), budget_bytes // _HELD_SHARE),
        remember_traces=hold.remember_traces,
    )

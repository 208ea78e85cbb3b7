"""Who is asked what a call is, in order: stored mappings, known APIs, structure, an LLM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from otel_raglog_proxy_bridge import structural
from otel_raglog_proxy_bridge.asking import Asker, TemplateAsker
from otel_raglog_proxy_bridge.classifying import Teller, Told, by_known_api
from otel_raglog_proxy_bridge.expressions import MappingError
from otel_raglog_proxy_bridge.mapping_store import MappingStore
from otel_raglog_proxy_bridge.mappings import CallMapping
from otel_raglog_proxy_bridge.model import CallStage, Decider, Decision, Exchange, Reading

_LOG = logging.getLogger(__name__)

Now = Callable[[], str]
"""Returns the time in ISO 8601, in UTC."""

Warn = Callable[[str], None]
"""Takes a sentence on what went wrong, once."""


def utc_now() -> str:
    """Return the time of the system's clock."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def log_warning(sentence: str) -> None:
    """Log what went wrong."""
    _LOG.warning("raglog: %s", sentence)


def tellers(
    folder: Path | None = None,
    pipeline: str | None = None,
    asker: Asker | None = None,
    now: Now = utc_now,
    *,
    keeps: bool = True,
    warn: Warn = log_warning,
) -> Sequence[Teller]:
    """Return the tellers, in order.

    With ``folder`` and ``pipeline`` the pipeline's stored mappings come first, and what structure
    or an LLM finds out is stored there, unless ``keeps`` says no. Without ``asker`` no LLM is
    asked. ``warn`` is told of a file that cannot be read or written.
    """
    store = MappingStore(folder, pipeline) if folder and pipeline else None
    keeper = _Keeper(store if keeps else None, now, warn)
    chosen: list[Teller] = [by_known_api(), by_structure(keeper)]
    if store is not None:
        chosen.insert(0, by_stored_mapping(store, warn))
    if asker is not None:
        chosen.append(by_llm(TemplateAsker(asker), keeper))
    return tuple(chosen)


class _Keeper:
    """Stores mappings where there is a store; what goes wrong is told once."""

    def __init__(self, store: MappingStore | None, now: Now, warn: Warn) -> None:
        self.store = store
        self.now = now
        self._warn = warn
        self._failed = False

    def keep(self, mapping: CallMapping | None) -> None:
        if self.store is None or mapping is None:
            return
        try:
            self.store.add(mapping)
        except MappingError as error:
            if not self._failed:
                self._failed = True
                self._warn(f"a mapping could not be stored: {error}")


def by_stored_mapping(store: MappingStore, warn: Warn = log_warning) -> Teller:
    """Return the teller that knows the pipeline's own mappings; ``warn`` is told of damage once."""
    told: str | None = None

    def tell(exchange: Exchange, before: CallStage | None) -> Told | None:
        nonlocal told
        del before
        mapping = store.find(exchange)
        if store.problem is not None and store.problem != told:
            warn(f"stored mappings are not read anew: {store.problem}")
        told = store.problem
        if mapping is None:
            return None
        reason = f"stored mapping, from {mapping.origin.value}: {mapping.reason or mapping.name}"
        decision = Decision(mapping.stage, Decider.MAPPING, mapping.name, reason)
        return Told(decision, mapping.read(exchange))

    return tell


def by_structure(keeper: _Keeper) -> Teller:
    """Return the teller that goes by the shape of request and answer."""

    def tell(exchange: Exchange, before: CallStage | None) -> Told | None:
        del before
        found = structural.tell(exchange)
        if found is None:
            return None
        decision = Decision(found.stage, Decider.RULE, found.rule, found.reason)
        if found.stage is CallStage.IRRELEVANT:
            return Told(decision)
        reading = _read(lambda: structural.read_by(exchange, found))
        if reading is None:
            return None
        keeper.keep(structural.mapping_of(exchange, found, created=keeper.now()))
        return Told(decision, reading)

    return tell


def by_llm(asker: TemplateAsker, keeper: _Keeper) -> Teller:
    """Return the teller that asks an LLM, stage by stage, and has it write the mapping."""

    def tell(exchange: Exchange, before: CallStage | None) -> Told | None:
        decision = asker.decide(exchange, before)
        if decision is None:
            return None
        if decision.stage is CallStage.IRRELEVANT:
            return Told(decision)
        mapping = asker.map(exchange, decision.stage, created=keeper.now())
        reading = None if mapping is None else _read(lambda: mapping.read(exchange))
        if reading is None:
            return None
        keeper.keep(mapping)
        return Told(decision, reading)

    return tell


def _read(read: Callable[[], Reading | None]) -> Reading | None:
    """Return a reading, ``None`` where JMESPath, which mappings are written in, is missing."""
    try:
        return read()
    except MappingError:
        return None

"""Payloads of spans back to the verdicts that are on them, for backends with an API for these.

The journal hands every destination the same bytes: spans with our attributes and events on them.
So an exporter of verdicts reads them there, and queue, retry, cursor and dead letters are those of
any other destination.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.wire_schema import read_payload

_OWN = b"raglog."
_EVALUATION = "gen_ai.evaluation.result"
_SUPERSEDES = "raglog.supersedes"
_PROJECT = "openinference.project.name"
_SERVICE = "service.name"


@dataclass(frozen=True, slots=True)
class StageOnSpan:
    """The verdict on one stage that a step's span bears."""

    stage: str
    verdict: str
    probability: float | None = None
    explanation: str = ""
    threshold: float | None = None
    fault_types: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOnSpan:
    """The verdict on a run that its topmost span bears."""

    verdict: str
    faulty_stages: tuple[str, ...] = ()
    first_faulty_stage: str = ""
    session_id: str = ""
    session_turn: int | None = None
    detector_version: str = ""
    tier: str = ""
    skip_reason: str = ""

    @property
    def why(self) -> str:
        """Why the verdict is what it is, in a few words; empty where there is nothing to say."""
        if self.first_faulty_stage:
            return f"first faulty stage: {self.first_faulty_stage}"
        return self.skip_reason


@dataclass(frozen=True, slots=True)
class Judged:
    """A span with verdicts on it, or the target of a span that carries later ones.

    Ids are hex. ``run`` is there on the run's topmost span alone.
    """

    trace_id: str
    span_id: str
    run_id: str
    service: str = ""
    project: str = ""
    run: RunOnSpan | None = None
    stages: tuple[StageOnSpan, ...] = field(default=())
    supersedes: str = ""


def read_verdicts(payload: Payload) -> tuple[Judged, ...]:
    """Return what is judged in a payload, in its order.

    Spans without a verdict, spans that came after their trace's verdict and inherited it, and what
    cannot be read yield nothing. A step's span does not name its run: it is that of the topmost
    span above it, as far as the spans between are in the payload.
    """
    if payload.signal is not Signal.TRACES or _OWN not in payload.body:
        return ()
    parents: dict[tuple[str, str], str] = {}
    found: list[Judged] = []
    for request in read_payload(payload).requests:
        for block in request.resource_spans:
            for scope in block.scope_spans:
                for span in scope.spans:
                    place = bytes(span.trace_id).hex(), bytes(span.span_id).hex()
                    parents[place] = bytes(span.parent_span_id).hex()
                    found += _judged(span, block.resource)
    return tuple(_with_run(found, parents))


def _with_run(found: list[Judged], parents: Mapping[tuple[str, str], str]) -> Iterator[Judged]:
    tops = {(one.trace_id, one.span_id): one.run_id for one in found if one.run is not None}
    runs: dict[str, set[str]] = {}
    for (trace_id, _), run_id in tops.items():
        runs.setdefault(trace_id, set()).add(run_id)
    for one in found:
        if one.run_id:
            yield one
            continue
        run_id = ""
        at, left = one.span_id, len(parents)
        while at and left and not run_id:
            run_id = tops.get((one.trace_id, at), "")
            at = parents.get((one.trace_id, at), "")
            left -= 1
        known = runs.get(one.trace_id, set())
        yield replace(one, run_id=run_id or (next(iter(known)) if len(known) == 1 else ""))


def _judged(span: Any, resource: Any) -> Iterator[Judged]:
    attributes = {
        key: value for key, value in _plain(span.attributes).items() if key.startswith("raglog.")
    }
    stages = tuple(_stages(span, attributes))
    run = _run(attributes) if "raglog.detector.version" in attributes else None
    if run is None and not stages:
        return
    supersedes = _text(attributes.get(_SUPERSEDES))
    target = span.links[0] if supersedes and span.links else span
    about = _plain(resource.attributes)
    service = _text(about.get(_SERVICE))
    yield Judged(
        trace_id=bytes(target.trace_id).hex(),
        span_id=bytes(target.span_id).hex(),
        run_id=_text(attributes.get("raglog.run.id")),
        service=service,
        project=_text(about.get(_PROJECT)) or service,
        run=run,
        stages=stages,
        supersedes=supersedes,
    )


def _run(attributes: Mapping[str, object]) -> RunOnSpan:
    turn = attributes.get("raglog.session.turn")
    return RunOnSpan(
        verdict=_text(attributes.get("raglog.run.verdict")),
        faulty_stages=_texts(attributes.get("raglog.run.faulty_stages")),
        first_faulty_stage=_text(attributes.get("raglog.run.first_faulty_stage")),
        session_id=_text(attributes.get("raglog.session.id")),
        session_turn=turn if isinstance(turn, int) else None,
        detector_version=_text(attributes.get("raglog.detector.version")),
        tier=_text(attributes.get("raglog.detector.tier")),
        skip_reason=_text(attributes.get("raglog.skip_reason")),
    )


def _stages(span: Any, attributes: Mapping[str, object]) -> Iterator[StageOnSpan]:
    for event in span.events:
        if _decoded(event.name) != _EVALUATION:
            continue
        found = _plain(event.attributes)
        name = _text(found.get("gen_ai.evaluation.name"))
        if not name.startswith("raglog."):
            continue
        stage = name.removeprefix("raglog.")
        # Only one of several stages of a span has attributes beside its event.
        own = attributes if attributes.get("raglog.stage") == stage else {}
        yield StageOnSpan(
            stage=stage,
            verdict=_text(found.get("gen_ai.evaluation.score.label")),
            probability=_number(found.get("gen_ai.evaluation.score.value")),
            explanation=_text(found.get("gen_ai.evaluation.explanation")),
            threshold=_number(own.get("raglog.fault.threshold")),
            fault_types=_texts(own.get("raglog.fault.types")),
            warnings=_texts(own.get("raglog.warnings")),
        )


def _plain(attributes: Iterable[Any]) -> dict[str, object]:
    """Return attributes as JSON would have them; those that nobody here reads as ``None``."""
    return {_decoded(item.key): _value(item.value) for item in attributes}


def _value(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return _decoded(value.string_value)
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind in {"bool_value", "int_value", "double_value"}:
        return getattr(value, kind)
    return None


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value)
    return number if number - number == 0.0 else None

"""A file of captured calls, of whatever kind, to calls that were made safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from otel_raglog_proxy_bridge.capture_files import call_records, cassettes, flows, har
from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture, Note
from otel_raglog_proxy_bridge.carried_secrets import CarriedSecrets
from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.safety import DEFAULT_RULES, RawCall, SafetyRules, safe_call

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_STEP_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class CaptureKind:
    """One kind of file: how it is told by suffix (lower-case) and content, and how it is read.

    ``read`` yields the calls in the file's order, with 0 for a time that is not known, and a
    sentence for each item that could not be read. It raises ``BadCapture`` and nothing else.
    """

    name: str
    matches: Callable[[str, bytes], bool]
    read: Callable[[bytes], Iterator[RawCall | str]]


KINDS: tuple[CaptureKind, ...] = (
    CaptureKind("HAR", har.matches, har.read),
    CaptureKind("cassette", cassettes.matches, cassettes.read),
    CaptureKind("call records", call_records.matches, call_records.read),
    CaptureKind("mitmproxy flow file", flows.matches, flows.read),
)
"""The first that matches reads the file; flow files, told by suffix too, come last."""


@dataclass(frozen=True, slots=True)
class Captured:
    """The calls of a file in its order, and sentences with the file's name.

    ``problems`` say what could not be read, ``notes`` what was left out since it is no HTTP call.
    """

    calls: tuple[Call, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def is_capture(name: str, content: bytes) -> bool:
    """Return whether the file holds captured calls. Looks at its beginning, so it may be damaged."""
    return _kind_of(name, content.removeprefix(_BYTE_ORDER_MARK)) is not None


def read_calls(name: str, content: bytes, rules: SafetyRules = DEFAULT_RULES) -> Captured:
    """Return the calls in ``content`` (not compressed), each made safe by ``rules``.

    A call whose times the file does not tell follows the one before it, a millisecond long; the
    first begins a millisecond after the epoch. Ids are made to differ within the file.

    Raises:
        BadCapture: it is of no kind that is known, or has calls of which none can be read.
    """
    content = content.removeprefix(_BYTE_ORDER_MARK)
    kind = _kind_of(name, content)
    if kind is None:
        known = ", ".join(each.name for each in KINDS)
        raise BadCapture(f"{name} holds no captured calls of a kind that is known: {known}")
    calls: list[Call] = []
    problems: list[str] = []
    notes: list[str] = []
    seen: Counter[str] = Counter()
    carried = CarriedSecrets()
    latest = _STEP_NS
    try:
        for item in kind.read(content):
            if isinstance(item, str):
                (notes if isinstance(item, Note) else problems).append(f"{name}, {item}")
                continue
            timed = _timed(item, latest)
            latest = max(latest, timed.ended_ns)
            seen[timed.id] += 1
            if seen[timed.id] > 1:
                timed = replace(timed, id=f"{timed.id}#{seen[timed.id]}")
            calls.append(safe_call(timed, rules, carried))
    except BadCapture as error:
        raise BadCapture(f"{name} is {error}") from None
    if problems and not calls:
        raise BadCapture(f"{problems[0]}; nothing in {name} could be read")
    return Captured(tuple(calls), tuple(problems), tuple(notes))


def _timed(call: RawCall, latest: int) -> RawCall:
    started, ended = call.started_ns, call.ended_ns
    if not started and not ended:
        return replace(call, started_ns=latest, ended_ns=latest + _STEP_NS)
    started = started or ended
    return replace(call, started_ns=started, ended_ns=max(started, ended))


def _kind_of(name: str, content: bytes) -> CaptureKind | None:
    path = PurePath(name.lower())
    suffix = PurePath(path.stem).suffix if path.suffix == ".gz" else path.suffix
    return next((kind for kind in KINDS if kind.matches(suffix, content)), None)

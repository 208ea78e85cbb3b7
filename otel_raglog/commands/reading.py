"""Files of traces, dead letters or run records to requests, held traces and runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otel_raglog.building import build_markers
from otel_raglog.captured import CapturedRequests, to_requests
from otel_raglog.commands.captures import StoredMappings
from otel_raglog.errors import BadInput
from otel_raglog.journal.dead_letters import read_dead_letter
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Batch, Completion, HeldTrace, Payload, Run, Signal, WireSpan
from otel_raglog.receive.counting import count_logs, count_metrics
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json, to_protobuf
from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture
from otel_raglog_proxy_bridge.capture_files.registry import is_capture, read_calls
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.telling import tellers

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_CSV_FIELD = 2**31 - 1
_LIST_COLUMNS = (
    "history", "rewrites", "retrieved", "reranked", "passed", "tokens", "steps",
    "labels", "injected", "reference",
)  # fmt: skip
_FILE_LIMITS = Limits(max_request_bytes=2**31 - 1, max_spans_per_request=10_000_000)
_SHOWN = 120
_WHOLE = re.compile(r"[0-9]{1,9}")
_RECORD_KEYS = frozenset({"question", "answer", "retrieved", "prompt"})
_OTHER_SIGNALS = {"resourceLogs": Signal.LOGS, "resourceMetrics": Signal.METRICS}
_LETTER_KEYS = frozenset({"exporter", "signal", "reason", "body"})


@dataclass(slots=True)
class Reading:
    """What files held: requests in order of arrival, run records, and what could not be read.

    ``requests`` are the spans of each and, when files were read to be sent, dead letters and
    requests of other signals as they are. ``records`` are what ``runs`` were read from, when
    asked for: they alone hold labels. ``captured`` says what became of the calls in each file of
    captured calls, whose spans are in ``requests`` too; with ``all_runs`` also of calls that are
    of no run. ``problems`` are sentences that name file and line; the rest of the file is not
    lost. ``notes`` are sentences on what was read.
    """

    to_send: bool = False
    markers: Markers = field(default_factory=build_markers)
    requests: list[Batch | Payload] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    keep_records: bool = False
    records: list[Mapping[str, object]] = field(default_factory=list)
    stored: StoredMappings | None = None
    all_runs: bool = False
    captured: list[CapturedRequests] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def batches(self) -> list[Batch]:
        """The requests whose spans were read."""
        return [request for request in self.requests if isinstance(request, Batch)]

    def traces(self) -> tuple[HeldTrace, ...]:
        """Return the held spans by trace, as the service would release them."""
        by_trace: dict[bytes, list[WireSpan]] = {}
        for batch in self.batches:
            for span in batch.spans:
                if span.held:
                    by_trace.setdefault(span.trace_id, []).append(span)
        return tuple(
            HeldTrace(trace_id, tuple(spans), Completion.FILE_END, 0.0)
            for trace_id, spans in by_trace.items()
        )


def read_files(
    paths: Sequence[Path],
    *,
    to_send: bool = False,
    markers: Markers | None = None,
    keep_records: bool = False,
    stored: StoredMappings | None = None,
    all_runs: bool = False,
) -> Reading:
    """Return what ``paths`` hold: OTLP, dead letters, run records, or captured HTTP calls.

    OTLP is JSON, JSON lines or protobuf. Captured calls are mitmproxy flow files, HAR, cassettes
    and call records: they become the spans that the add-on would have sent, told by ``stored``
    mappings, where given, and by rules; calls that make up no run are left out unless ``all_runs`` or ``to_send``.

    Run records are JSON lines, a JSON array, CSV or parquet. Any file may be gzipped. Read
    ``to_send``, dead letters and logs and metrics are kept as they are; else the spans in dead
    letters are read, and what holds no spans is a problem. ``markers`` are what makes a span worth
    reading, where that is more than what is built in. With ``keep_records`` the records themselves
    are kept beside their runs.

    A file that cannot be opened, or is of another kind, is a problem like a line that cannot be
    read: it does not cost the other files.

    Raises:
        BadInput: nothing could be read at all.
    """
    reading = Reading(to_send, markers or build_markers(), keep_records=keep_records)
    reading.stored = stored
    reading.all_runs = all_runs or to_send
    unread: list[str] = []
    for path in paths:
        try:
            _read_file(path, reading)
        except BadInput as error:
            unread.append(str(error))
    if stored is not None:  # what it has to say, it says once
        reading.problems.extend(stored.problems)
        reading.notes.extend(stored.notes)
        stored.problems.clear()
        stored.notes.clear()
    if unread and not reading.requests and not reading.runs and not reading.captured:
        raise BadInput("; ".join([*reading.problems, *unread]))
    reading.problems.extend(unread)
    return reading


def _read_file(path: Path, reading: Reading) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if content.startswith(_GZIP_MAGIC):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise BadInput(f"{path} is damaged gzip: {error}") from None
    name = path.name.removesuffix(".gz")
    suffix = Path(name).suffix
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if not content.strip():
        reading.problems.append(f"{path} is empty")
    elif is_capture(name, content):
        _read_capture(path, name, content, reading)
    elif suffix == ".csv":
        _add_records(path, _csv_records(path, content), reading)
    elif suffix == ".parquet" or content.startswith(b"PAR1"):
        _add_records(path, _parquet_records(path, content), reading)
    elif content.lstrip()[:1] in (b"{", b"["):
        _read_json(path, content, reading)
    else:
        _read_protobuf(path, content, reading)


def _read_capture(path: Path, name: str, content: bytes, reading: Reading) -> None:
    try:
        found = read_calls(name, content)
    except BadCapture as error:
        raise BadInput(f"{path.parent / str(error)}") from None
    folder = path.parent
    reading.problems.extend(f"{folder / problem}" for problem in found.problems)
    reading.notes.extend(f"{folder / note}" for note in found.notes)
    service = name.split(".", maxsplit=1)[0] or name
    captured = to_requests(
        found.calls,
        service,
        _FILE_LIMITS,
        reading.markers,
        reading.stored.classifier() if reading.stored else Classifier(tellers()),
        all_runs=reading.all_runs,
    )
    reading.requests.extend(captured.batches)
    reading.captured.append(captured)
    reading.notes.append(captured.in_words(str(path)))


def _read_protobuf(path: Path, content: bytes, reading: Reading) -> None:
    try:
        batch = split_protobuf(content, _FILE_LIMITS, reading.markers)
    except BadInput as error:
        raise BadInput(
            f"{path} is no OTLP JSON, JSON lines or protobuf, no run records and no captured "
            f"calls: {error}"
        ) from None
    _add_request(path, 1, batch, reading)


def _read_json(path: Path, content: bytes, reading: Reading) -> None:
    found = False
    before = len(reading.problems)
    whole = _parse_json(content)
    lines: Iterable[tuple[int, bytes]]
    if whole is not None:
        items = whole if isinstance(whole, list) else [whole]
        lines = ((number, json.dumps(item).encode()) for number, item in enumerate(items, 1))
    else:
        lines = enumerate(content.splitlines(), 1)
    for number, line in lines:
        if line.strip():
            found = _read_json_item(path, number, line, reading) or found
    if not found and not _is_protobuf(path, content, reading, before):
        detail = reading.problems.pop() if reading.problems else f"{path} holds nothing"
        raise BadInput(f"{detail}; nothing in {path} could be read")


def _is_protobuf(path: Path, content: bytes, reading: Reading, before: int) -> bool:
    """Read a request whose first bytes look like JSON: a tag is a line break, a length a brace.

    What was said of its "lines" (problems from ``before`` on) is then taken back.
    """
    if content[:1] != b"\n":
        return False
    try:
        batch = split_protobuf(content, _FILE_LIMITS, reading.markers)
    except BadInput:
        return False
    del reading.problems[before:]
    _add_request(path, 1, batch, reading)
    return True


def _read_json_item(path: Path, number: int, line: bytes, reading: Reading) -> bool:
    where = f"{path}, line {number}"
    data = _parse_json(line)
    if isinstance(data, dict) and ("resourceSpans" in data or not data):
        try:
            batch = split_json(line, _FILE_LIMITS, reading.markers)
        except BadInput as error:
            reading.problems.append(f"{where}: {error}")
            return False
        _add_request(path, number, batch, reading)
        return True
    if reading.to_send and isinstance(data, dict):
        for key, signal in _OTHER_SIGNALS.items():
            if key in data:
                return _read_payload(path, number, line, signal, reading)
    if isinstance(data, dict) and data.keys() >= _LETTER_KEYS:
        return _read_letter(path, number, line, reading)
    if isinstance(data, dict) and _RECORD_KEYS & data.keys():
        return _add_records(path, [(number, data)], reading) > 0
    reading.problems.append(f"{where}: {_why_unread(data)}")
    return False


def _read_letter(path: Path, number: int, line: bytes, reading: Reading) -> bool:
    try:
        payload = read_dead_letter(line)
        request = payload if reading.to_send else spans_of(payload, reading.markers)
    except BadInput as error:
        reading.problems.append(f"{path}, line {number}: {error}")
        return False
    _add_request(path, number, request, reading)
    return True


def _read_payload(path: Path, number: int, line: bytes, signal: Signal, reading: Reading) -> bool:
    count = count_logs if signal is Signal.LOGS else count_metrics
    try:
        body = to_protobuf(signal, line, _FILE_LIMITS)
        payload = Payload(signal, body, count(body, _FILE_LIMITS))
    except BadInput as error:
        reading.problems.append(f"{path}, line {number}: {error}")
        return False
    _add_request(path, number, payload, reading)
    return True


def spans_of(payload: Payload, markers: Markers | None = None) -> Batch:
    """Return the spans of a request.

    Raises:
        BadInput: it is none of traces, or cannot be read.
    """
    if payload.signal is not Signal.TRACES:
        raise BadInput(f"a dead letter of {payload.signal}, which hold no spans")
    return split_protobuf(payload.body, _FILE_LIMITS, markers or build_markers())


def _why_unread(data: object) -> str:
    if not isinstance(data, dict):
        return "no JSON object"
    if _OTHER_SIGNALS.keys() & data.keys():
        return "OTLP logs or metrics, which hold no spans"
    if isinstance(data.get("log"), dict) and "entries" in data["log"]:
        return "HAR files are not read by this version"
    keys = ", ".join(sorted(map(str, data))[:8])
    return f"neither an OTLP request (resourceSpans) nor a run record (question); keys: {keys}"


def _parse_json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _add_request(path: Path, number: int, request: Batch | Payload, reading: Reading) -> None:
    reading.requests.append(request)
    rejected = request.rejected if isinstance(request, Batch) else {}
    for reason, count in rejected.items():
        reading.problems.append(f"{path}, line {number}: {count} spans left out ({reason})")


def _add_records(
    path: Path, records: Iterable[tuple[int, Mapping[str, object]]], reading: Reading
) -> int:
    added = 0
    for number, record in records:
        try:
            reading.runs.append(run_from_record(record))
        except BadInput as error:
            reading.problems.append(f"{path}, line {number}: {error}")
        else:
            added += 1
            if reading.keep_records:
                reading.records.append(record)
    return added


def _csv_records(path: Path, content: bytes) -> Iterator[tuple[int, dict[str, object]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8: {error}") from None
    # The module's own limit of 128 KiB is shorter than some prompts.
    csv.field_size_limit(_LONGEST_CSV_FIELD)
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        if not _RECORD_KEYS & set(reader.fieldnames or ()):
            columns = ", ".join(map(str, reader.fieldnames or ()))[:_SHOWN]
            raise BadInput(f"{path} has no column of a run record (question, answer …): {columns}")
        for row in reader:
            filled = {key: value for key, value in row.items() if key and value not in {"", None}}
            yield reader.line_num, _parse_columns(filled)
    except csv.Error as error:
        raise BadInput(f"{path}, line {reader.line_num}: {error}") from None


def _parquet_records(path: Path, content: bytes) -> Iterator[tuple[int, dict[str, object]]]:
    try:
        import pyarrow as pa  # noqa: PLC0415  an optional extra
        from pyarrow import parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        raise BadInput(f"{path}: parquet needs pip install 'otel-raglog[parquet]'") from None
    try:
        rows = parquet.read_table(pa.BufferReader(content)).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path} is no readable parquet file: {error}") from None
    for number, row in enumerate(rows, 1):
        yield (
            number,
            _parse_columns({key: value for key, value in row.items() if value is not None}),
        )


def _parse_columns(row: Mapping[str, object]) -> dict[str, object]:
    """Parse the JSON in list columns; a column that holds none stays as it is."""
    # A null was recorded as missing, which an empty field was not.
    parsed = {
        key: None if isinstance(value, str) and value.strip() == "null" else value
        for key, value in row.items()
    }
    for key in _LIST_COLUMNS:
        value = parsed.get(key)
        if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
            data = _parse_json(value.encode())
            if data is not None:
                parsed[key] = data
    if isinstance(parsed.get("embedder_input"), str) and str(parsed["embedder_input"]).startswith(
        "["
    ):
        data = _parse_json(str(parsed["embedder_input"]).encode())
        if isinstance(data, list):
            parsed["embedder_input"] = data
    for key in ("top_k", "turn"):
        value = parsed.get(key)
        if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
            parsed[key] = int(value)
    return parsed

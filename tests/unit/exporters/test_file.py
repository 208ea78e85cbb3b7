"""The file exporter: whole lines only, whatever the disk does."""

from __future__ import annotations

import errno
import json
import os
import stat

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.model import Origin, Payload, RawSpan, Signal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json
from otel_raglog_exporters.file import FileConfig, FileExporter
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.sending import ExportOutcome

UNKNOWN_FIELD = bytes.fromhex("c23e03616263")  # what the maker of spans appends


@pytest.fixture
def path(tmp_path):
    """Return the file's path."""
    return tmp_path / "spans.jsonl"


@pytest.fixture
def exporter(path):
    """Return an exporter that is closed afterwards."""
    exporter = FileExporter(FileConfig(path))
    yield exporter
    exporter.close()


def names(path):
    """Return the span names of each line."""
    return [
        [
            span["name"]
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]
        for line in path.read_text().splitlines()
    ]


def test_each_export_is_a_line_that_is_there_at_once(path, exporter, span):
    """A reader sees the line as soon as the export returned."""
    assert exporter.export(encode_payload([span(1), span(2)])) == ExportOutcome(2)
    assert names(path) == [["span 1", "span 2"]]
    exporter.export(encode_payload([span(3)]))
    assert names(path) == [["span 1", "span 2"], ["span 3"]]


def test_the_sidecar_reads_its_own_lines(path, exporter, span):
    """A line is an OTLP/JSON request: read again it gives the same spans."""
    spans = [span(1, answer="Straße\u2028\n", count=-(2**60), ratio=0.25), span(2, names=["a"])]
    exporter.export(encode_payload(spans))
    markers = Markers(key_prefixes=(b"answer",))
    (line,) = path.read_bytes().splitlines()
    read = split_json(line, Limits(), markers).spans
    parsed = [Span.FromString(one.raw) for one in read]
    sent = [Span.FromString(one.raw.removesuffix(UNKNOWN_FIELD)) for one in spans]
    assert parsed == sent


def test_an_existing_file_is_continued(path, span):
    """A restart appends."""
    for number in (1, 2):
        exporter = FileExporter(FileConfig(path))
        exporter.export(encode_payload([span(number)]))
        exporter.close()
    assert names(path) == [["span 1"], ["span 2"]]


def test_a_line_torn_by_a_kill_stays_alone(path, span):
    """The next line starts on a fresh one, so that only the torn line is lost."""
    path.write_text('{"resourceSpans":[{"sco')
    exporter = FileExporter(FileConfig(path))
    exporter.export(encode_payload([span(1)]))
    exporter.close()
    torn, good = path.read_text().splitlines()
    assert torn == '{"resourceSpans":[{"sco'
    assert json.loads(good)


def test_a_new_file_is_private(path, exporter):
    """Spans hold questions and documents."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert exporter.export(encode_payload([])) == ExportOutcome(0)


def test_a_full_disk_is_retryable_and_leaves_no_half_line(path, exporter, span, monkeypatch):
    """What was begun is taken back; when there is room again the export goes through."""
    exporter.export(encode_payload([span(1)]))
    write = os.write
    writes = []

    def full(file, data):
        writes.append(len(data))
        if len(writes) == 1:
            return write(file, data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Unavailable, match="No space left"):
        exporter.export(encode_payload([span(2)]))
    monkeypatch.undo()
    assert names(path) == [["span 1"]]
    exporter.export(encode_payload([span(2)]))
    assert names(path) == [["span 1"], ["span 2"]]


def test_spans_that_are_not_otlp_are_reported_and_the_rest_is_written(path, exporter, span):
    """One unreadable span costs itself only."""
    broken = RawSpan(Origin(b"", b""), b"\xff\xff")
    outcome = exporter.export(encode_payload([span(1), broken, span(2)]))
    assert (outcome.accepted, outcome.rejected) == (2, 1)
    assert outcome.message
    assert names(path) == [["span 1", "span 2"]]
    assert exporter.export(encode_payload([broken])).rejected == 1


def test_logs_and_metrics_are_lines_of_their_own(path, exporter, logs, metrics):
    """Each line is a request of one signal."""
    assert exporter.export(logs("one", "two")) == ExportOutcome(2)
    assert exporter.export(metrics(3)) == ExportOutcome(6)
    first, second = [json.loads(line) for line in path.read_text().splitlines()]
    (record, _) = first["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert record == {
        "timeUnixNano": "5",
        "severityNumber": 9,
        "traceId": "ab" * 16,
        "body": {"stringValue": "one"},
    }
    (gauge, _) = second["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    assert gauge["gauge"]["dataPoints"][1] == {"timeUnixNano": "7", "asInt": "1"}


def test_bytes_that_are_no_request_are_reported(path, exporter):
    """Nothing is written for them."""
    assert exporter.export(Payload(Signal.LOGS, b"\xff\xff", 3)).rejected == 3
    assert path.read_text() == ""


@pytest.mark.parametrize("wrong", ["missing/spans.jsonl", "."])
def test_a_path_that_cannot_be_written_fails_at_start(tmp_path, wrong):
    """The folder must exist and the path must be a file's; the error names it."""
    with pytest.raises(ConfigError, match="path: "):
        FileExporter(FileConfig(tmp_path / wrong))


def test_a_device_can_be_written_to(span):
    """Not every path is a regular file."""
    exporter = FileExporter(FileConfig("/dev/null"))
    assert exporter.export(encode_payload([span(1)])).accepted == 1
    exporter.close()


def test_a_closed_exporter_writes_no_more(path, exporter, span):
    """After closing, exports fail aloud."""
    exporter.close()
    with pytest.raises(Unavailable):
        exporter.export(encode_payload([span(1)]))
    assert path.read_text() == ""


@pytest.mark.parametrize("rotate", ["rename", "unlink"])
def test_a_rotated_file_is_opened_anew(path, exporter, span, rotate):
    """After log rotation spans go where people look, and none is lost."""
    exporter.export(encode_payload([span(1)]))
    old = path.with_suffix(".1")
    if rotate == "rename":
        path.rename(old)
    else:
        path.unlink()
    assert exporter.export(encode_payload([span(1), span(2)])).accepted == 2
    assert [len(line) for line in names(path)] == [2]
    if rotate == "rename":
        assert [len(line) for line in names(old)] == [1]


def test_a_folder_that_went_away_is_waited_for(tmp_path, span):
    """The spans are kept and tried again."""
    folder = tmp_path / "logs"
    folder.mkdir()
    exporter = FileExporter(FileConfig(folder / "spans.jsonl"))
    (folder / "spans.jsonl").unlink()
    folder.rmdir()
    with pytest.raises(Unavailable):
        exporter.export(encode_payload([span(1)]))
    folder.mkdir()
    assert exporter.export(encode_payload([span(1)])).accepted == 1
    exporter.close()

"""Every kind of file that `analyze`, `explain` and `replay` take, and the errors for the rest."""

import gzip
import json
import random

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from rag_traces import OTHER_SPANS, RAG_SPANS, rag_trace
from samples import key_value, span_message

from otel_raglog.clock import ManualClock
from otel_raglog.commands.reading import read_files, spans_of
from otel_raglog.errors import BadInput
from otel_raglog.journal.dead_letters import DeadLetterFile
from otel_raglog.model import Completion, Payload, Signal
from otel_raglog_exporters.grouping import encode_payload, encode_request
from otel_raglog_exporters.registry import build_exporter

RECORD = {
    "id": "r1",
    "question": "When does the ferry leave?",
    "retrieved": [{"id": "d1", "text": "It leaves at 9.", "score": 0.5}],
    "passed": ["d1"],
    "prompt": "Context: It leaves at 9.\nWhen does the ferry leave?",
    "answer": "At 9.",
    "top_k": 3,
}


@pytest.fixture
def otlp_lines(tmp_path):
    """Two traces as the file exporter writes them."""
    path = tmp_path / "traces.jsonl"
    exporter = build_exporter("file", {"path": str(path)})
    for number in range(2):
        exporter.export(encode_payload(rag_trace(random.Random(number), number)))
    exporter.close()
    return path


def write(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_otlp_json_lines(otlp_lines):
    """One request a line; the spans that may belong to runs, by trace."""
    traces = read_files([otlp_lines]).traces()
    assert [len(trace.spans) for trace in traces] == [RAG_SPANS, RAG_SPANS]
    assert {trace.completion for trace in traces} == {Completion.FILE_END}


def test_pretty_printed_otlp_json_and_arrays(tmp_path, otlp_lines):
    """A whole file may be one request, or an array of them."""
    requests = [json.loads(line) for line in otlp_lines.read_text().splitlines()]
    pretty = write(tmp_path, "one.json", json.dumps(requests[0], indent=2))
    array = write(tmp_path, "all.json", json.dumps(requests))
    assert len(read_files([pretty]).traces()) == 1
    assert len(read_files([array]).traces()) == 2


def test_otlp_protobuf_and_gzip(tmp_path):
    """Binary requests are told by their content, compression by its magic number."""
    body = encode_request(rag_trace(random.Random(1), 1))
    for name, content in (("t.pb", body), ("t.pb.gz", gzip.compress(body))):
        reading = read_files([write(tmp_path, name, content)])
        assert len(reading.batches[0].spans) == RAG_SPANS + OTHER_SPANS


def test_one_trace_over_several_files_is_one_trace(tmp_path):
    """Rotated files do not split a run."""
    spans = rag_trace(random.Random(1), 1)
    paths = [
        write(tmp_path, f"{number}.pb", encode_request(part))
        for number, part in enumerate((spans[:3], spans[3:]))
    ]
    (trace,) = read_files(paths).traces()
    assert len(trace.spans) == RAG_SPANS


def test_run_records_in_all_formats(tmp_path):
    """JSON lines, a JSON array, CSV with JSON in list columns, and parquet say the same."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        key: [json.dumps(value) if isinstance(value, list) else value]
        for key, value in RECORD.items()
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "r.parquet")
    header = ",".join(RECORD)
    row = ",".join(
        '"' + (json.dumps(v) if isinstance(v, list) else str(v)).replace('"', '""') + '"'
        for v in RECORD.values()
    )
    paths = [
        write(tmp_path, "r.jsonl", json.dumps(RECORD) + "\n"),
        write(tmp_path, "r.json", json.dumps([RECORD])),
        write(tmp_path, "r.csv", f"{header}\n{row}\n"),
        tmp_path / "r.parquet",
    ]
    runs = [read_files([path]).runs for path in paths]
    assert [len(group) for group in runs] == [1, 1, 1, 1]
    assert len({repr(group[0]) for group in runs}) == 1
    assert runs[0][0].run_id == "r1"


def test_a_broken_line_is_named_and_the_rest_is_read(tmp_path, otlp_lines):
    """Bad input loses nothing else."""
    lines = otlp_lines.read_text().splitlines()
    path = write(tmp_path, "broken.jsonl", "\n".join([lines[0], '{"resourceSpans": 5}', lines[1]]))
    reading = read_files([path])
    assert len(reading.traces()) == 2
    assert len(reading.problems) == 1
    assert "broken.jsonl, line 2" in reading.problems[0]


def test_a_broken_record_names_its_line(tmp_path):
    """A record that cannot be read costs itself."""
    bad = RECORD | {"id": "r2", "retrieved": "not a list"}
    path = write(tmp_path, "r.jsonl", f"{json.dumps(RECORD)}\n{json.dumps(bad)}\n")
    reading = read_files([path])
    assert len(reading.runs) == 1
    assert "line 2" in reading.problems[0]
    assert "r2" in reading.problems[0]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.json", '{"foo": 1}', "keys: foo"),
        ("x.json", "[1, 2]", "no JSON object"),
        ("x.json", '{"resourceLogs": []}', "logs or metrics"),
        ("x.har", '{"log": {"entries": [1]}}', "entry 1 is damaged"),
        ("x.mitm", "4096:{...", "flow 1 is damaged"),
        ("x.bin", b"\x00\x01\x02\x03", "no OTLP"),
        ("x.jsonl", '{"resourceSpans": [', "x.jsonl"),
        ("x.gz", b"\x1f\x8b\x08broken", "damaged gzip"),
        ("x.json", "[" * 100_000, "no JSON object"),
    ],
)
def test_a_file_of_another_kind_says_what_it_is_not(tmp_path, name, content, says):
    """One sentence with the file's name, never a stack trace."""
    with pytest.raises(BadInput, match=says) as caught:
        read_files([write(tmp_path, name, content)])
    assert name in str(caught.value)


def test_an_empty_file_is_a_problem_not_a_crash(tmp_path):
    """Nothing recorded yet is a common state of a file."""
    reading = read_files([write(tmp_path, "empty.jsonl", "\n")])
    assert reading.problems == [f"{tmp_path / 'empty.jsonl'} is empty"]


def test_a_missing_file_is_named(tmp_path):
    """So is a folder."""
    with pytest.raises(BadInput, match="cannot read"):
        read_files([tmp_path / "none.jsonl"])
    with pytest.raises(BadInput, match="cannot read"):
        read_files([tmp_path])


def test_a_file_that_cannot_be_read_does_not_cost_the_others(tmp_path, otlp_lines):
    """Of several files the good ones are judged, and the bad one is named."""
    bad = write(tmp_path, "notes.txt", "just words")
    reading = read_files([otlp_lines, bad, tmp_path / "none.jsonl"])
    assert len(reading.traces()) == 2
    assert [problem for problem in reading.problems if "notes.txt" in problem]
    assert [problem for problem in reading.problems if "none.jsonl" in problem]


def test_long_csv_fields_are_read(tmp_path):
    """Prompts are longer than the csv module's own limit."""
    row = f'r1,"When does it leave?","{"x " * 100_000}",At 9.\n'
    path = write(tmp_path, "long.csv", "id,question,prompt,answer\n" + row)
    assert len(read_files([path]).runs) == 1


def test_null_in_a_list_column_is_recorded_as_missing(tmp_path):
    """An empty field was not recorded; null was recorded as missing."""
    path = write(tmp_path, "null.csv", "id,question,answer,retrieved\nr1,When?,At 9.,null\n")
    reading = read_files([path])
    assert reading.problems == []
    assert not reading.runs[0].retrievers[0].chunks.usable


def test_a_csv_without_known_columns_is_named(tmp_path):
    """A file without a header would otherwise be an empty success."""
    with pytest.raises(BadInput, match="no column of a run record"):
        read_files([write(tmp_path, "r.csv", "r1,When?,At 9.\nr2,Why?,So.\n")])


def test_a_byte_order_mark_is_no_content(tmp_path, otlp_lines):
    """Some editors put one in front."""
    path = write(tmp_path, "bom.jsonl", b"\xef\xbb\xbf" + otlp_lines.read_bytes())
    assert len(read_files([path]).traces()) == 2


@pytest.mark.parametrize("wanted", [ord("{"), ord("[")])
def test_protobuf_that_looks_like_json_is_read(tmp_path, wanted):
    """A message begins with a line break and may have the length of a brace."""
    message = ResourceSpans()
    message.scope_spans.add().spans.append(span_message())
    message.resource.attributes.append(key_value("pad", ""))
    missing = wanted - message.ByteSize()
    message.resource.attributes[0].value.string_value = "x" * missing
    while message.ByteSize() > wanted:
        value = message.resource.attributes[0].value
        value.string_value = value.string_value[1:]
    body = ExportTraceServiceRequest(resource_spans=[message]).SerializeToString()
    assert body[:2] == bytes([0x0A, wanted])
    reading = read_files([write(tmp_path, "r.pb", body)])
    assert (len(reading.traces()), reading.problems) == (1, [])


def test_odd_digits_in_a_csv_cost_their_row_alone(tmp_path, otlp_lines):
    """What looks like a number and is none is named, and other files are read."""
    rows = "id,question,answer,top_k,turn\nr1,When?,At 9.,\u00b2,1\nr2,When?,At 9.,3,null\n"
    path = write(tmp_path, "odd.csv", rows + f"r3,When?,At 9.,{'9' * 5000},1\n")
    reading = read_files([otlp_lines, path])
    assert len(reading.traces()) == 2
    assert [run.run_id for run in reading.runs] == ["r2"]
    assert len(reading.problems) == 2


def test_problems_of_another_file_are_kept(tmp_path, otlp_lines):
    """Also when its name contains that of a file that turned out well."""
    bad = write(tmp_path, "x.bad.jsonl", otlp_lines.read_text() + "nonsense\n")
    body = encode_request(rag_trace(random.Random(1), 1))
    good = write(tmp_path, "x", body)
    assert read_files([bad, good]).problems == read_files([bad]).problems != []


@pytest.fixture
def letters(tmp_path):
    """A trace and log records that a destination refused, as the service keeps them."""
    kept = DeadLetterFile(tmp_path / "dead", 10**9, ManualClock())
    trace = encode_payload(rag_trace(random.Random(1), 1), (("tenant", "a"),))
    assert kept.put("backend", trace, "http_400", "bad")
    assert kept.put("backend", Payload(Signal.LOGS, b"\x0a\x00", 1), "http_400", "bad")
    return tmp_path / "dead" / "backend.jsonl"


def test_spans_in_dead_letters_are_read(letters):
    """What a destination refused can be judged; what holds no spans is named."""
    reading = read_files([letters])
    assert len(reading.batches[0].spans) == RAG_SPANS + OTHER_SPANS
    assert len(reading.traces()) == 1
    assert reading.problems == [f"{letters}, line 2: a dead letter of logs, which hold no spans"]


def test_dead_letters_are_kept_as_they_are_to_be_sent(letters):
    """Every signal, with body, headers and count."""
    reading = read_files([letters], to_send=True)
    trace, logs = reading.requests
    assert trace == encode_payload(rag_trace(random.Random(1), 1), (("tenant", "a"),))
    assert logs == Payload(Signal.LOGS, b"\x0a\x00", 1)
    assert (reading.batches, reading.problems) == ([], [])
    assert len(spans_of(trace).spans) == RAG_SPANS + OTHER_SPANS


def test_a_damaged_dead_letter_costs_itself(letters):
    """Its line is named, and the others are read."""
    with letters.open("a") as file:
        file.write('{"exporter": "b", "signal": "traces", "reason": "x", "body": "%%%"}\n')
    for to_send in (False, True):
        reading = read_files([letters], to_send=to_send)
        assert len(reading.requests) == (2 if to_send else 1)
        assert "line 3: no dead letter" in reading.problems[-1]


def test_records_are_kept_beside_their_runs_when_asked_for(tmp_path):
    """They alone hold labels; a record that cannot be read has no run either."""
    labelled = {**RECORD, "labels": {"retriever": {"faulty": True}}}
    path = write(
        tmp_path, "runs.jsonl", f'{json.dumps(labelled)}\n{{"question": 1}}\n{json.dumps(RECORD)}\n'
    )
    reading = read_files([path], keep_records=True)
    assert [record.get("labels") for record in reading.records] == [labelled["labels"], None]
    assert len(reading.records) == len(reading.runs)
    assert read_files([path]).records == []


def test_labels_in_a_column_are_parsed(tmp_path):
    """As any other JSON of a CSV file."""
    path = write(
        tmp_path, "runs.csv", 'id,question,labels\nr1,When?,"{""retriever"": {""faulty"": true}}"\n'
    )
    (record,) = read_files([path], keep_records=True).records
    assert record["labels"] == {"retriever": {"faulty": True}}

"""The service with redaction: what was planted comes out nowhere, and verdicts stay the same."""

import base64
import json
import re

import httpx2
import pytest
from delivery import FAST, assert_conserved, dead_letters, post
from fault_answers import refuse
from fault_backends import fault_backend
from judge_server import JudgeServer
from personal_data import MAILS, REDACTION, leaks, planted_logs, planted_metrics, planted_trace
from samples import span_message, wire_span
from services import collect, running_sink, serving, wait_until

from otel_raglog.receive.span import decode_span
from otel_raglog_exporters.grouping import encode_request

HOLD = {"quiet_seconds": 0.3, "orphan_quiet_seconds": 0.6, "escalated_seconds": 5.0}
KEY = "correct-horse-battery-staple-0123"


def redaction(folder, **options):
    """Return the options of redaction, with a key in a file."""
    file = folder / "redaction.key"
    file.write_text(KEY)
    return {**REDACTION, "key_file": str(file), **options}


def judge(server):
    """Return the options that ask ``server`` about every run."""
    return {"when": "always", "endpoint": server.url_anthropic}


def test_what_is_planted_reaches_no_destination_no_llm_and_no_dead_letter(tmp_path):
    """44 addresses in as many kinds of place, and more, in all signals; HTTP, gRPC, file, console and a refusing backend."""
    trace = planted_trace()
    requests = {
        "traces": encode_request(trace),
        "logs": planted_logs(),
        "metrics": planted_metrics(),
    }
    assert len(MAILS) == 44
    assert all(leaks(body) for body in requests.values())
    file = tmp_path / "out.jsonl"
    with (
        JudgeServer() as server,
        fault_backend("http") as http,
        fault_backend("grpc") as grpc,
        fault_backend("http") as refusing,
    ):
        refusing.answer = refuse(400)
        exporters = {
            "http": {"kind": "otlp_http", "endpoint": http.endpoint},
            "grpc": grpc.endpoint,
            "refusing": {"kind": "otlp_http", "endpoint": refusing.endpoint},
            "file": {"kind": "file", "path": str(file)},
            "console": {"kind": "console"},
        }
        options = {"judge": judge(server), "hold": HOLD, "sending": FAST}
        with serving(tmp_path, exporters, redaction=redaction(tmp_path), **options) as served:
            for signal, body in requests.items():
                assert post(served, body, signal).status_code == 200
            for signal, count in (("traces", len(trace)), ("logs", 3), ("metrics", 2)):
                for backend in (http, grpc):
                    backend.wait_for(count, signal)
                for name in exporters:
                    assert_conserved(served, name, signal=signal)
            wait_until(lambda: len(dead_letters(tmp_path, "refusing")) >= 3)
            wait_until(lambda: file.read_text().count("\n") >= 3)
            assert served.metric("raglog_redaction_failures_total") == 0
            metrics = httpx2.get(f"http://{served.addresses['metrics']}/metrics").content
            assert served.stop() == 0
        assert server.count() == 5
        asked = json.dumps([request.body for request in server.requests], ensure_ascii=False)
        assert "[redacted]" in asked
        assert leaks(asked.encode()) == []
        for backend in (http, grpc, refusing):
            for request in backend.requests:
                assert leaks(request.body) == [], request.signal
        letters = (tmp_path / "journal" / "dead-letters" / "refusing.jsonl").read_bytes()
    written = {
        "file": file.read_bytes(),
        "console and log": (tmp_path / "serve.log").read_bytes(),
        "dead letters": letters,
        "metrics": metrics,
    }
    for letter in dead_letters(tmp_path, "refusing"):
        written["dead letter's body"] = base64.b64decode(str(letter["body"]))
        assert leaks(written["dead letter's body"]) == []
    assert {name: leaks(data) for name, data in written.items() if leaks(data)} == {}


def verdicts(spans):
    """Return what the detector says on each span, and which spans it says it on."""
    said = {}
    for span in spans:
        decoded = decode_span(span)
        own = {
            key: value
            for key, value in decoded.attributes.items()
            if key.startswith("raglog.")
            and key
            not in {"raglog.explanation", "raglog.analysis.duration_ms", "raglog.session.id"}
        }
        said[span.span_id] = own
    return said


def served_spans(folder, count, trace, **options):
    """Return what one destination gets of a trace."""
    folder.mkdir()
    with (
        running_sink() as sink,
        serving(folder, {"sink": sink.endpoint}, hold=HOLD, **options) as served,
    ):
        served.send(trace)
        spans = list(collect(sink, count))
        assert served.stop() == 0
    return spans


def test_local_verdicts_are_those_of_the_true_text(tmp_path):
    """Verdicts, probabilities, types and warnings are equal, to the last digit."""
    trace = planted_trace(2)
    plain = served_spans(tmp_path / "plain", len(trace), trace)
    redacted = served_spans(
        tmp_path / "redacted",
        len(trace),
        trace,
        # all content is hidden: nothing could be judged from what leaves
        redaction=redaction(tmp_path, mask_keys=["*.content", "*.value", "*.text", "user.name"]),
    )
    assert verdicts(plain) == verdicts(redacted)
    assert any("raglog.fault.probability" in own for own in verdicts(redacted).values())
    top = next(decode_span(span) for span in redacted if not span.parent_id)
    assert top.attributes["input.value"] == "[redacted]"
    assert top.attributes["raglog.session.id"] == top.attributes["session.id"]
    assert re.fullmatch(r"\[redacted:[0-9a-f]{32}\]", top.attributes["session.id"])


def test_a_restart_sends_the_same_bytes(tmp_path):
    """What was journalled before a kill is redacted as it would have been then."""
    trace = planted_trace(3)
    options = {"hold": HOLD, "sending": FAST, "redaction": redaction(tmp_path)}
    with fault_backend("grpc") as first, fault_backend("grpc") as second:
        second.down()
        exporters = {"a": first.endpoint, "b": second.endpoint}
        with serving(tmp_path, exporters, **options) as served:
            served.send(trace)
            first.wait_for(len(trace), "traces")
            served.process.kill()
            served.process.wait()
        second.up()
        with serving(tmp_path, exporters, **options):
            second.wait_for(len(trace), "traces")
        assert {item.raw for item in first.items("traces")} == {
            item.raw for item in second.items("traces")
        }
        assert not any(leaks(request.body) for request in (*first.requests, *second.requests))


def test_what_cannot_be_redacted_goes_out_without_content_and_is_counted(tmp_path):
    """JSON that nobody can parse may hide what is looked for: closed, and nothing else is hurt."""
    deep = '{"zq.":' * 200_000 + "1" + "}" * 200_000
    bad = wire_span(span_message(b"\x01" * 8, name="zq.", attributes={"http.deep": deep}))
    good = wire_span(span_message(b"\x02" * 8, name="fine", attributes={"http.a": "b"}))
    options = redaction(tmp_path, mask_keys=["*.secret"])
    with (
        running_sink() as sink,
        serving(tmp_path, {"sink": sink.endpoint}, hold=HOLD, redaction=options) as served,
    ):
        served.send([bad, good])
        spans = {span.span_id: decode_span(span) for span in collect(sink, 2)}
        labels = {"exporter": "sink", "signal": "traces"}
        assert served.metric("raglog_redaction_failures_total", **labels) == 1
        assert_conserved(served, "sink")
        assert served.stop() == 0
    stripped, whole = spans[b"\x01" * 8], spans[b"\x02" * 8]
    assert stripped.name == "[redacted]"
    assert stripped.attributes["raglog.redaction.failed"] is True
    assert "http.deep" not in stripped.attributes
    assert (whole.name, whole.attributes["http.a"]) == ("fine", "b")


def test_without_redaction_every_byte_passes(tmp_path):
    """The exception is configured: nobody gets it unasked."""
    trace = planted_trace(4)
    spans = served_spans(tmp_path / "plain", len(trace), trace)
    sent = {span.span_id: span.raw for span in trace}
    assert all(span.raw.startswith(sent[span.span_id]) for span in spans)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hash_keys": ["user.id"]}, "redaction.key_file"),
        ({"hash_document_ids": True, "key_from": "NO_SUCH_KEY"}, "redaction.key_from"),
        ({"patterns": ["mail"]}, "redaction.patterns"),
        ({"expressions": ["(?=x)"]}, "redaction.expressions"),
    ],
)
def test_wrong_options_are_named_at_the_start(tmp_path, options, named):
    """The service does not start, rather than to send what should have been redacted."""
    exporters = {"console": {"kind": "console"}}
    with serving(tmp_path, exporters, wait=False, redaction=options) as served:
        assert served.process.wait(60) == 2
        assert named in served.log.read_text()

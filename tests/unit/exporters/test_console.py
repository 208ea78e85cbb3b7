"""The console prints a line per run, and one per faulty step."""

from __future__ import annotations

import io

import pytest
from inline_snapshot import snapshot

from otel_raglog.errors import Rejected
from otel_raglog.model import Origin, RawSpan
from otel_raglog_exporters.console import ConsoleConfig, ConsoleExporter
from otel_raglog_exporters.grouping import encode_payload


@pytest.fixture
def printed():
    """Return a function that exports spans and returns what was printed."""

    def export(*spans, **options):
        stream = io.StringIO()
        exporter = ConsoleExporter(ConsoleConfig(**options), stream)
        assert exporter.export(encode_payload(spans)).accepted == len(spans)
        return stream.getvalue()

    return export


@pytest.fixture
def faulty_run(span):
    """Return the spans of a run whose retriever is faulty."""
    return (
        span(1, http__method="GET"),
        span(
            2,
            raglog__stage="retriever",
            raglog__verdict="faulty",
            raglog__fault__probability=0.931,
            raglog__fault__types=["no_relevant_chunk"],
            raglog__explanation="none of the 4 chunks names the [year]",
        ),
        span(3, raglog__stage="generator", raglog__verdict="ok"),
        span(
            4,
            raglog__run__id="ab-2",
            raglog__run__verdict="faulty",
            raglog__run__faulty_stages=["retriever"],
            raglog__run__complete=True,
        ),
    )


def test_a_faulty_run(printed, faulty_run):
    """The run's verdict names its stages; each faulty step says why."""
    assert printed(*faulty_run) == snapshot("""\
  retriever 0.93 no_relevant_chunk: none of the 4 chunks names the [year]
run ab-2 faulty: retriever  [shop]
""")


def test_runs_that_were_not_judged_or_are_incomplete(printed, span):
    """The reason stands on the line."""
    spans = [
        span(1, raglog__run__verdict="unknown", raglog__skip_reason="no_question"),
        span(
            2,
            raglog__run__verdict="ok",
            raglog__run__complete=False,
            raglog__run__completion="max_wait",
        ),
    ]
    assert printed(*spans) == snapshot("""\
run abababababababababababababababab unknown  [shop]  not judged: no_question
run abababababababababababababababab ok  [shop]  incomplete: max_wait
""")


def test_only_faulty_runs_when_asked(printed, span, faulty_run):
    """The option leaves out what needs no attention."""
    text = printed(span(9, raglog__run__verdict="ok"), *faulty_run, only_faulty=True)
    assert "ok" not in text
    assert "faulty" in text


def test_text_from_outside_cannot_steer_the_terminal(printed, span):
    """Control characters do not reach the terminal, and markup is no markup."""
    text = printed(
        span(
            1,
            raglog__verdict="faulty",
            raglog__stage="\x1b[2J[red]x",
            raglog__explanation="a\r\nrun fake ok",
        )
    )
    assert "\x1b" not in text
    assert "[red]x" in text
    assert len(text.splitlines()) == 1


def test_spans_that_cannot_be_read_are_taken_silently(printed):
    """The console is for people; it refuses nothing."""
    for origin in (Origin(b"\xff", b""), Origin(b"", b"")):
        assert printed(RawSpan(origin, b"\xffraglog.")) == ""


def test_an_unreadable_span_hides_no_other(printed, span, faulty_run):
    """What can be read is printed."""
    odd = RawSpan(Origin(b"", b""), b"\xff")
    assert printed(odd, *faulty_run) == printed(*faulty_run)


def test_logs_and_metrics_are_a_line_each(logs, metrics):
    """The console says what came by, and how much of it."""
    stream = io.StringIO()
    exporter = ConsoleExporter(ConsoleConfig(), stream)
    assert exporter.export(logs("secret", "words")).accepted == 2
    assert exporter.export(metrics(2, 1)).accepted == 6
    assert stream.getvalue() == snapshot("""\
logs: 2 log records
metrics: 6 data points
""")


def test_a_closed_stream_is_a_refusal(span):
    """When the terminal is gone, nobody will read the lines later."""
    stream = io.StringIO()
    exporter = ConsoleExporter(ConsoleConfig(), stream)
    stream.close()
    with pytest.raises(Rejected) as refusal:
        exporter.export(encode_payload([span(1, raglog__run__verdict="ok")]))
    assert refusal.value.reason == "console_gone"

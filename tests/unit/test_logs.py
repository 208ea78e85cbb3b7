"""What may and may not stand in a log line."""

import errno
import io
import json

import pytest
import structlog

from otel_raglog.logs import configure_logs


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(params=[io.StringIO, Terminal])
def stream(request):
    """Logs into a stream; the configuration is put back afterwards."""
    stream = request.param()
    before = structlog.get_config()
    configure_logs("info", stream)
    yield stream
    structlog.configure(**before)


def log_failure(text):
    """Log an exception raised where ``text`` is a local variable."""
    secret_document = text
    try:
        raise ValueError(len(secret_document))
    except ValueError:
        structlog.get_logger().exception("analysis failed")


def test_a_traceback_shows_no_local_variables(stream):
    """A defect must not copy documents into the logs."""
    log_failure("the annual leave allowance is 27 days")
    assert "analysis failed" in stream.getvalue()
    assert "ValueError" in stream.getvalue()
    assert "annual leave" not in stream.getvalue()


def test_lines_below_the_level_are_not_written(stream):
    """The option log_level holds."""
    structlog.get_logger().debug("quiet")
    assert stream.getvalue() == ""


def test_lines_for_machines_are_json():
    """Away from a terminal each line is one JSON object."""
    stream, before = io.StringIO(), structlog.get_config()
    configure_logs("info", stream)
    structlog.get_logger().info("ready", grpc="127.0.0.1:4317")
    structlog.configure(**before)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["level"], line["grpc"]) == ("ready", "info", "127.0.0.1:4317")


class Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, _text):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("broken", [Full(), io.StringIO()])
def test_a_line_that_cannot_be_written_is_lost_and_costs_nothing_else(broken):
    """The disk that is full is often the one that the logs are on."""
    if not isinstance(broken, Full):
        broken.close()  # as the reader of a pipe may be
    before = structlog.get_config()
    isatty, broken.isatty = broken.isatty, lambda: False
    configure_logs("info", broken)
    try:
        structlog.get_logger().error("the disk is full")
    finally:
        broken.isatty = isatty
        structlog.configure(**before)

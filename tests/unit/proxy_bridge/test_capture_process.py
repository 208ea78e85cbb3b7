"""The process that works for the add-on."""

import io
import json
import logging

from bridge_traffic import Sidecar, chat_call, running_server
from ports import free_port

from otel_raglog_proxy_bridge.addon_options import OPTIONS
from otel_raglog_proxy_bridge.capture_process import _logging_to, work
from otel_raglog_proxy_bridge.frames import Begun, Event, Forgotten, frame_of, headed
from otel_raglog_proxy_bridge.model import Side


def worked(port: int, *events: Event, **options: object) -> tuple[int, list[list[object]]]:
    """Return the exit status for some events, and the lines that were written."""
    values = {option.name: option.default for option in OPTIONS}
    values |= {"raglog_endpoint": f"http://127.0.0.1:{port}", **options}
    sent = headed(values) + b"".join(part for event in events for part in frame_of(event))
    out = io.StringIO()
    status = work(io.BytesIO(sent), out)
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def test_events_become_spans():
    """When its input ends, everything has been sent, and the last line says what it was."""
    sidecar = Sidecar()
    with running_server(sidecar.respond) as port:
        status, lines = worked(
            port,
            Begun("a", 1, Side.OUTBOUND),
            chat_call("a"),
            Begun("f", 1, Side.FRONT),
            Forgotten("f"),
        )
    assert status == 0
    assert "Because." in json.dumps(sidecar.spans)
    (kind, counts) = lines[-1]
    assert (kind, counts["calls"], counts["spans_sent"]) == ("counts", 1, len(sidecar.spans))


def test_log_records_are_lines():
    """What is logged comes out with its level, for the proxy to log."""
    _, lines = worked(free_port(), chat_call("a"))
    warnings = [message for kind, level, message in lines[:-1] if (kind, level) == ("log", 30)]
    assert len(warnings) == 1
    assert "no answer" in warnings[0]
    assert lines[-1][1]["spans_dropped_shutdown"] > 0


def test_a_wrong_start():
    """Without options, or with wrong ones, it ends with an error."""
    assert work(io.BytesIO(b""), io.StringIO()) == 2
    status, lines = worked(1, raglog_quiet_seconds="soon")
    assert status == 2
    assert lines[0][2].startswith("raglog: raglog_quiet_seconds: ")


def test_a_reader_that_is_gone():
    """Lines that nobody reads are no error."""
    out = io.StringIO()
    out.close()
    values = {option.name: option.default for option in OPTIONS}
    assert work(io.BytesIO(headed(values)), out) == 0


def test_log_records_hold_no_secret():
    """Other packages log URLs with keys, and exceptions with whatever they saw."""
    out = io.StringIO()
    with _logging_to(out):
        logging.getLogger("httpx").info("POST https://h/a?api_key=%s", "zq8vw-value")
        try:
            raise ValueError("zq8vw")
        except ValueError:
            logging.getLogger("x").exception("failed")
    assert "zq8vw" not in out.getvalue()
    assert len(out.getvalue().splitlines()) == 2

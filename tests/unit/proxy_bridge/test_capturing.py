"""Worker and sender together."""

import json

from bridge_traffic import Sidecar, chat_call, running_server

from otel_raglog_proxy_bridge.addon_options import OPTIONS, read_settings
from otel_raglog_proxy_bridge.capturing import Capturing
from otel_raglog_proxy_bridge.model import Side


def test_calls_become_spans():
    """A call that began and ended arrives as spans; one that was forgotten does not."""
    sidecar = Sidecar()
    with running_server(sidecar.respond) as port:
        values = {option.name: option.default for option in OPTIONS}
        values["raglog_endpoint"] = f"http://127.0.0.1:{port}"
        capturing = Capturing(read_settings(values))
        capturing.begin("a", 1, Side.OUTBOUND)
        capturing.begin("b", 1, Side.OUTBOUND)
        capturing.put(chat_call("a"))
        capturing.forget("b")
        capturing.start()
        capturing.close(20)
    assert "Because." in json.dumps(sidecar.spans)
    counts = capturing.counts
    assert (counts["calls"], counts["runs"]) == (1, 1)
    assert counts["spans_sent"] == len(sidecar.spans)
    assert counts["spans_pending"] == 0

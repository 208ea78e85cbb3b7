"""Verdicts from a running service to the API of a backend."""

import json
import random

from rag_traces import rag_trace
from services import serving, wait_until
from werkzeug import Response


def test_every_run_reaches_a_webhook_that_was_down_at_first(tmp_path, httpserver):
    """Each of them once it is back, with the id that it had, and the spans' own way is not held up."""
    answers = {"down": True}

    def hook(_request):
        return Response("busy", 503, {"Retry-After": "0"}) if answers["down"] else Response("", 204)

    httpserver.expect_request("/hook", method="POST").respond_with_handler(hook)
    exporters = {
        "pager": {"kind": "webhook", "endpoint": httpserver.url_for("/hook"), "verdicts": "all"},
        "spans": {"kind": "file", "path": str(tmp_path / "spans.jsonl")},
    }
    source = random.Random(3)
    traces = [rag_trace(source, number) for number in range(5)]
    retry = {"initial_backoff_seconds": 0.1, "max_backoff_seconds": 0.2}
    with serving(tmp_path, exporters, sending=retry, analysis={"checks": ["rules"]}) as served:
        served.send([span for trace in traces for span in trace], "otlp_http")
        sent = sum(map(len, traces))
        forwarded = "raglog_spans_forwarded_total"
        wait_until(lambda: served.metric(forwarded, exporter="spans") == sent)
        wait_until(lambda: len(httpserver.log) > 1)
        assert served.metric(forwarded, exporter="pager") < sent
        answers["down"] = False
        wait_until(lambda: served.metric(forwarded, exporter="pager") == sent)
        assert served.stop() == 0
    taken = [request for request, answer in httpserver.log if answer.status_code == 204]
    runs = {json.loads(request.data)["trace_id"] for request in taken}
    assert runs == {trace[0].trace_id.hex() for trace in traces}
    assert len({request.headers["webhook-id"] for request in taken}) == len(traces)

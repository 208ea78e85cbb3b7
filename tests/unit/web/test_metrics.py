"""What a scraper gets."""

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from samples import make_report
from starlette.testclient import TestClient

from otel_raglog.telemetry import RunMetrics
from otel_raglog.web.metrics import metrics_app


def scrape(accept):
    """Return the answer to a scrape after one exemplar run."""
    registry = CollectorRegistry()
    RunMetrics(registry).count(make_report(), exemplar=True)
    return TestClient(metrics_app(registry)).get("/metrics", headers={"accept": accept})


def test_openmetrics_has_exemplars():
    """A scraper that takes OpenMetrics gets trace ids to jump to."""
    answer = scrape("application/openmetrics-text; version=1.0.0")
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    sample = next(s for s in families["raglog_runs"].samples if s.name == "raglog_runs_total")
    assert sample.exemplar.labels == {"trace_id": make_report().run.trace_id.hex()}


def test_plain_text_has_none():
    """The older format cannot carry them and stays valid."""
    answer = scrape("text/plain")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "trace_id" not in answer.text
    assert 'raglog_runs_total{service="shop",verdict="ok"} 1.0' in answer.text

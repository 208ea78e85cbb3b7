"""The API as a part of the service: its options, its port and its gauges."""

import httpx2
import pytest
from kept_runs import report
from prometheus_client import CollectorRegistry
from services import wait_until

from otel_raglog.clock import SystemClock
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.errors import ConfigError
from otel_raglog.options import Api
from otel_raglog.receive.auth import Tokens
from otel_raglog.web.api.service import ApiService


@pytest.fixture
def make():
    """Make one and stop it in the end."""
    made = []

    def make_one(**options):
        registry = CollectorRegistry()
        service = ApiService(
            Api(port=options.pop("port", 0), **options), Tokens(), BUILT_IN, SystemClock(), registry,
            epoch="ab",
        )  # fmt: skip
        made.append(service)
        return service, registry

    yield make_one
    for service in made:
        service.stop()


def test_what_is_told_can_be_read(make):
    """Over a real port; the gauges tell of it."""
    service, registry = make(content=True)
    address = service.start()
    service.keeping.add([report(1)], {}, size_bytes=10)
    wait_until(lambda: registry.get_sample_value("raglog_api_runs") == 1)
    (run,) = httpx2.get(f"http://{address}/api/runs").json()["runs"]
    assert run["question"] == "When does the night ferry leave?"
    assert registry.get_sample_value("raglog_api_bytes") > 1_000
    assert registry.get_sample_value("raglog_api_dropped_reports") == 0


def test_texts_are_shown_only_when_that_is_asked_for(make):
    """Content is off by default."""
    service, registry = make()
    address = service.start()
    service.keeping.add([report(1)], {}, size_bytes=10)
    wait_until(lambda: registry.get_sample_value("raglog_api_runs") == 1)
    trace_id = (1).to_bytes(16, "big").hex()
    assert "ferry" not in httpx2.get(f"http://{address}/api/runs/{trace_id}").text


def test_the_options_bound_what_is_kept(make):
    """By number here."""
    service, registry = make(max_runs=2)
    service.start()
    for number in range(1, 6):
        service.keeping.add([report(number)], {}, size_bytes=1)
    wait_until(lambda: not service.keeping.waiting_bytes)
    assert registry.get_sample_value("raglog_api_runs") == 2


def test_a_port_in_use_names_the_option(make):
    """And nothing is left running."""
    address = make()[0].start()
    other, _ = make(port=int(address.rpartition(":")[2]))
    with pytest.raises(ConfigError, match=r"api\.port: cannot listen on"):
        other.start()

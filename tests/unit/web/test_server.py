"""An application on a thread of its own."""

from __future__ import annotations

import threading

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from otel_raglog.errors import ConfigError
from otel_raglog.web.server import HttpServer


@pytest.fixture
def app() -> Starlette:
    return Starlette(routes=[Route("/", lambda _: PlainTextResponse("hello"))])


def test_it_answers_once_it_has_started_and_not_after_it_stopped(app: Starlette) -> None:
    """Start returns when requests are answered; stop leaves no thread behind."""
    server = HttpServer(app, "127.0.0.1", 0)
    server.start()
    url = f"http://127.0.0.1:{server.port}/"
    assert httpx2.get(url).text == "hello"
    server.stop(5)
    assert not any(thread.name == f"http-{server.port}" for thread in threading.enumerate())
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url)


def test_a_port_in_use_is_a_config_error(app: Starlette) -> None:
    """It names the option and the address."""
    first = HttpServer(app, "127.0.0.1", 0)
    first.start()
    second = HttpServer(app, "127.0.0.1", first.port, option="metrics.port")
    with pytest.raises(ConfigError, match=f"metrics.port: .*127.0.0.1:{first.port}"):
        second.start()
    first.stop(5)


def test_stopping_before_starting_does_nothing(app: Starlette) -> None:
    """So that a start that failed half-way can be undone."""
    HttpServer(app, "127.0.0.1", 0).stop(1)

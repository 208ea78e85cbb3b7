"""What all tests of commands share."""

import sys

import pytest
import structlog


@pytest.fixture(autouse=True)
def logs_on_standard_error():
    """As ``cli.run`` has it: what a command prints on standard output is its result alone."""
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def state_of_its_own(tmp_path, monkeypatch):
    """What is kept between calls, such as what an LLM cost, is kept in the test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OTEL_RAGLOG_BRIDGE__MAPPINGS", str(tmp_path / "stored mappings"))

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

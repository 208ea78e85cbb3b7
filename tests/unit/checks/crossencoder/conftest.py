"""One reader for all tests of cross-encoder checks."""

import pytest

from otel_raglog.checks.crossencoder.reader import BundledReader


@pytest.fixture(scope="session")
def reader() -> BundledReader:
    """The bundled model, loaded once."""
    return BundledReader(workers=2)

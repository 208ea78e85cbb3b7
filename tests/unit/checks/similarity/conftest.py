"""One encoder for all tests of similarity checks."""

import pytest

from otel_raglog.checks.similarity.encoder import MiniLmEncoder


@pytest.fixture(scope="session")
def encoder() -> MiniLmEncoder:
    """The bundled model, loaded once."""
    return MiniLmEncoder(workers=2)

"""Drift of embedded texts, on a good and a bad run."""

from handbook_runs import QUESTION, by_name, make_run, number

from otel_raglog.checks.similarity.embedder import EmbedderSimilarity
from otel_raglog.checks.similarity.encoder import MiniLmEncoder


def test_the_embedded_text_is_compared_with_the_nearest_query(encoder: MiniLmEncoder) -> None:
    """The worst text counts."""
    check = EmbedderSimilarity(encoder)
    good = by_name(check, make_run(embedded=[QUESTION]))
    bad = by_name(check, make_run(embedded=[QUESTION, "best pizza recipes"]))
    name = "embedder.similarity"
    assert number(good, name) > 0.99 > 0.3 > number(bad, name)

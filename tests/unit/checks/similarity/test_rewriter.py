"""Drift of rewrites, on a good and a bad run."""

from handbook_runs import by_name, make_run, number

from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.checks.similarity.rewriter import RewriterSimilarity
from otel_raglog.model import RewriteKind


def test_a_rewrite_that_drifts_is_less_similar(encoder: MiniLmEncoder) -> None:
    """A paraphrase stays near, another subject does not."""
    check = RewriterSimilarity(encoder)
    good = by_name(check, make_run(rewrites=["Number of paid vacation days for full-time staff"]))
    bad = by_name(check, make_run(rewrites=["How often are laptops replaced?"]))
    name = "rewriter.best_similarity"
    assert number(good, name) > 0.6 > 0.4 > number(bad, name)


def test_keywords_keep_the_meaning_by_their_words(encoder: MiniLmEncoder) -> None:
    """They are less similar to a question by their form alone."""
    found_in = by_name(
        RewriterSimilarity(encoder), make_run(rewrites=["vacation days full-time employees"])
    )
    assert number(found_in, "rewriter.meaning_kept") == 1.0


def test_a_hypothetical_passage_is_not_compared(encoder: MiniLmEncoder) -> None:
    """HyDE answers the question instead of asking it."""
    run = make_run(rewrites=["They get forty days."], kind=RewriteKind.HYDE)
    measurements = by_name(RewriterSimilarity(encoder), run)
    assert all(m.value is None for m in measurements.values())


def test_a_condensed_follow_up_is_compared_with_its_conversation(encoder: MiniLmEncoder) -> None:
    """The follow-up alone says little."""
    options = {"rewrites": ["How long is parental leave in Austria?"], "kind": RewriteKind.CONDENSE}
    check = RewriterSimilarity(encoder)
    alone = by_name(check, make_run("And there?", **options))  # type: ignore[arg-type]
    told = by_name(
        check,
        make_run("And there?", history=[("user", "Parental leave in Austria?")], **options),  # type: ignore[arg-type]
    )
    name = "rewriter.best_similarity"
    assert number(told, name) > number(alone, name) + 0.3

"""The check ``judge.graded_generator``."""

from otel_raglog.checks.judge.answers import GradedGenerator
from otel_raglog.checks.judge.graded_generator import GradedGeneratorCheck

CHECK = GradedGeneratorCheck()


def test_each_confidence_is_a_share_of_the_generator() -> None:
    """From 0 to 100 becomes from 0 to 1, each by its own name."""
    given = {name: 10 * rank for rank, name in enumerate(GradedGenerator.model_fields)}
    values = CHECK.values(GradedGenerator.model_validate(given))
    assert values == {f"generator.graded_{name}": given[name] / 100 for name in given}
    assert tuple(sorted(values)) == tuple(sorted(CHECK.measures))
    assert len(values) == 6


def test_every_confidence_can_be_asked_with_yes_or_no() -> None:
    """And it needs an answer to ask about; the reply has no text to quote."""
    assert tuple(question.measurement for question in CHECK.questions) == CHECK.measures
    assert CHECK.needs_answer is True
    assert (
        CHECK.quotes(GradedGenerator.model_validate(dict.fromkeys(GradedGenerator.model_fields, 0)))
        == {}
    )

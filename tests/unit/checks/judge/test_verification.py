"""The check ``judge.verification``."""

from otel_raglog.checks.judge.answers import Verification
from otel_raglog.checks.judge.verification import VerificationCheck

CHECK = VerificationCheck()


def test_each_confidence_is_a_share_of_the_generator() -> None:
    """From 0 to 100 becomes from 0 to 1, each by its own name."""
    given = {name: 10 * rank for rank, name in enumerate(Verification.model_fields)}
    values = CHECK.values(Verification.model_validate(given))
    assert values == {f"generator.verified_{name}": given[name] / 100 for name in given}
    assert tuple(sorted(values)) == tuple(sorted(CHECK.measures))
    assert len(values) == 7


def test_every_confidence_can_be_asked_with_yes_or_no() -> None:
    """And it needs an answer to ask about; the reply has no text to quote."""
    assert tuple(question.measurement for question in CHECK.questions) == CHECK.measures
    assert CHECK.needs_answer is True
    assert (
        CHECK.quotes(Verification.model_validate(dict.fromkeys(Verification.model_fields, 0))) == {}
    )

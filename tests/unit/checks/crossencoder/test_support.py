"""The answer's sentences beside the context."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from handbook_runs import (
    ANSWER,
    HANDBOOK,
    QUESTION,
    FakeCrossEncoder,
    by_name,
    make_run,
    number,
)

from otel_raglog.checks.crossencoder.reader import BundledReader, Reading
from otel_raglog.checks.crossencoder.support import SupportReading

CHECK = SupportReading(FakeCrossEncoder())
GOOD = by_name(CHECK, make_run())
SUPPORT = ("supported", "supported_asked", "supported_whole")


class Spy(FakeCrossEncoder):
    """Keeps the pairs that it read."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        self.pairs += pairs
        return super().read(pairs)


class WithoutSpans(FakeCrossEncoder):
    """Tells what is supported, but not where an answer stands."""

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        return tuple(replace(each, spans=()) for each in super().read(pairs))


@pytest.mark.parametrize("name", [*SUPPORT, "likeliest_supported_gap"])
def test_an_invented_answer_is_less_supported(name: str) -> None:
    """Whatever stands beside the context: a sentence, the question with it, all of it."""
    bad = by_name(CHECK, make_run(answer="Directors receive golden parachutes each quarter."))
    assert number(GOOD, f"generator.{name}") > number(bad, f"generator.{name}")
    assert bad["generator.supported"].evidence == (
        "no passage of the context seems to support the answer"
    )


def test_the_worst_sentence_of_an_answer_counts() -> None:
    """One invented sentence among good ones."""
    mixed = by_name(CHECK, make_run(answer=f"{ANSWER} Directors obtain golden parachutes."))
    name = "generator.supported"
    assert number(mixed, name) < number(GOOD, name)
    assert "one of the answer's sentences" in mixed[name].evidence
    assert number(mixed, "generator.supported_asked") < number(GOOD, "generator.supported_asked")


def test_claims_are_read_alone_and_behind_the_question() -> None:
    """Each sentence both ways, and the whole answer behind it; the same for the likeliest answer."""
    spy = Spy()
    by_name(SupportReading(spy), make_run(answer="They get 25 days. Unused ones expire."))
    sentences = ("They get 25 days.", "Unused ones expire.")
    assert {text for text, _ in spy.pairs} == {
        QUESTION,
        *sentences,
        *(f"{QUESTION} {sentence}" for sentence in sentences),
        f"{QUESTION} {chr(10).join(sentences)}",
        f"{QUESTION} 25",
    }


def test_a_claim_is_read_beside_the_passage_that_answers_best() -> None:
    """Also when others have more of its words."""
    spy, claim = Spy(), "Managers and Anna Schmidt approve travel requests."
    by_name(SupportReading(spy), make_run(answer=claim))
    beside = {passage for text, passage in spy.pairs if text == claim}
    assert beside == {HANDBOOK[name] for name in ("remote", "expenses", "vacation")}


def test_a_model_without_spans_has_no_likeliest_answer_to_compare_with() -> None:
    """What is supported is measured all the same."""
    found = by_name(SupportReading(WithoutSpans()), make_run())
    for name in SUPPORT:
        assert found[f"generator.{name}"] == GOOD[f"generator.{name}"]
    gap = found["generator.likeliest_supported_gap"]
    assert gap.reason == "the model tells no likely answer"


def test_the_bundled_reader_sees_a_swapped_name(reader: BundledReader) -> None:
    """The stated one is better supported, by itself and beside the question."""
    check = SupportReading(reader)
    question = "Who answers questions about travel expenses?"
    stated = by_name(check, make_run(question, "Anna Schmidt answers questions in Finance."))
    swapped = by_name(check, make_run(question, "Peter Brandt answers questions in Finance."))
    for name in (*SUPPORT, "likeliest_supported_gap"):
        assert number(stated, f"generator.{name}") > number(swapped, f"generator.{name}")


def test_a_refusal_claims_nothing() -> None:
    """It has a reason instead of numbers."""
    found = by_name(CHECK, make_run(answer="I could not find this in the context."))
    assert {item.reason for item in found.values()} == {"the answer declines"}


def test_a_named_model_does_not_tell_what_is_supported() -> None:
    """It scores how well a passage answers, and nothing else."""
    found = by_name(SupportReading(FakeCrossEncoder(answers_only=True)), make_run())
    assert {item.reason for item in found.values()} == {
        "this model does not tell what is supported"
    }

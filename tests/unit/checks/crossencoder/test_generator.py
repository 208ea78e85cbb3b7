"""The answer beside the context: a good answer, and what goes wrong with it."""

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

from otel_raglog.checks.crossencoder.generator import GeneratorReading
from otel_raglog.checks.crossencoder.reader import BundledReader, Reading, Span
from otel_raglog.model import FieldStatus, Run, missing

CHECK = GeneratorReading(FakeCrossEncoder())
GOOD = by_name(CHECK, make_run())
WRONG = "Full-time employees get 30 days of paid vacation per calendar year."


class Spy(FakeCrossEncoder):
    """Keeps the pairs that it read."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        self.pairs += pairs
        return super().read(pairs)


def test_a_good_answer_raises_no_suspicion() -> None:
    """The likeliest answer of the context is in it."""
    assert set(GOOD) == set(CHECK.measures)
    for name in ("answerable", "answer_span"):
        assert number(GOOD, f"generator.{name}") > 0
    assert number(GOOD, "generator.likeliest_stated") == 1
    assert number(GOOD, "generator.stated_span_gap") == 0
    assert {item.evidence for item in GOOD.values()} == {""}
    assert {item.quotes for item in GOOD.values()} == {()}


def test_another_answer_than_the_likeliest_is_told() -> None:
    """The likeliest is quoted apart: it is document text."""
    found = by_name(CHECK, make_run(answer=WRONG))
    name = "generator.likeliest_stated"
    assert number(found, name) == 0
    assert found[name].evidence == "the context seems to hold another answer than the one given"
    assert found[name].quotes == ("25",)
    for share in ("likely_stated", "own_words_in_likeliest", "own_words_in_likely"):
        assert number(found, f"generator.{share}") < number(GOOD, f"generator.{share}")


def test_words_of_the_question_do_not_state_a_likely_answer() -> None:
    """Those of the span that the question lacks must be in the answer."""

    class WholeSpans(FakeCrossEncoder):
        def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
            span = Span("25 vacation days", 0, 16, 3.0)
            return tuple(replace(each, spans=(span,)) for each in super().read(pairs))

    check = GeneratorReading(WholeSpans())
    name = "generator.likeliest_stated"
    assert number(by_name(check, make_run(answer=WRONG)), name) == 0
    assert number(by_name(check, make_run(answer="They get 25.")), name) == 1


def test_an_answer_may_be_in_a_likely_answer_that_is_not_the_likeliest() -> None:
    """Six of them are looked at."""
    found = by_name(CHECK, make_run(answer="Full-time employees get 31."))
    assert number(found, "generator.own_words_in_likeliest") == 0
    assert number(found, "generator.own_words_in_likely") == 1


def test_the_farther_the_stated_answer_is_from_the_likeliest_the_wider_the_gap() -> None:
    """Widest where the answer states none of the likely ones."""
    likely = by_name(CHECK, make_run(answer="Full-time employees get 31 days."))
    unlikely = by_name(CHECK, make_run(answer="Full-time employees get 777 days."))
    gaps = [number(each, "generator.stated_span_gap") for each in (GOOD, likely, unlikely)]
    assert gaps == sorted(set(gaps))
    assert number(GOOD, "generator.stated_span") > number(likely, "generator.stated_span")
    assert number(likely, "generator.stated_span") > number(unlikely, "generator.stated_span")


def test_a_context_without_the_answer_is_told() -> None:
    """Whatever was answered from it."""
    found = by_name(CHECK, make_run(in_prompt=["laptops"]))
    assert number(found, "generator.answerable") < 0 < number(GOOD, "generator.answerable")
    assert number(found, "generator.answer_span") < number(GOOD, "generator.answer_span")
    assert found["generator.answerable"].evidence == (
        "no passage of the context seems to hold what is asked"
    )


def test_nothing_is_said_of_another_answer_when_the_context_has_no_clear_one() -> None:
    """The likeliest of unlikely ones is none."""
    found = by_name(CHECK, make_run(in_prompt=["laptops"]))
    item = found["generator.likeliest_stated"]
    assert (item.value, item.evidence, item.quotes) == (0, "", ())


def test_words_of_the_question_are_no_words_of_the_answer() -> None:
    """An answer that only repeats them has nothing that could stand in a likely answer."""
    found = by_name(CHECK, make_run(answer="Full-time employees get vacation days."))
    for name in ("own_words_in_likeliest", "own_words_in_likely"):
        item = found[f"generator.{name}"]
        assert item.reason == "the answer has no words but the question's"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (make_run(answer="I could not find this in the context."), "the answer declines"),
        (make_run(answer="?! ..."), "no words in the answer"),
        (make_run(retrieved=[], prompt="Context:\n\nQuestion: x"), "no context"),
        (make_run(""), "no question"),
        (make_run(answer="  "), "no question, answer or prompt"),
        (replace(make_run(), question=missing(FieldStatus.REDACTED)), "no question"),
        (
            replace(
                make_run(),
                answer=missing(FieldStatus.REDACTED),
                generators=(
                    replace(make_run().generators[0], answer=missing(FieldStatus.REDACTED)),
                ),
            ),
            "no question, answer or prompt",
        ),
    ],
    ids=[
        "refusal",
        "no words",
        "no context",
        "empty question",
        "empty answer",
        "redacted question",
        "redacted answer",
    ],
)
def test_where_nothing_is_claimed_or_known_there_is_a_reason(run: Run, reason: str) -> None:
    """For each measurement."""
    found = by_name(CHECK, run)
    assert set(found) == set(CHECK.measures)
    assert all(item.value is None and reason in item.reason for item in found.values())


def test_lead_ins_citations_and_what_declines_are_no_claims() -> None:
    """They change nothing."""
    answer = f"According to the context, {ANSWER[:-1]} [1]. The context does not say more."
    assert by_name(CHECK, make_run(answer=answer)) == GOOD


def test_a_follow_up_is_answered_in_its_conversation() -> None:
    """Alone it says little."""
    alone = by_name(CHECK, make_run("And in all?"))
    told = by_name(CHECK, make_run("And in all?", history=[("user", QUESTION)]))
    assert number(told, "generator.answerable") > number(alone, "generator.answerable")


def test_a_named_model_tells_whether_the_context_answers_and_no_more() -> None:
    """Everything else has a reason."""
    found = by_name(GeneratorReading(FakeCrossEncoder(answers_only=True)), make_run())
    assert set(found) == set(CHECK.measures)
    assert found["generator.answerable"] == GOOD["generator.answerable"]
    others = {item.reason for name, item in found.items() if name != "generator.answerable"}
    assert others == {"this model tells no spans"}


def test_a_long_answer_and_a_long_context_are_read_in_part() -> None:
    """The number of pairs does not grow with them."""
    spy = Spy()
    long = make_run(answer=f"{ANSWER} " * 1_000, prompt=f"{HANDBOOK['vacation']} " * 5_000)
    found = by_name(GeneratorReading(spy), long)
    assert number(found, "generator.answerable") > 0
    assert len(spy.pairs) < 100


def test_the_bundled_reader_finds_the_answer_in_the_context(reader: BundledReader) -> None:
    """An answer that states it has more of the likeliest than one that says another number."""
    check = GeneratorReading(reader)
    right, wrong = by_name(check, make_run()), by_name(check, make_run(answer=WRONG))
    for name in ("likeliest_stated", "likely_stated", "stated_span"):
        assert number(right, f"generator.{name}") > number(wrong, f"generator.{name}")
    assert number(right, "generator.stated_span_gap") < number(wrong, "generator.stated_span_gap")


def test_the_bundled_reader_sees_that_the_context_does_not_answer(reader: BundledReader) -> None:
    """Though it is about the same handbook."""
    check = GeneratorReading(reader)
    right, wrong = by_name(check, make_run()), by_name(check, make_run(in_prompt=["laptops"]))
    for name in ("answerable", "answer_span"):
        assert number(right, f"generator.{name}") > number(wrong, f"generator.{name}")

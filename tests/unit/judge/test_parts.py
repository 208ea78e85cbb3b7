"""The parts of a run: which are asked, what they send, and how an answer is repaired."""

import itertools
import json
import re
from dataclasses import replace
from random import Random

import pytest
from fake_judge import USAGE, FakeJudge, price, sound_fields
from handbook_runs import make_run

from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.judge.view import view_of
from otel_raglog.clock import ManualClock
from otel_raglog.judge.breaker import Breaker
from otel_raglog.judge.calling import Caller, Reason, Tally
from otel_raglog.judge.client import Reply, YesShare
from otel_raglog.judge.parts import Mode, parts_of
from otel_raglog.judge.retrying import Retrier, RetryConfig
from otel_raglog.model import NOT_CAPTURED, Stage

RUN = make_run(rewrites=["vacation days full-time"], selected=["vacation"])
KEYS = ["graded_stage", "graded_generator", "verification", "evidence_flow", "statements"]


class Parts:
    """The parts of a run, and a fake LLM that gives ``replies`` in turn, then sound ones."""

    def __init__(self, *replies, mode=Mode.JSON, run=RUN, share=0.25):
        self.replies = list(replies)
        self.judge = FakeJudge(self.answer, lambda _: YesShare(share, USAGE))
        clock, numbers = ManualClock(), itertools.count(1)
        retrier = Retrier(RetryConfig(), clock, Random(1), lambda _: False)
        self.tally = Tally(price)
        self.parts = parts_of(
            mode, JUDGE_CHECKS, run, view_of(run),
            caller=Caller(self.judge, retrier, Breaker(clock), clock),
            nonces=lambda: f"{next(numbers):032x}",
        )  # fmt: skip

    def answer(self, request):
        return Reply(
            self.replies.pop(0) if self.replies else json.dumps(self.sound(request)), USAGE
        )

    def sound(self, request):
        fields = sound_fields(request)
        if request.schema_name == "graded_stage":
            fields["embedder"] = None
        return fields

    def ask(self, key="graded_generator"):
        (part,) = [part for part in self.parts if part.key == key]
        return part.ask(30.0, self.tally)

    def ask_all(self):
        return [part.ask(30.0, self.tally) for part in self.parts]


def test_each_check_is_one_part():
    """And its answer makes its measurements."""
    parts = Parts()
    assert [part.key for part in parts.parts] == KEYS
    found = parts.ask("verification")
    names = {measurement.name for measurement in found.measurements}
    assert "generator.verified_any_fault" in names
    assert found.answer.any_fault == 3


def test_checks_of_which_nothing_can_be_graded_are_not_asked():
    """A run without an answer has nothing to verify."""
    run = replace(RUN, answer=NOT_CAPTURED, generators=())
    assert [part.key for part in Parts(run=run).parts] == ["graded_stage"]


def test_of_stages_that_cannot_be_graded_nothing_is_measured():
    """Whatever the LLM says of them: it has not seen them."""
    (rewriter,) = RUN.rewriters
    run = replace(RUN, rewriters=(replace(rewriter, rewrites=NOT_CAPTURED),))
    assert Stage.REWRITER not in view_of(run).stages
    found = Parts(run=run).ask("graded_stage")
    assert Stage.REWRITER not in {item.stage for item in found.measurements}


def test_every_request_has_a_delimiter_of_its_own():
    """Also the second one of a check; what is the same for all runs is in the system prompt."""
    parts = Parts("no JSON")
    parts.ask()
    parts.ask("verification")
    nonces = [set(re.findall(r"<<<untrusted (\w+)", ask.prompt)) for ask in parts.judge.asked]
    assert [len(found) for found in nonces] == [1, 1, 1]
    assert len(set.union(*nonces)) == 3
    assert not any(RUN.question.value in ask.system for ask in parts.judge.asked)


def test_an_answer_that_cannot_be_read_is_repaired_once():
    """With what was wrong, and without what was said."""
    parts = Parts('{"unsupported": "SECRET", "off_question": 1}')
    assert parts.ask().answer.unsupported == 3
    first, second = parts.judge.asked
    assert second.prompt.startswith("# The run")
    repair = second.prompt.partition("could not be read")[2]
    assert "unsupported must be a number" in repair
    assert "Answer again" in repair
    assert "SECRET" not in second.prompt
    assert second.system == first.system
    assert (parts.tally.calls, parts.tally.retries) == (2, 1)


@pytest.mark.parametrize(
    "reply", ["no JSON", '{"verdict": "fine"}', '{"unsupported": 12, "off_', "[]", "null"]
)
def test_an_answer_that_cannot_be_read_twice_is_malformed(reply):
    """There is no third request; both have cost."""
    parts = Parts(reply, reply)
    assert parts.ask() is Reason.MALFORMED
    assert (parts.tally.calls, parts.tally.usage) == (2, USAGE + USAGE)


def test_an_answer_that_is_far_too_long_is_not_repaired():
    """The second one would be as long."""
    parts = Parts("{" + "x" * 70_000)
    assert parts.ask() is Reason.TOO_LARGE
    assert parts.tally.calls == 1


def test_by_first_tokens_each_question_is_a_part():
    """Its probability is the measurement."""
    parts = Parts(mode=Mode.FIRST_TOKEN, share=0.75)
    found = parts.ask_all()
    measured = {item.name: item.value for each in found for item in each.measurements}
    questions = [q for c in JUDGE_CHECKS for q in c.questions if q.stage is not Stage.EMBEDDER]
    assert measured == {question.measurement: 0.75 for question in questions}
    assert len(found) == parts.tally.calls == len(questions)


def test_the_questions_of_one_run_begin_alike():
    """A server that caches prompts then reads the run once."""
    parts = Parts(mode=Mode.FIRST_TOKEN)
    parts.ask_all()
    beginnings = {ask.prompt.partition("## Your question")[0] for ask in parts.judge.asked}
    assert len(beginnings) == 1


def test_a_first_token_that_is_neither_yes_nor_no_is_no_answer():
    """A small model that says something else."""
    parts = Parts(mode=Mode.FIRST_TOKEN, share=None)
    assert set(parts.ask_all()) == {Reason.MALFORMED}

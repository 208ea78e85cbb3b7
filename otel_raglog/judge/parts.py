"""What is to be asked about one run: each part is one call, or two where the answer is repaired."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from otel_raglog.checks.judge.answers import Answer, JudgeAnswers
from otel_raglog.checks.judge.judge_check import JudgeCheck, YesNoQuestion
from otel_raglog.checks.judge.parsing import answer_from
from otel_raglog.checks.judge.prompting import (
    prompt_of,
    question_of,
    schema_of,
    system_of,
    system_of_questions,
)
from otel_raglog.checks.judge.registry import (
    checks_for,
    measurements_from,
    measurements_from_shares,
)
from otel_raglog.checks.judge.view import JudgeView
from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.judge.calling import Caller, Reason, Tally, expected_of_ask, expected_of_question
from otel_raglog.judge.client import Ask, Question, Usage
from otel_raglog.model import Measurement, Run

Nonces: TypeAlias = Callable[[], str]
"""Returns 32 letters and digits that nobody can guess, other ones each time."""

_NONCE_BYTES = 16


def new_nonce() -> str:
    """Return what nobody can guess, to stand in the delimiters of one request."""
    return secrets.token_hex(_NONCE_BYTES)


class Mode(StrEnum):
    """How a check is put: once, answered in JSON, or as questions of yes and no."""

    JSON = "json"
    FIRST_TOKEN = "first_token"  # noqa: S105  a way of asking


@dataclass(frozen=True, slots=True)
class Found:
    """What a part has found; ``answer`` is ``None`` for a question of yes and no."""

    answer: Answer | None
    measurements: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A call about the check of the name ``key``; ``expected`` is what it will roughly take.

    ``ask`` is given the deadline, in monotonic time, and where to count.
    """

    key: str
    expected: Usage
    ask: Callable[[float, Tally], Found | Reason]


def parts_of(
    mode: Mode,
    checks: Sequence[JudgeCheck[Any]],
    run: Run,
    view: JudgeView,
    *,
    caller: Caller,
    nonces: Nonces,
) -> tuple[Part, ...]:
    """Return the parts of ``checks`` that concern a stage which can be graded by ``view``."""
    if mode is Mode.JSON:
        askable = checks_for(view)
        return tuple(
            _json_part(check, run, view, caller, nonces) for check in checks if check in askable
        )
    # One nonce, so that a server that caches prompts reads the run once.
    nonce = nonces()
    return tuple(
        _question_part(check.key, question, run, caller, question_of(view, question, nonce))
        for check in checks
        for question in check.questions
        if question.stage in view.stages
    )


def _json_part(
    check: JudgeCheck[Any], run: Run, view: JudgeView, caller: Caller, nonces: Nonces
) -> Part:
    system, schema = system_of(check), schema_of(check)
    first = Ask(system, prompt_of(view, nonces()), check.key, schema)

    def ask(deadline: float, tally: Tally) -> Found | Reason:
        request = first
        for again in (False, True):
            reply = caller.ask(request, deadline, tally, again=again)
            if isinstance(reply, Reason):
                return reply
            try:
                answer = answer_from(check, reply.text, view.stages)
            except TooLarge:
                return caller.noted(Reason.TOO_LARGE, "the answer is too long")
            except BadInput as problem:
                # The problem names fields and what is wrong with them, nothing of the reply.
                repair = f"{prompt_of(view, nonces())}\n\n{_REPAIR.format(problem=problem)}"
                request = Ask(system, repair, check.key, schema)
                said = str(problem)
            else:
                answers = JudgeAnswers.model_validate({"id": run.run_id, check.key: answer})
                return Found(answer, measurements_from(answers, run, view.stages))
        return caller.noted(Reason.MALFORMED, said)

    return Part(check.key, expected_of_ask(first), ask)


_REPAIR = """\
## Your last reply could not be read
{problem}.
Answer again: one JSON object of the schema, with all of its fields, and nothing else."""


def _question_part(
    key: str, question: YesNoQuestion, run: Run, caller: Caller, prompt: str
) -> Part:
    asked = Question(system_of_questions(), prompt)

    def ask(deadline: float, tally: Tally) -> Found | Reason:
        share = caller.first_token(asked, deadline, tally)
        if isinstance(share, Reason):
            return share
        if share.probability is None:
            return caller.noted(Reason.MALFORMED, "the reply begins with neither yes nor no")
        shares = {question.measurement: share.probability}
        return Found(None, measurements_from_shares(shares, run))

    return Part(key, expected_of_question(asked), ask)

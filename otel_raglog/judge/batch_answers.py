"""Responses of a batch to the answers of runs, with what failed and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from otel_raglog.checks.judge.answers import Answer
from otel_raglog.checks.judge.answers_file import RecordedAnswers, SpentTokens
from otel_raglog.checks.judge.judge_check import JudgeCheck
from otel_raglog.checks.judge.parsing import answer_from
from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.judge.batch import BATCH_PRICE_SHARE, custom_id
from otel_raglog.judge.batch_responses import BatchResponse, UnreadableLine
from otel_raglog.judge.client import Usage
from otel_raglog.model import Stage

ModelPricing: TypeAlias = Callable[[str, Usage], float | None]
"""Returns USD for the tokens of one single call of a model; ``None`` when that is not known."""

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Expected:
    """A request that may have been made: of which run, by which check, on which stages."""

    run_id: str
    check: JudgeCheck[Any]
    stages: Collection[Stage]


@dataclass(slots=True)
class Imported:
    """What responses came to.

    ``problems`` name each response that gave no answer, ``replaced`` those that a later one of the
    same request replaced. ``cost_usd`` is that of all replies, ``None`` when a price is unknown.
    """

    answers: dict[str, RecordedAnswers] = field(default_factory=dict)
    models: set[str] = field(default_factory=set)
    responses: int = 0
    failed: int = 0
    unknown: int = 0
    unreadable: int = 0
    problems: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0


@dataclass(slots=True)
class _Spent:
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        self.usage += usage
        unknown = self.cost_usd is None or cost_usd is None
        self.cost_usd = None if unknown else (self.cost_usd or 0.0) + (cost_usd or 0.0)


def expected_requests(
    run_id: str, checks: Iterable[JudgeCheck[Any]], stages: Collection[Stage]
) -> Mapping[str, Expected]:
    """Return the requests about a run of which ``stages`` can be graded, by their custom ids."""
    return {
        custom_id(run_id, check.key): Expected(run_id, check, frozenset(stages)) for check in checks
    }


def import_responses(
    responses: Iterable[BatchResponse | UnreadableLine],
    expected: Mapping[str, Expected],
    pricing: ModelPricing,
    model: str,
) -> Imported:
    """Return the answers of runs, and what is wrong with the other responses.

    Of several responses to one request the last one that holds an answer counts. ``model`` is the
    name under which the model is known here: a dated version of it is recorded by that name.
    """
    found = Imported()
    answered: dict[str, tuple[str, Answer]] = {}
    failed: dict[str, str] = {}
    spent: dict[str, _Spent] = {}
    models: dict[str, str] = {}
    for response in responses:
        found.responses += 1
        if isinstance(response, UnreadableLine):
            found.unreadable += 1
            found.problems.append(f"{response.where}: {response.why}")
            continue
        request = expected.get(response.custom_id)
        if request is None:
            found.unknown += 1
            shown = response.custom_id[:_SHOWN]
            found.problems.append(f"{response.where}: {shown!r} is no request about these runs")
            continue
        if response.reply is not None:
            told = response.model or model
            cost = pricing(told, response.reply.usage)
            cost = None if cost is None else cost * BATCH_PRICE_SHARE
            spent.setdefault(request.run_id, _Spent()).add(response.reply.usage, cost)
            models[request.run_id] = model if is_version_of(told, model) else told
        answer = _answer(request, response)
        if isinstance(answer, str):
            failed[response.custom_id] = (
                f"{response.where}: run {request.run_id[:_SHOWN]!r}, {request.check.name}: {answer}"
            )
            continue
        if response.custom_id in answered:
            earlier = answered[response.custom_id][0]
            found.replaced.append(f"{earlier}: replaced by a later response to the same request")
        answered[response.custom_id] = (response.where, answer)
    lasting = [problem for request_id, problem in failed.items() if request_id not in answered]
    found.failed = len(lasting)
    found.problems.extend(lasting)
    by_run: dict[str, dict[str, Answer]] = {}
    for request_id, (_, answer) in answered.items():
        request = expected[request_id]
        by_run.setdefault(request.run_id, {})[request.check.key] = answer
    for run_id, answers in by_run.items():
        found.answers[run_id] = recorded(
            run_id, models[run_id], answers, spent[run_id].usage, spent[run_id].cost_usd
        )
        found.models.add(models[run_id])
    total = _Spent()
    for each in spent.values():
        total.add(each.usage, each.cost_usd)
    found.usage, found.cost_usd = total.usage, total.cost_usd
    return found


def recorded(
    run_id: str,
    model: str | None,
    answers: Mapping[str, Answer | None],
    usage: Usage,
    cost_usd: float | None,
) -> RecordedAnswers:
    """Return the line of a run in a file of answers; at least one check must be answered."""
    tokens = SpentTokens(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    return RecordedAnswers.model_validate(
        {"id": run_id, "model": model, **answers, "usage": tokens, "cost_usd": cost_usd}
    )


def is_version_of(told: str, model: str) -> bool:
    """Tell whether a provider means ``model`` by ``told``: the same name, or one with a date.

    ``claude-haiku-5-5-20261001`` and ``gpt-5-2025-08-07`` are dated, ``gpt-5-mini`` is not.
    """
    date = told.removeprefix(f"{model}-")
    return told == model or (date != told and date.replace("-", "").isdecimal())


def _answer(request: Expected, response: BatchResponse) -> Answer | str:
    """Return the answer, or why there is none."""
    if response.failure or response.reply is None:
        return response.failure or "no_response"
    if not response.reply.complete:
        return "cut_off"
    try:
        answer: Answer = answer_from(request.check, response.reply.text, request.stages)
    except TooLarge:
        return "too_large"
    except BadInput as problem:
        # It names fields and what is wrong with them, nothing of the reply.
        return f"malformed: {problem}"
    return answer

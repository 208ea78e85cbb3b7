"""Responses of a batch to the answers of runs, with what failed and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from otel_raglog.checks.judge.answers import Answer
from otel_raglog.checks.judge.answers_file import RecordedAnswers, SpentTokens
from otel_raglog.checks.judge.judge_check import JudgeCheck
from otel_raglog.checks.judge.parsing import answer_from
from otel_raglog.checks.judge.view import JudgeView
from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.judge.batch import BATCH_PRICE_SHARE, custom_ids
from otel_raglog.judge.batch_responses import BatchResponse, UnreadableLine
from otel_raglog.judge.client import Usage
from otel_raglog.judge.model_names import is_version_of
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
    responses: int = 0
    failed: int = 0
    other_model: int = 0
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
    run_id: str, checks: Sequence[JudgeCheck[Any]], view: JudgeView
) -> Mapping[str, Expected]:
    """Return the requests about a run of which ``view`` is shown, by their custom ids."""
    ids = custom_ids(run_id, view, checks)
    return {ids[check.key]: Expected(run_id, check, view.stages) for check in checks}


def import_responses(
    responses: Iterable[BatchResponse | UnreadableLine],
    expected: Mapping[str, Expected],
    pricing: ModelPricing,
    model: str,
) -> Imported:
    """Return the answers of runs, and what is wrong with the other responses.

    Of several responses to one request the last one that holds an answer counts. ``model`` is the
    name under which the model is known here: a dated version of it is recorded by that name, and an
    answer of any other is refused.
    """
    found = Imported()
    answered: dict[str, tuple[str, Answer]] = {}
    failed: dict[str, str] = {}
    spent: dict[str, _Spent] = {}
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
            found.problems.append(
                f"{response.where}: {shown!r} is no request about these runs as they are shown now"
            )
            continue
        told = response.model or model
        if response.reply is not None:
            cost = pricing(told, response.reply.usage)
            cost = None if cost is None else cost * BATCH_PRICE_SHARE
            spent.setdefault(request.run_id, _Spent()).add(response.reply.usage, cost)
        answer = _answer(request, response)
        place = f"{response.where}: run {request.run_id[:_SHOWN]!r}, {request.check.name}"
        if isinstance(answer, str):
            failed[response.custom_id] = f"{place}: {answer}"
            continue
        if not is_version_of(told, model):
            found.other_model += 1
            found.problems.append(f"{place}: answered by {told[:_SHOWN]!r}, not by {model!r}")
            continue
        if response.custom_id in answered:
            earlier = answered[response.custom_id][0]
            found.replaced.append(f"{earlier}: replaced by a later response to the same request")
        answered[response.custom_id] = (response.where, answer)
    lasting = [problem for request_id, problem in failed.items() if request_id not in answered]
    found.failed = len(lasting)
    found.problems.extend(lasting)
    for run_id, answers in _by_run(expected, answered).items():
        usage, cost = spent[run_id].usage, spent[run_id].cost_usd
        found.answers[run_id] = recorded(run_id, model, answers, usage, cost)
    total = _Spent()
    for each in spent.values():
        total.add(each.usage, each.cost_usd)
    found.usage, found.cost_usd = total.usage, total.cost_usd
    return found


def _by_run(
    expected: Mapping[str, Expected], answered: Mapping[str, tuple[str, Answer]]
) -> Mapping[str, Mapping[str, Answer]]:
    """Return the answers by run and check."""
    found: dict[str, dict[str, Answer]] = {}
    for request_id, (_, answer) in answered.items():
        request = expected[request_id]
        found.setdefault(request.run_id, {})[request.check.key] = answer
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

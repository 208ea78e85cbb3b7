"""Runs to what an LLM says of them: all checks of a run at once, within limits on calls and cost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TypeVar

import structlog

from otel_raglog.checks.judge.answers import JudgeAnswers
from otel_raglog.checks.judge.registry import ECONOMY_LEAVES_OUT, JUDGE_CHECKS
from otel_raglog.checks.judge.untrusted import Suspicion, suspected
from otel_raglog.checks.judge.view import Ranker, by_words, view_of
from otel_raglog.clock import Clock
from otel_raglog.judge.breaker import Breaker, BreakerState
from otel_raglog.judge.budget import Budget, Refusal, Reservation
from otel_raglog.judge.calling import Caller, Pricing, Reason, Tally
from otel_raglog.judge.client import JudgeClient, Usage
from otel_raglog.judge.parts import Found, Mode, Nonces, Part, parts_of
from otel_raglog.judge.retrying import Retrier, RetryConfig
from otel_raglog.model import Measurement, Run

T = TypeVar("T")

MOST_WAIT_SECONDS = 61.0
"""For tokens to be left again; nobody waits for the next hour."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AskerConfig:
    """How runs are asked about: see the options ``judge.…`` of the same names."""

    mode: Mode = Mode.JSON
    economy: bool = False
    concurrency: int = 8
    max_prompt_tokens: int = 8_000
    max_excluded_chunks: int = 8
    retries: RetryConfig = field(default_factory=RetryConfig)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an LLM said of one run, and what that took.

    ``abstained`` has, by the check's key, why a check has no answer; a check that concerns no stage
    that can be graded is neither there nor in ``answers``. Answers to questions of yes and no are
    in ``measurements`` alone. ``usage`` and ``cost_usd`` are of what the provider told; the cost is
    ``None`` when the model has no price. ``retries`` are those of ``calls`` that repeated an
    earlier one. ``left_out`` are phrases on what the LLM was not shown. ``retry_after_seconds`` is
    set when the budget stood in the way, and may not later.
    """

    answers: JudgeAnswers
    measurements: tuple[Measurement, ...] = ()
    calls: int = 0
    retries: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    abstained: Mapping[str, Reason] = field(default_factory=dict)
    suspected: tuple[Suspicion, ...] = ()
    left_out: tuple[str, ...] = ()
    retry_after_seconds: float | None = None


@dataclass(slots=True)
class _Asking:
    """A run that is being asked about."""

    run: Run
    rank: Ranker
    deadline: float | None
    began: float
    tally: Tally
    future: Future[Outcome] = field(default_factory=Future)
    lock: threading.Lock = field(default_factory=threading.Lock)
    parts: tuple[Part, ...] = ()
    results: dict[int, Found | Reason] = field(default_factory=dict)
    suspected: tuple[Suspicion, ...] = ()
    left_out: tuple[str, ...] = ()
    reservation: Reservation | None = None
    retry_after_seconds: float | None = None
    over: bool = False


class Asker:
    """Asks an LLM about runs. For all threads.

    One pool of ``concurrency`` threads makes all calls, and none of its threads ever waits for
    another: a run is planned by one of them, its calls follow in the queue, and the last of these
    to end resolves the run's future. So the calls of one run go out at once, those of the run that
    came first go first, and no run can hold up another by waiting.

    Nothing that a provider does raises: it ends as a reason in :attr:`Outcome.abstained`. The
    future of a run cannot be cancelled; it is done a little after its deadline at the latest, unless
    it waits for a thread.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        client: JudgeClient,
        config: AskerConfig,
        budget: Budget,
        breaker: Breaker,
        clock: Clock,
        random: Random,
        nonces: Nonces,
        pricing: Pricing,
        *,
        pause: Callable[[threading.Event, float], bool] = threading.Event.wait,
    ) -> None:
        self._client = client
        self._config = config
        self._budget = budget
        self._breaker = breaker
        self._clock = clock
        self._nonces = nonces
        self._pricing = pricing
        self._stopping = threading.Event()
        self._pause = partial(pause, self._stopping)
        self._retrier = Retrier(config.retries, clock, random, self._pause)
        self._caller = Caller(client, self._retrier, breaker, clock)
        self._checks = tuple(
            check
            for check in JUDGE_CHECKS
            if not (config.economy and check.key == ECONOMY_LEAVES_OUT)
        )
        self._pool = ThreadPoolExecutor(config.concurrency, thread_name_prefix="judge")
        self._lock = threading.Lock()
        self._open: dict[int, _Asking] = {}
        self._closed = False
        self._logged: set[str] = set()

    @property
    def open_runs(self) -> int:
        """Runs that are being asked about."""
        return len(self._open)

    def ask(
        self,
        run: Run,
        ranker: Ranker | None = None,
        deadline: float | None = None,
        *,
        patient: bool = False,
    ) -> Outcome:
        """Ask about ``run``, and wait for the outcome; see :meth:`submit`.

        When the budget stands in the way, and will not in a minute, as its limit on tokens does,
        ``patient`` waits and asks again.
        """
        while True:
            outcome = self.submit(run, ranker, deadline).result()
            seconds = outcome.retry_after_seconds
            if not patient or seconds is None or seconds > MOST_WAIT_SECONDS:
                return outcome
            if deadline is not None and self._clock.monotonic() + seconds >= deadline:
                return outcome
            if self._pause(seconds):
                return outcome

    def submit(
        self, run: Run, ranker: Ranker | None = None, deadline: float | None = None
    ) -> Future[Outcome]:
        """Ask about ``run`` in the background.

        ``ranker`` chooses among excluded chunks that are too many to show, by words if there is
        none; it is called by a thread of the pool. ``deadline`` is monotonic time.
        """
        now = self._clock.monotonic()
        asking = _Asking(run, ranker or by_words, deadline, now, Tally(self._pricing))
        asking.future.set_running_or_notify_cancel()
        self._open[id(asking)] = asking
        if not self._start(partial(self._plan, asking), partial(self._planned, asking)):
            self._end(asking, Reason.STOPPED)
        return asking.future

    def close(self, seconds: float = 0.0) -> None:
        """Begin no further call, wait ``seconds`` at most for those that are out, and let go.

        What is not answered then is ``stopped``. May be called again.
        """
        with self._lock:
            self._closed = True
        self._stopping.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        left = list(self._open.values())
        wait([asking.future for asking in left], timeout=seconds)
        for asking in left:
            self._end(asking, Reason.STOPPED)
        self._client.close()

    def _start(self, work: Callable[[], T], done: Callable[[Future[T]], None]) -> bool:
        """Let a thread of the pool do ``work``, then ``done``; ``False`` when it is closed."""
        with self._lock:
            if self._closed:
                return False
            try:
                future = self._pool.submit(work)
            except RuntimeError:  # no thread can be had, or the interpreter ends
                return False
        future.add_done_callback(done)
        return True

    # ------------------------------------------------------------------ one run, step by step

    def _plan(self, asking: _Asking) -> Reason | None:
        """Find out what is to be asked, and whether that may be; returns why not."""
        if self._breaker.state is BreakerState.OPEN:
            return Reason.BREAKER_OPEN
        config = self._config
        view = view_of(
            asking.run,
            max_prompt_tokens=config.max_prompt_tokens,
            max_excluded=config.max_excluded_chunks,
            rank=asking.rank,
        )
        asking.suspected, asking.left_out = suspected(view), view.left_out
        asking.parts = parts_of(
            config.mode, self._checks, asking.run, view, caller=self._caller, nonces=self._nonces
        )
        if not asking.parts:
            return None
        reservation = self._budget.admit(*self._expected(asking.parts))
        if isinstance(reservation, Refusal):
            self._log_first("judge_budget_exhausted", reservation.limit, reservation.message)
            asking.retry_after_seconds = reservation.retry_after_seconds
            return Reason.BUDGET
        if not self._breaker.admit():
            self._budget.settle(reservation, 0, 0.0)
            return Reason.BREAKER_OPEN
        asking.reservation = reservation
        return None

    def _expected(self, parts: Sequence[Part]) -> tuple[int, float | None]:
        """Return the tokens that the parts will roughly take, and the USD."""
        costs = [self._pricing(part.expected) for part in parts]
        known = [cost for cost in costs if cost is not None]
        tokens = sum(part.expected.total for part in parts)
        return tokens, sum(known) if len(known) == len(costs) else None

    def _planned(self, asking: _Asking, planned: Future[Reason | None]) -> None:
        refused = _result(planned)
        if refused is not None or not asking.parts:
            self._end(asking, refused)
            self._log_defect(planned)
            return
        for number, part in enumerate(asking.parts):
            done = partial(self._answered, asking, number)
            if not self._start(partial(self._answer, asking, part), done):
                self._note(asking, number, Reason.STOPPED)

    def _answer(self, asking: _Asking, part: Part) -> Found | Reason:
        return part.ask(self._retrier.deadline(asking.deadline), asking.tally)

    def _answered(self, asking: _Asking, number: int, answered: Future[Found | Reason]) -> None:
        self._note(asking, number, _result(answered))
        self._log_defect(answered)

    def _note(self, asking: _Asking, number: int, result: Found | Reason) -> None:
        with asking.lock:
            asking.results[number] = result
            is_last = len(asking.results) == len(asking.parts)
        if is_last:
            self._end(asking)

    def _end(self, asking: _Asking, reason: Reason | None = None) -> None:
        """Resolve the run's future, once; ``reason`` is that of all checks without a result."""
        with asking.lock:
            if asking.over:
                return
            asking.over = True
            results = dict(asking.results)
        failed = dict.fromkeys((check.key for check in self._checks), Reason.ERROR)
        outcome = Outcome(JudgeAnswers(id=asking.run.run_id), abstained=failed)
        try:
            if asking.reservation is not None and len(results) == len(asking.parts):
                # Calls that are out when the service ends may yet be charged for: they stay reserved.
                self._budget.settle(asking.reservation, *asking.tally.spent())
            outcome = self._outcome(asking, results, reason)
        finally:
            # Whatever failed: somebody waits for it.
            self._open.pop(id(asking), None)
            asking.future.set_result(outcome)

    def _outcome(
        self, asking: _Asking, results: Mapping[int, Found | Reason], reason: Reason | None
    ) -> Outcome:
        parts = asking.parts
        keys = dict.fromkeys(part.key for part in parts)
        if not parts and reason is not None:
            keys = dict.fromkeys(check.key for check in self._checks)
        found = [
            (part.key, result)
            for number, part in enumerate(parts)
            if isinstance(result := results.get(number), Found)
        ]
        answered = {key for key, _ in found}
        failed = {
            part.key: result
            for number, part in reversed(list(enumerate(parts)))
            if isinstance(result := results.get(number), Reason)
        }
        abstained = {
            key: failed.get(key, reason or Reason.ERROR) for key in keys if key not in answered
        }
        answers = {key: result.answer for key, result in found if result.answer is not None}
        tally = asking.tally
        return Outcome(
            JudgeAnswers.model_validate(
                {"id": asking.run.run_id, "model": self._client.model, **answers}
            ),
            tuple(item for _, result in found for item in result.measurements),
            tally.calls,
            tally.retries,
            tally.usage,
            tally.cost_usd,
            self._clock.monotonic() - asking.began,
            abstained,
            asking.suspected,
            asking.left_out,
            asking.retry_after_seconds,
        )

    def _log_defect(self, future: Future[T]) -> None:
        defect = None if future.cancelled() else future.exception()
        if defect is not None:
            self._log_first("judge_defect", type(defect).__name__, _place(defect))

    def _log_first(self, event: str, kind: str, problem: str) -> None:
        if (kind := f"{event} {kind}") not in self._logged:
            self._logged.add(kind)
            _log.warning(event, kind=kind, problem=problem)


def _result(future: Future[T]) -> T | Reason:
    """Return what a thread of the pool returned, or the reason why it did not."""
    if future.cancelled():
        return Reason.STOPPED
    return future.result() if future.exception() is None else Reason.ERROR


def _place(defect: BaseException) -> str:
    """Return where an exception was raised; its text may quote a run."""
    trace = defect.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f"{trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"

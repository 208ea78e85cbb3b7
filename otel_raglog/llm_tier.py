"""A run and what the local tier says of it to what an LLM says of it, where it is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace

from otel_raglog.checks.judge.view import Ranker
from otel_raglog.detect.escalation import is_uncertain
from otel_raglog.detect.judgeable import asks_nothing
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.judge.asking import Asker, Outcome
from otel_raglog.judge.schedule import Choice, Schedule, When
from otel_raglog.mapping.views import REDACTED
from otel_raglog.model import JudgeUse, Measurement, Report, Run, Stage, Tier, Verdict
from otel_raglog.report.building import build_report

NOTHING_TO_JUDGE = "nothing_to_judge"
"""Why no LLM is asked about a run that was skipped, or in which nothing is asked."""

OVERLOADED = "overloaded"
"""Why no LLM is asked while too many runs wait for one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that an LLM is asked about. ``future`` ends when it has answered, or will not."""

    tier: LlmTier
    future: Future[Outcome]

    @property
    def done(self) -> bool:
        """Whether it has answered."""
        return self.future.done()

    def final(self, local: Report) -> Report:
        """Return the final report of the run whose local one is ``local``; wait for it if need be."""
        return self.tier.final(local, self.future)


def _as_it_is(run: Run) -> Run:
    return run


class LlmTier:
    """Asks an LLM about runs, as the schedule says, and judges by its answers.

    Runs that are chosen whatever the local tier says are asked about before that has measured.
    ``waiting_runs`` is how many may wait for the LLM at once: one more keeps its local verdict, or,
    where that is ``patient``, waits for its turn. ``rank`` chooses among chunks that are too many to
    be shown; ``redact`` takes out of a run what must not leave the machine.
    """

    def __init__(
        self,
        asker: Asker,
        model: str,
        detector: LlmDetector,
        schedule: Schedule,
        *,
        waiting_runs: int,
        rank: Ranker | None = None,
        redact: Callable[[Run], Run] = _as_it_is,
        quote_text: bool = False,
        patient: bool = False,
    ) -> None:
        self._asker = asker
        self._detector = detector
        self._schedule = schedule
        self._free = threading.Semaphore(waiting_runs)
        self._quote_text = quote_text
        self._patient = patient
        self._model = model
        self._rank = rank
        self._redact = redact

    def before(self, run: Run, *, disliked: bool = False) -> Asked | JudgeUse | None:
        """Ask about ``run`` where that does not depend on its verdicts; ``None`` where it does."""
        if run.skip_reason is not None or asks_nothing(run):
            return self._skipped(NOTHING_TO_JUDGE)
        if self._schedule.when is When.ESCALATE and not disliked:
            return None
        return self._choose(run, uncertain=False, disliked=disliked)

    def after(self, run: Run, verdicts: Mapping[Stage, Verdict]) -> Asked | JudgeUse:
        """Ask about ``run`` if its local verdicts are uncertain."""
        return self._choose(
            run, uncertain=is_uncertain(verdicts, self._detector.bands), disliked=False
        )

    def again(self, run: Run) -> Asked | JudgeUse:
        """Ask about a run that its user disliked after it had been judged."""
        return self._choose(run, uncertain=False, disliked=True)

    def close(self, grace_seconds: float) -> None:
        """Begin no more calls, and wait so long for those that are under way."""
        self._asker.close(grace_seconds)

    def final(self, local: Report, future: Future[Outcome]) -> Report:
        """Return the report with what the LLM said: the local one where it said nothing."""
        error = future.exception()
        if error is not None:
            use = JudgeUse(self._model, abstained=(("all", "error"),))
            return replace(local, judge=use)
        outcome = future.result()
        if self._patient and outcome.retry_after_seconds is not None:
            outcome = self._asker.ask(self._redact(local.run.shown), self._rank, patient=True)
        use = use_of(outcome, self._model)
        if not outcome.measurements:
            return replace(local, judge=use)
        return self.with_answers(local, outcome.measurements, use)

    def with_answers(
        self, local: Report, answered: tuple[Measurement, ...], use: JudgeUse
    ) -> Report:
        """Return the report by the measurements that an LLM's answers make, beside the local ones."""
        measurements = (*local.measurements, *answered)
        return build_report(
            local.run,
            measurements,
            self._detector.judge(local.run, measurements),
            detector_version=self._detector.version,
            tier=Tier.LLM,
            analysis_seconds=local.analysis_seconds,
            quote_text=self._quote_text,
            judge=use,
        )

    def _choose(self, run: Run, *, uncertain: bool, disliked: bool) -> Asked | JudgeUse:
        if run.shown.skip_reason is not None:
            return self._skipped(REDACTED)
        choice = self._schedule.choose(run.run_id, uncertain=uncertain, disliked=disliked)
        if choice is not Choice.ASKED:
            return self._skipped(choice.value)
        if not self._free.acquire(blocking=self._patient):
            return self._skipped(OVERLOADED)
        asked = None
        try:
            asked = Asked(self, self._asker.submit(self._redact(run.shown), self._rank))
        finally:
            if asked is None:
                self._free.release()
        asked.future.add_done_callback(lambda _: self._free.release())
        return asked

    def _skipped(self, reason: str) -> JudgeUse:
        return JudgeUse(self._model, skipped=reason)


def use_of(outcome: Outcome, model: str) -> JudgeUse:
    """Return what stands on the report of what an LLM was asked.

    A run of which no call was made for one reason (the budget, the breaker) was skipped for it.
    """
    usage = outcome.usage
    reasons = set(outcome.abstained.values())
    skipped = reasons.pop().value if not outcome.calls and len(reasons) == 1 else ""
    cached = usage.cache_read_tokens
    return JudgeUse(
        model,
        skipped=skipped,
        calls=outcome.calls,
        prompt_tokens=usage.prompt_tokens + cached + usage.cache_write_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=cached,
        cost_usd=outcome.cost_usd,
        seconds=outcome.seconds,
        abstained=()
        if skipped
        else tuple((key, why.value) for key, why in outcome.abstained.items()),
        suspected=tuple((each.kind.value, each.where) for each in outcome.suspected),
        left_out=tuple(outcome.left_out),
    )

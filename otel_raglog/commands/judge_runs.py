"""Files to the runs that an LLM is asked about, and to what it is shown of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from otel_raglog.analysis import Analyser
from otel_raglog.building import (
    build_conventions,
    build_cross_encoder,
    build_markers,
    ranker_of,
    reader_of,
)
from otel_raglog.checks.judge.judge_check import JudgeCheck
from otel_raglog.checks.judge.registry import ECONOMY_LEAVES_OUT, checks_for
from otel_raglog.checks.judge.view import JudgeView, Ranker, by_words, view_of
from otel_raglog.clock import SystemClock
from otel_raglog.commands.analyze import joining, map_all
from otel_raglog.commands.captures import StoredMappings
from otel_raglog.commands.reading import read_files
from otel_raglog.detect.judgeable import asks_nothing
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.errors import BadInput
from otel_raglog.judge.redacting import Redactor
from otel_raglog.model import Run
from otel_raglog.options import Analysis, Config, Judge
from otel_raglog.redaction.building import build_redaction

_MOST_IDS = 5
_SHOWN = 80


@dataclass(slots=True)
class AskedRuns:
    """The runs in files by id, those in which nothing is asked left out, and what could not be read."""

    runs: dict[str, Run] = field(default_factory=dict)
    skipped: int = 0
    problems: list[str] = field(default_factory=list)


def read_runs(files: Sequence[Path], loaded: Config, *, join: bool) -> AskedRuns:
    """Return the runs that an LLM can be asked about; of several of one id the first alone.

    Raises:
        BadInput: there is none.
    """
    conventions = build_conventions(loaded.conventions)
    reading = read_files(files, markers=build_markers(conventions), stored=StoredMappings())
    analyser = Analyser(
        (),
        Rules1(),
        SystemClock(),
        conventions=conventions,
        redaction=build_redaction(loaded.redaction),
    )
    mapped = map_all(reading.traces(), analyser, joining(loaded.join, wanted=join))
    found = AskedRuns(problems=list(reading.problems))
    repeated: Counter[str] = Counter()
    for run in (*(run for each in mapped for run in each.runs), *reading.runs):
        if run.shown.skip_reason is not None or asks_nothing(run.shown):
            found.skipped += 1
        elif run.run_id not in found.runs:
            found.runs[run.run_id] = run
        else:
            repeated[run.run_id] += 1
    if repeated:
        found.problems.append(_repeated_in_words(repeated))
    if not found.runs:
        raise BadInput("; ".join([*found.problems, "there is no run in which anything is asked"]))
    return found


def _repeated_in_words(repeated: Counter[str]) -> str:
    ids = ", ".join(repr(run_id[:_SHOWN]) for run_id in islice(repeated, _MOST_IDS))
    more = f" and {len(repeated) - _MOST_IDS} more" if len(repeated) > _MOST_IDS else ""
    return (
        f"{repeated.total()} runs left out that have the id of an earlier one, which is taken: "
        f"{ids}{more}"
    )


def checks_asked(view: JudgeView, *, economy: bool) -> Sequence[JudgeCheck[Any]]:
    """Return the checks that are asked about a run of which ``view`` is shown."""
    return [
        check for check in checks_for(view) if not (economy and check.key == ECONOMY_LEAVES_OUT)
    ]


def is_frugal(options: Judge, economy: bool | None) -> bool:
    """Tell whether the costliest check is left out: what a command says wins."""
    return options.economy if economy is None else economy


class Showing:
    """What is shown of runs, as when the service asks. The cross-encoder is loaded when needed."""

    def __init__(self, loaded: Config) -> None:
        self._judge = loaded.judge
        self._analysis = loaded.analysis
        redaction = build_redaction(loaded.redaction)
        self._redact = Redactor(loaded.judge.redact, redaction)
        self._ranker: Ranker | None = None
        self._lock = threading.Lock()

    def redacted(self, run: Run) -> Run:
        """Return ``run`` as an LLM may see it."""
        return self._redact(run.shown)

    def rank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Rank texts by how well they answer; for all threads."""
        with self._lock:
            if self._ranker is None:
                self._ranker = _ranker(self._analysis)
        return self._ranker(question, texts)

    def view(self, run: Run) -> JudgeView:
        """Return what is shown of ``run``."""
        return view_of(
            self.redacted(run),
            max_prompt_tokens=self._judge.max_prompt_tokens,
            max_excluded=self._judge.max_excluded_chunks,
            rank=self.rank,
        )


def _ranker(options: Analysis) -> Ranker:
    reader = build_cross_encoder(options) if reader_of(options) else None
    return ranker_of(reader) or by_words


def brief_view(run: Run) -> JudgeView:
    """Return a view by which it can be told what can be graded, and nothing else."""
    return view_of(run, max_excluded=0)

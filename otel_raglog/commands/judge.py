"""``otel-raglog judge``: runs to requests to an LLM and its answers to files, in batches or online."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from otel_raglog.building import build_asker
from otel_raglog.checks.judge.answers_file import (
    RecordedAnswers,
    append_answers,
    merged,
    read_answers_file,
    write_answers,
)
from otel_raglog.checks.judge.prompting import question_of, system_of_questions
from otel_raglog.checks.judge.registry import ECONOMY_LEAVES_OUT, JUDGE_CHECKS, checks_for
from otel_raglog.checks.judge.untrusted import suspected
from otel_raglog.checks.judge.view import JudgeView
from otel_raglog.commands.analyze import Files, JoinFlag, report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.costs import Cost, counts_in_words, tokens_in_words
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.judge_correctness import correctness
from otel_raglog.commands.judge_runs import (
    AskedRuns,
    Showing,
    brief_view,
    checks_asked,
    is_frugal,
    read_runs,
)
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.config import load_config, read_judge_key
from otel_raglog.errors import BadInput
from otel_raglog.judge.asking import Asker, Outcome
from otel_raglog.judge.batch import (
    BATCH_LIMITS,
    BATCH_PRICE_SHARE,
    BatchApi,
    RequestFiles,
    asks_of,
    body_of,
    custom_ids,
    request_line,
)
from otel_raglog.judge.batch_answers import (
    Expected,
    Imported,
    expected_requests,
    import_responses,
    recorded,
)
from otel_raglog.judge.batch_responses import BatchResponse, UnreadableLine, read_responses
from otel_raglog.judge.calling import Reason, expected_of_ask
from otel_raglog.judge.client import Usage
from otel_raglog.judge.clients import PROVIDERS
from otel_raglog.judge.parts import Mode, new_nonce
from otel_raglog.judge.prices import Prices
from otel_raglog.model import Run
from otel_raglog.options import Judge

judge_app = typer.Typer(
    help="Ask an LLM about runs, online or by the batch APIs, and keep its answers.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

judge_app.command()(correctness)

_KEYS = tuple(check.key for check in JUDGE_CHECKS)
_FOR_ALL_RUNS = frozenset(
    {
        Reason.BUDGET,
        Reason.BREAKER_OPEN,
        Reason.UNAUTHORIZED,
        Reason.PAYMENT_REQUIRED,
        Reason.NO_SUCH_MODEL,
        Reason.STOPPED,
    }
)
"""Why no further run would be answered either."""

AnswersOut = Annotated[
    Path,
    typer.Option("--out", help="File of answers, JSON lines, .gz too; what is there is completed."),
]
Economy = Annotated[
    bool | None,
    typer.Option(
        "--economy/--all-checks",
        help="Leave out the statement-level check, the costliest; default: judge.economy.",
    ),
]


@judge_app.command()
def export(
    files: Files,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="File of requests, JSON lines. Replaced if it is one; any other file is refused.",
        ),
    ],
    api: Annotated[
        BatchApi | None, typer.Option(help="Whose batch API; default: judge.provider.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name there; default: judge.model.")
    ] = None,
    economy: Economy = None,
    reasoning: Annotated[
        bool,
        typer.Option(
            "--reasoning", help="The model always reasons first: leave it room, ask for little."
        ),
    ] = False,
    join: JoinFlag = False,
    config: ConfigFile = None,
) -> None:
    """Write the requests about the runs in FILES for a batch API, one a line.

    What is more than one batch may hold goes into numbered files beside --out. Nothing is sent, and
    no file is replaced but one of requests. Exit code 0: done; 2: bad usage or input (what could
    be read is still exported).
    """
    loaded = load_config(config)
    api = api or BatchApi(loaded.judge.provider)
    if model is None and api != loaded.judge.provider:
        raise typer.BadParameter(f"--api {api} needs the name of a model", param_hint="--model")
    model = model or loaded.judge.model
    _refuse_to_replace(out, files)
    prices = Prices.load(loaded.judge.prices)
    runs = read_runs(files, loaded, join=join)
    shown = Showing(loaded)
    frugal = is_frugal(loaded.judge, economy)
    usage, cost, asked = Usage(), Cost(), 0
    with showing_progress() as tell, RequestFiles(out, BATCH_LIMITS[api]) as requests:
        for number, run in enumerate(runs.runs.values(), 1):
            view = shown.view(run)
            checks = checks_asked(view, economy=frugal)
            asks, ids = asks_of(checks, view, new_nonce), custom_ids(run.run_id, view, checks)
            for key, ask in asks.items():
                body = body_of(api, model, ask, reasons=reasoning)
                requests.add(request_line(api, ids[key], body))
                expected = expected_of_ask(ask)
                usage += expected
                cost.add(prices.cost(model, expected))
            asked += bool(asks)
            tell("Exporting", number, len(runs.runs))
        for path in requests.paths[1:]:
            _refuse_to_replace(path, files)
    for path in requests.paths[1:]:
        sys.stderr.write(f"otel-raglog: one batch cannot hold all requests: more are in {path}\n")
    _warn_of_stale(requests.paths)
    names = ", ".join(str(path) for path in requests.paths)
    sys.stdout.write(
        f"{names}: {asked} runs, {requests.requests:,} requests for {model}, about "
        f"{usage.prompt_tokens:,} + {usage.completion_tokens:,} tokens, "
        f"{cost.words(BATCH_PRICE_SHARE, 'about ')} as a batch\n"
    )
    _finish(runs)


@judge_app.command("import")
def import_(
    files: Files,
    responses: Annotated[
        list[Path],
        typer.Option(
            "--responses",
            help="Results of a batch, JSON lines, .gz too; may be given several times.",
        ),
    ],
    out: AnswersOut,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model's name as it was exported, the only one whose answers are taken; default: judge.model."
        ),
    ] = None,
    join: JoinFlag = False,
    config: ConfigFile = None,
) -> None:
    """Read the answers about the runs in FILES from the results of batches of either API.

    FILES must be those that were exported, and what decides what is shown of them (judge.redact,
    judge.max_prompt_tokens, judge.max_excluded_chunks, the cross-encoder, this version) the same. Exit
    code 0: done; 2: bad usage or input, or some requests failed or were answered by another model: these
    are named, and the others' answers are written all the same.
    """
    loaded = load_config(config)
    prices = Prices.load(loaded.judge.prices)
    runs = read_runs(files, loaded, join=join)
    shown = Showing(loaded)
    expected: dict[str, Expected] = {}
    name = model or loaded.judge.model
    there = _read_out(out)
    with showing_progress() as tell:
        for number, run in enumerate(runs.runs.values(), 1):
            view = shown.view(run)
            expected |= expected_requests(run.run_id, checks_for(view), view)
            tell("Preparing", number, len(runs.runs))
        read = _counted(read_responses(responses), len(expected), tell)
        found = import_responses(read, expected, prices.cost, name)
    _refuse_other_models(out, there, {name} if found.answers else ())
    report_problems([*found.replaced, *found.problems, *_why_unknown(found)])
    again = len(found.answers.keys() & there.keys())
    if again:
        sys.stderr.write(
            f"otel-raglog: {out} has answers about {again} of these runs: new ones win\n"
        )
    if found.answers:
        for run_id, answers in found.answers.items():
            there[run_id] = merged(there.get(run_id), answers)
        write_answers(out, there.values())
    _print_imported(found, out, len(runs.runs), len(there))
    _finish(runs, failed=bool(found.problems) or not found.answers)


@judge_app.command()
def ask(
    files: Files,
    out: AnswersOut,
    economy: Economy = None,
    join: JoinFlag = False,
    config: ConfigFile = None,
) -> None:
    """Ask the LLM of the configuration (judge.…) about the runs in FILES, and write its answers.

    Whatever judge.when says, all runs are asked about, within judge.budget. Goes on where an
    interrupted call stopped: runs that --out has all answers of are not asked about again. Exit code
    0: done; 2: bad usage or input, or some checks have no answer: calling again asks about them.
    """
    loaded = load_config(config)
    options = loaded.judge
    options = options.model_copy(update={"economy": is_frugal(options, economy)})
    if Mode(options.mode) is Mode.FIRST_TOKEN:
        raise BadInput("judge.mode: first_token gives no answers that a file could hold; use json")
    runs = read_runs(files, loaded, join=join)
    there = _read_out(out)
    _refuse_other_models(out, there, {options.model})
    waiting = [run for run in runs.runs.values() if _unanswered(run, options, there)]
    if there:
        sys.stderr.write(
            f"otel-raglog: {out} has all answers about {len(runs.runs) - len(waiting)} of "
            f"{len(runs.runs)} runs\n"
        )
    asker = build_asker(options, read_judge_key(options)) if waiting else None
    # Also what an interrupted call left of its last line is gone then.
    write_answers(out, there.values())
    tally = _Asked(options.model)
    if asker is not None:
        try:
            with showing_progress() as tell:
                for run, outcome in _outcomes(asker, waiting, Showing(loaded), options):
                    if tally.add(outcome):
                        there[run.run_id] = merged(there.get(run.run_id), _line(run, outcome))
                        append_answers(out, there[run.run_id])
                    tell("Asking", tally.runs, len(waiting))
        finally:
            asker.close()
        write_answers(out, there.values())
    sys.stdout.write(f"{tally.words(len(waiting))}\n{out}: answers about {len(there)} runs\n")
    _finish(runs, failed=bool(tally.abstained) or tally.runs < len(waiting))


@judge_app.command()
def show(
    files: Files,
    run_id: Annotated[str | None, typer.Option("--id", help="Only the run with this id.")] = None,
    check: Annotated[str | None, typer.Option(help=f"Only this check: {', '.join(_KEYS)}.")] = None,
    economy: Economy = None,
    join: JoinFlag = False,
    config: ConfigFile = None,
) -> None:
    """Print exactly what would be sent about the runs in FILES; only the delimiters differ each time.

    In judge.mode first_token that is each question of yes and no. Nothing is sent. Exit code 0: done;
    2: bad usage or input.
    """
    if check is not None and check.removeprefix("judge.") not in _KEYS:
        raise typer.BadParameter(f"{check!r} is none of {', '.join(_KEYS)}", param_hint="--check")
    loaded = load_config(config)
    runs = read_runs(files, loaded, join=join)
    if run_id is not None and run_id not in runs.runs:
        raise BadInput(f"--id {run_id}: no such run, or nothing is asked in it")
    wanted = [run for run in runs.runs.values() if run_id in {None, run.run_id}]
    frugal, mode = is_frugal(loaded.judge, economy), Mode(loaded.judge.mode)
    shown = Showing(loaded)
    address = loaded.judge.endpoint or PROVIDERS[loaded.judge.provider].endpoint
    sys.stderr.write(f"otel-raglog: for {loaded.judge.model} at {address}; nothing is sent now\n")
    for run in wanted:
        view = shown.view(run)
        told = _questions_of if mode is Mode.FIRST_TOKEN else _asks_of
        for key, part, text in told(view, economy=frugal):
            if check is None or key == check.removeprefix("judge."):
                sys.stdout.write(f"======== run {run.run_id}, judge.{key}: {part}\n{text}\n")
        for phrase in view.left_out:
            sys.stderr.write(f"otel-raglog: run {run.run_id}: {phrase}\n")
        for suspicion in suspected(view):
            sys.stderr.write(
                f"otel-raglog: run {run.run_id}: {suspicion.where} may try to instruct the LLM "
                f"({suspicion.kind})\n"
            )
    _finish(runs)


def _finish(runs: AskedRuns, *, failed: bool = False) -> None:
    """Say what was left out; exit with 2 when something failed."""
    if runs.skipped:
        sys.stderr.write(f"otel-raglog: in {runs.skipped} runs nothing is asked: left out\n")
    report_problems(runs.problems)
    if failed or runs.problems:
        raise typer.Exit(BAD_INPUT)


def _asks_of(view: JudgeView, *, economy: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the texts that are sent where answers are JSON: the check's key, which text, the text."""
    for key, request in asks_of(checks_asked(view, economy=economy), view, new_nonce).items():
        yield key, "system", request.system
        yield key, "prompt", request.prompt
        yield key, "schema", json.dumps(request.schema)


def _questions_of(view: JudgeView, *, economy: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the texts that are sent where each question is answered with yes or no."""
    nonce = new_nonce()
    for check in JUDGE_CHECKS:
        if economy and check.key == ECONOMY_LEAVES_OUT:
            continue
        for question in check.questions:
            if question.stage in view.stages:
                yield check.key, f"{question.measurement}: system", system_of_questions()
                yield (
                    check.key,
                    f"{question.measurement}: prompt",
                    question_of(view, question, nonce),
                )


def _refuse_to_replace(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write requests over what is to be exported, or over anything but requests.

    Raises:
        BadInput: ``path`` is one of ``inputs``, or is there and holds something else.
    """
    if not path.exists():
        return
    if any(each.exists() and path.samefile(each) for each in inputs):
        raise BadInput(f"--out {path} is one of the files to export: it would be lost")
    if not _holds_requests(path):
        raise BadInput(f"--out {path} is there and is no file of requests: it would be lost")


def _holds_requests(path: Path) -> bool:
    if not path.is_file():  # a pipe would be waited for
        return False
    try:
        with path.open("rb") as file:
            return all(_is_request(line) for line in file if line.strip())
    except OSError:
        return False


def _is_request(line: bytes) -> bool:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return False
    # Responses have a custom_id too.
    return isinstance(data, dict) and "custom_id" in data and bool({"params", "body"} & data.keys())


# ------------------------------------------------------------------------------ answers


def _read_out(out: Path) -> dict[str, RecordedAnswers]:
    """Return the answers in a file that is to be completed.

    Raises:
        BadInput: it holds something else, which would be lost.
    """
    if not out.exists():
        return {}
    file = read_answers_file(out)
    if file.problems:
        more = f" (and {len(file.problems) - 1} more)" if len(file.problems) > 1 else ""
        raise BadInput(f"--out holds what would be lost: {file.problems[0]}{more}")
    if file.torn is not None:
        report_problems([f"{file.torn}: that line is asked for anew"])
    return file.answers


def _refuse_other_models(
    out: Path, there: Mapping[str, RecordedAnswers], models: Iterable[str]
) -> None:
    """Refuse to put answers of several models into one file: a detector is for one of them."""
    known = {answers.model for answers in there.values() if answers.model is not None}
    every = sorted({*known, *models})
    if len(every) > 1:
        raise BadInput(
            f"--out {out}: answers of several models ({', '.join(every)}) belong into files of their "
            "own; --model says under which name a batch was exported"
        )


def _counted(
    responses: Iterable[BatchResponse | UnreadableLine], total: int, tell: Told
) -> Iterator[BatchResponse | UnreadableLine]:
    for number, response in enumerate(responses, 1):
        yield response
        tell("Reading", min(number, total), total)


def _why_unknown(found: Imported) -> Iterator[str]:
    if found.unknown:
        yield (
            "a request is known by all that it shows: import needs the runs of the export, the same "
            "judge.redact, judge.max_prompt_tokens, judge.max_excluded_chunks, cross-encoder "
            "(analysis.…) and version"
        )


def _print_imported(found: Imported, out: Path, runs: int, there: int) -> None:
    parts = [f"{found.responses:,} responses: answers about {len(found.answers)} of {runs} runs"]
    counts = {
        "failed": found.failed,
        "by another model": found.other_model,
        "unknown": found.unknown,
        "unreadable": found.unreadable,
    }
    parts += [f"{count} {what}" for what, count in counts.items() if count]
    if found.replaced:
        parts.append(f"{len(found.replaced)} replaced by later ones")
    cost = Cost(found.cost_usd)
    sys.stdout.write(
        f"{', '.join(parts)}\n{tokens_in_words(found.usage)}, {cost.words()}\n"
        f"{out}: answers about {there} runs\n"
    )


def _unanswered(run: Run, options: Judge, there: Mapping[str, RecordedAnswers]) -> bool:
    """Tell whether a check that is asked about ``run`` has no answer yet."""
    known = there[run.run_id].answered if run.run_id in there else ()
    checks = checks_asked(brief_view(run), economy=options.economy)
    return any(check.key not in known for check in checks)


def _line(run: Run, outcome: Outcome) -> RecordedAnswers:
    answers = {key: getattr(outcome.answers, key) for key in _KEYS}
    return recorded(run.run_id, outcome.answers.model, answers, outcome.usage, outcome.cost_usd)


def _outcomes(
    asker: Asker, runs: Sequence[Run], shown: Showing, options: Judge
) -> Iterator[tuple[Run, Outcome]]:
    """Yield what an LLM says of each run as it comes, until none would be answered any more."""
    asked: dict[Future[Outcome], Run] = {}
    coming = iter(runs)
    while True:
        for run in islice(coming, options.waiting_runs - len(asked)):
            asked[asker.submit(shown.redacted(run), shown.rank)] = run
        if not asked:
            return
        for future in wait(asked, return_when=FIRST_COMPLETED).done:
            run, outcome = asked.pop(future), future.result()
            if outcome.retry_after_seconds is not None:
                outcome = asker.ask(shown.redacted(run), shown.rank, patient=True)
            yield run, outcome
            if _is_hopeless(outcome):
                coming = iter(())


def _is_hopeless(outcome: Outcome) -> bool:
    reasons = set(outcome.abstained.values())
    if reasons == {Reason.BUDGET} and outcome.retry_after_seconds is None:
        return False  # this run alone is larger than the limit
    return bool(reasons) and not outcome.measurements and reasons <= _FOR_ALL_RUNS


@dataclass(slots=True)
class _Asked:
    """What asking has come to. ``runs`` had their turn, a call was made about ``asked`` of them."""

    model: str
    runs: int = 0
    asked: int = 0
    not_asked: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=Cost)
    abstained: Counter[str] = field(default_factory=Counter)
    stopped_by: str = Reason.STOPPED.value

    def add(self, outcome: Outcome) -> bool:
        """Count an outcome, and tell whether it holds any answer."""
        self.runs += 1
        reasons = Counter(reason.value for reason in outcome.abstained.values())
        if outcome.calls:
            self.asked += 1
        else:
            self.not_asked.update(reason for reason, _ in reasons.most_common(1))
        self.calls += outcome.calls
        self.usage += outcome.usage
        self.cost.add(outcome.cost_usd)
        self.abstained.update(reasons)
        if _is_hopeless(outcome):
            self.stopped_by = next(iter(reasons))
        return any(getattr(outcome.answers, key) is not None for key in _KEYS)

    def words(self, waiting: int) -> str:
        """Return what people are told."""
        line = (
            f"{self.model} was asked about {self.asked} of {waiting} runs: {self.calls:,} calls, "
            f"{tokens_in_words(self.usage)}, {self.cost.words()}"
        )
        not_asked = self.not_asked.copy()
        if waiting > self.runs:
            # Asking stopped for a reason that holds for all further runs.
            not_asked[self.stopped_by] += waiting - self.runs
        if not_asked:
            line += f"\nruns not asked about: {counts_in_words(not_asked)}"
        if self.abstained:
            reasons = counts_in_words(self.abstained)
            line += f"\nchecks without an answer: {reasons}"
        if not_asked or self.abstained:
            line += "; call again to ask about them"
        return line


def _warn_of_stale(paths: Sequence[Path]) -> None:
    """Name the next numbered file of an earlier export: it does not belong to this one."""
    last = paths[0]
    following = last.with_name(f"{last.stem}-{len(paths) + 1}{last.suffix}")
    if following.exists():
        sys.stderr.write(f"otel-raglog: {following} is of an earlier export: do not send it\n")

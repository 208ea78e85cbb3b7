"""``otel-raglog lab``: real pipelines over corpora, faults put into them, labels."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.progress import Told, showing_progress
from otel_raglog.config import load_config, read_secret
from otel_raglog.errors import BadInput
from otel_raglog.judge.redacting import Redactor
from otel_raglog.lab.corpus import Corpus, read_corpus, thinned
from otel_raglog.lab.inject.registry import faults_named
from otel_raglog.lab.judges.agreement import Agreement, agreement_in
from otel_raglog.lab.judges.clients import key_variable, patient_client
from otel_raglog.lab.judges.judge import Judge
from otel_raglog.lab.judges.labelling import failures_of, label_all
from otel_raglog.lab.judges.naming import JudgeName, three_judges
from otel_raglog.lab.judges.panel import Panel
from otel_raglog.lab.labels import label
from otel_raglog.lab.laboratory import Lab, absorbed
from otel_raglog.lab.llm import ChatModel
from otel_raglog.lab.pipelines.registry import pipelines_named, with_models
from otel_raglog.lab.pipelines.rerankers import CrossEncoder
from otel_raglog.lab.raglog_faults import import_release
from otel_raglog.lab.raglog_fields import read_fields_file
from otel_raglog.lab.records import OFFLINE_MODEL, RecordFile, read_records
from otel_raglog.lab.splits import Part
from otel_raglog.model import Stage
from otel_raglog.redaction.building import build_redaction

lab_app = typer.Typer(
    help="Run real local RAG pipelines over corpora with known evidence, put faults into them, label them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_NATURAL_PER_INJECTED = 3

Corpora = Annotated[
    list[Path],
    typer.Option(
        "--corpus",
        help="Folder with docs.jsonl and queries.jsonl (or .gz); may be given several times.",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="Run records, JSON lines; what is there is kept.")]
Pipelines = Annotated[
    list[str] | None, typer.Option("--pipeline", help="Pipelines by name; without it, all.")
]
Work = Annotated[
    Path | None, typer.Option("--work", help="Folder that keeps the corpora's vectors.")
]
Words = Annotated[
    int | None,
    typer.Option("--words", min=100, help="At most so many words of each corpus; without it, all."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides every choice.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Texts encoded side by side.")]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        help="OpenAI-compatible address (http://…/v1) of an LLM that rewrites and answers; without it both work offline.",
    ),
]
Model = Annotated[str | None, typer.Option("--model", help="The LLM's name at --endpoint.")]
KeyFrom = Annotated[
    str, typer.Option("--key-from", help="Environment variable that holds the endpoint's key.")
]
CrossEncoderName = Annotated[
    str | None,
    typer.Option("--cross-encoder", help="Rerank by this cross-encoder of sentence-transformers."),
]


@lab_app.command("run")
def run_lab(
    corpus: Corpora,
    out: Out,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Natural runs in all.")] = 300,
    pipeline: Pipelines = None,
    part: Annotated[
        Part | None, typer.Option("--part", help="Only what the split keeps for this.")
    ] = None,
    work: Work = None,
    words: Words = None,
    seed: Seed = 0,
    threads: Threads = 1,
    endpoint: Endpoint = None,
    model: Model = None,
    key_from: KeyFrom = "OPENAI_API_KEY",
    cross_encoder: CrossEncoderName = None,
) -> None:
    """Run questions through pipelines and write labelled run records.

    Goes on where an interrupted call stopped: records that --out holds are not run again.
    """
    chat = _chat(endpoint, model, key_from, seed)
    known = {str(record["id"]) for record in read_records(out) if not record.get("injected")}
    with showing_progress() as tell:
        lab = _lab(corpus, pipeline, work, words, seed, threads, chat, cross_encoder, tell)
        file = RecordFile(out)
        for item in lab.plan(part):
            if len(known) >= runs:
                break
            record = None if lab.identity(*item).id in known else lab.run(*item)
            if record is not None:
                file.append(record)
                known.add(str(record["id"]))
                tell("Running", len(known), runs)
    if len(known) < runs:
        sys.stderr.write(f"otel-raglog: no more than {len(known)} runs can be made of these\n")
    _summary(out)


@lab_app.command("inject")
def inject(
    natural: Annotated[
        Path, typer.Argument(help="Natural runs, as lab run wrote them.", metavar="RUNS")
    ],
    corpus: Corpora,
    out: Out,
    fault: Annotated[
        list[str] | None, typer.Option("--fault", help="Faults by name; without it, all.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("--runs", min=1, help="Injected runs in all; a third of RUNS without it."),
    ] = None,
    pipeline: Pipelines = None,
    work: Work = None,
    words: Words = None,
    seed: Seed = 0,
    threads: Threads = 1,
    endpoint: Endpoint = None,
    model: Model = None,
    key_from: KeyFrom = "OPENAI_API_KEY",
    cross_encoder: CrossEncoderName = None,
) -> None:
    """Run clean runs of RUNS again, each with one fault put into one stage while it runs.

    --out may be RUNS itself. More than a third of RUNS is only made when --runs asks for it.
    """
    chat = _chat(endpoint, model, key_from, seed)
    faults = faults_named(tuple(fault or ()))
    clean = [record for record in read_records(natural) if not record.get("injected")]
    if not clean:
        raise BadInput(f"{natural} holds no natural runs")
    made = [record for record in read_records(out) if record.get("injected")]
    most = runs or len(clean) // _NATURAL_PER_INJECTED
    with showing_progress() as tell:
        lab = _lab(corpus, pipeline, work, words, seed, threads, chat, cross_encoder, tell)
        file = RecordFile(out)
        for number, record in enumerate(lab.injections(clean, faults, most, made), len(made) + 1):
            file.append(record)
            tell("Injecting", number, most)
    _summary(out)


@lab_app.command("label")
def relabel(
    records: Annotated[Path, typer.Argument(help="Run records.", metavar="RUNS")],
    out: Out,
    corpus: Annotated[
        list[Path] | None,
        typer.Option("--corpus", help="Label by the evidence of this corpus; several times."),
    ] = None,
    judges: Annotated[
        str | None,
        typer.Option(help="Label by two LLMs that see the references: A,B, each provider:model."),
    ] = None,
    adjudicator: Annotated[
        str | None, typer.Option(help="A third LLM, which decides where the judges differ.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option("--endpoint", help="Address of judges without one of their own (…@http://…)."),
    ] = None,
    key_from: Annotated[
        str | None,
        typer.Option(
            "--key-from",
            help="Environment variable with the judges' key. Default: ANTHROPIC_API_KEY or "
            "OPENAI_API_KEY, for the providers' own addresses alone.",
        ),
    ] = None,
    parallel: Annotated[
        int, typer.Option("--parallel", min=1, max=64, help="Runs judged at once.")
    ] = 4,
    redact: Annotated[
        list[str] | None,
        typer.Option(
            "--redact",
            help="Regular expression; what it matches is not sent to judges, nor is what "
            "judge.redact matches; several times.",
        ),
    ] = None,
    seed: Seed = 0,
    config: ConfigFile = None,
) -> None:
    """Label run records anew, of the lab or of your own pipelines.

    With --corpus by the corpus's evidence; a record's group names corpus and question
    (corpus:question). With --judges and --adjudicator by LLMs: they state findings, fixed rules make
    the labels; goes on where an interrupted call stopped. The texts of the runs are sent to them,
    whatever judge.when says, without what --redact and judge.redact match.
    """
    if (corpus is None) == (judges is None):
        raise BadInput("lab label needs either --corpus or --judges A,B with --adjudicator C")
    if judges is not None:
        if adjudicator is None:
            raise BadInput("--judges needs --adjudicator, which decides where they differ")
        names = three_judges(judges, adjudicator, endpoint)
        loaded = load_config(config)
        redaction = build_redaction(loaded.redaction)
        patterns = (*loaded.judge.redact, *map(_pattern, redact or ()))
        redactor = Redactor(patterns, redaction)
        _label_by_judges(records, out, names, key_from, parallel, seed, redactor)
        return
    lab = Lab(tuple(map(read_corpus, corpus or ())), (), MiniLmEncoder(), seed=seed)
    if out.exists():
        raise BadInput(f"{out} is there already")
    found = list(read_records(records))
    with showing_progress() as tell:
        file = RecordFile(out)
        for number, record in enumerate(found, 1):
            evidence, vocabulary = lab.known(record)
            labelled = {**record, **label(record, evidence, vocabulary).as_record()}
            if labelled.get("injected"):
                labelled["injected"]["absorbed"] = absorbed(labelled)
            file.append(labelled)
            tell("Labelling", number, len(found))
    _summary(out)


@lab_app.command("import-raglog-faults")
def import_raglog_faults(
    folder: Annotated[
        Path, typer.Argument(help="The unpacked release, or a part of it.", metavar="FOLDER")
    ],
    out: Annotated[Path, typer.Option("--out", help="Run records, JSON lines; written anew.")],
    fields: Annotated[
        Path | None,
        typer.Option("--fields", help="YAML file that says where the release has what."),
    ] = None,
) -> None:
    """Turn the RAGLog Faults release into run records with labels, for train and evaluate.

    Exit code 0: done; 2: bad usage or input: what could not be read is named, the rest is written.
    """
    mapping = read_fields_file(fields)
    with showing_progress() as tell:
        imported = import_release(folder, mapping, tell)
    out.unlink(missing_ok=True)
    file = RecordFile(out)
    for record in imported.records:
        file.append(record)
    _summary(out)
    sys.stdout.writelines(f"  read as {key}: {path}\n" for key, path in imported.found.items())
    report_problems([*imported.notes, *imported.problems])
    if imported.problems:
        raise typer.Exit(BAD_INPUT)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise BadInput(f"--redact {text!r} is no regular expression: {error}") from None
    return text


def _label_by_judges(
    records: Path,
    out: Path,
    names: tuple[JudgeName, JudgeName, JudgeName],
    key_from: str | None,
    parallel: int,
    seed: int,
    redact: Redactor,
) -> None:
    found = list(read_records(records))
    if not found:
        raise BadInput(f"{records} holds no runs")
    judges = []
    for name in names:
        variable = key_variable(name, key_from)
        client = patient_client(
            name,
            read_secret(variable) if variable else None,
            connections=parallel,
            clock=SystemClock(),
            random=Random(seed),  # noqa: S311  waits, no secrets
            wait=_wait,
        )
        judges.append(Judge(name.text, client))
    try:
        panel = Panel(
            judges[0],
            judges[1],
            judges[2],
            lambda run_id: Random(f"{seed} {run_id}"),  # noqa: S311  an order, no secret
            redact,
        )
        with showing_progress() as tell:
            problems = label_all(found, panel, out, parallel=parallel, tell=tell)
    finally:
        for judge in judges:
            judge.client.close()
    _summary(out)
    labelled = list(read_records(out))
    sys.stdout.writelines(f"  {line}\n" for line in _agreement_lines(agreement_in(labelled)))
    failed = [f"{r['id']}: {why}" for r in labelled for why in failures_of(r)]
    report_problems([*problems, *failed])
    if problems:
        raise typer.Exit(BAD_INPUT)


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _agreement_lines(found: Mapping[Stage | None, Agreement]) -> Iterator[str]:
    yield f"{'judges':10} {'both':>6} {'agree':>6} {'kappa':>6} {'adjudicated':>12} {'unlabelled':>11}"
    for stage, each in found.items():
        share = "-" if each.share is None else f"{each.share:.2f}"
        kappa = "-" if each.kappa is None else f"{each.kappa:.2f}"
        yield (
            f"{stage or 'overall':10} {each.both:6} {share:>6} {kappa:>6} "
            f"{each.adjudicated:12} {each.unlabelled:11}"
        )


def _chat(endpoint: str | None, model: str | None, key_from: str, seed: int) -> ChatModel | None:
    if endpoint is None:
        return None
    if model is None:
        raise BadInput("--endpoint needs --model, the name of the LLM there")
    return ChatModel(endpoint, model, read_secret(key_from), seed=seed)


def _lab(
    folders: list[Path],
    names: list[str] | None,
    work: Path | None,
    words: int | None,
    seed: int,
    threads: int,
    chat: ChatModel | None,
    cross_encoder: str | None,
    tell: Told,
) -> Lab:
    corpora: tuple[Corpus, ...] = tuple(map(read_corpus, folders))
    if words is not None:
        corpora = tuple(thinned(corpus, words, seed) for corpus in corpora)
    reranker = CrossEncoder(cross_encoder) if cross_encoder else None
    pipelines = [with_models(p, chat, reranker) for p in pipelines_named(tuple(names or ()))]
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
    encoder = MiniLmEncoder(workers=threads, max_cached_vectors=60_000)
    model = chat.name if chat else OFFLINE_MODEL
    return Lab(corpora, pipelines, encoder, work, seed, model, tell)


def _summary(out: Path) -> None:
    """Print what a file holds: runs, and faulty ones of all by stage."""
    runs: Counter[str] = Counter()
    stages: dict[str, Counter[str]] = {}
    for record in read_records(out):
        injected: Mapping[str, Any] | None = record.get("injected")
        runs["injected" if injected else "natural"] += 1
        runs["absorbed"] += bool(injected and injected.get("absorbed"))
        for stage, found in record["labels"].items():
            stages.setdefault(stage, Counter())["faulty" if found["faulty"] else "ok"] += 1
        for stage in record.get("unlabelled") or {}:
            stages.setdefault(stage, Counter())["unlabelled"] += 1
    sys.stdout.write(
        f"{out}: {runs['natural']} natural runs, {runs['injected']} injected "
        f"({runs['absorbed']} of them absorbed)\n"
    )
    for stage, counts in stages.items():
        sys.stdout.write(
            f"  {stage:10} {counts['faulty']} faulty, {counts['ok']} ok, "
            f"{counts['unlabelled']} without a label\n"
        )

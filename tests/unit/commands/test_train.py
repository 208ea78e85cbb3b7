"""otel-raglog train."""

import json
from pathlib import Path

import numpy as np
import pytest
from judge_behaviours import SOUND
from typer.testing import CliRunner

from otel_raglog.checks.judge.answers_file import RecordedAnswers
from otel_raglog.commands import app
from otel_raglog.commands.train import judge_model_of
from otel_raglog.detect.artifact import load_artifact
from otel_raglog.errors import BadInput
from otel_raglog.model import Stage

CONFIG = "analysis:\n  checks: [rules]\n"


def write_runs(path, count: int = 36) -> None:
    """Write runs whose retriever is faulty when the chunk is about something else."""
    random = np.random.default_rng(1)
    lines = []
    for number in range(count):
        faulty = bool(random.random() < 0.5)
        text = "Lost badges must be reported." if faulty else "Employees get 25 vacation days."
        record = {
            "id": f"r{number}",
            "group": f"q{number // 2}",
            "pipeline": "p",
            "question": "How many vacation days do employees get?",
            "retrieved": [{"id": "a", "text": text}],
            "prompt": f"{text}\n\nHow many vacation days do employees get?",
            "answer": "They get 25 days of vacation.",
            "labels": {"retriever": {"faulty": faulty, "types": ["no_relevant_chunk"][:faulty]}},
        }
        lines.append(json.dumps(record))
    path.write_text("\n".join(lines))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("trained")
    write_runs(tmp_path / "runs.jsonl")
    (tmp_path / "config.yaml").write_text(CONFIG)
    arguments = [str(tmp_path / "runs.jsonl"), "--config", str(tmp_path / "config.yaml")]
    result = CliRunner().invoke(app, ["train", *arguments, "--out", str(tmp_path / "model")])
    assert result.exit_code == 0, result.output
    return tmp_path, arguments, result


def test_train_writes_a_detector_and_says_what_to_expect(trained) -> None:
    """With provenance: the files, their hashes and numbers of runs."""
    folder, _, result = trained
    manifest = load_artifact(folder / "model").manifest
    assert manifest.version in result.output
    assert "retriever" in result.output
    assert set(manifest.stages) == {Stage.RETRIEVER}
    assert [(name, runs) for name, _, runs in manifest.trained_on.files] == [("runs.jsonl", 36)]


def test_analyze_uses_the_trained_detector(trained) -> None:
    """By the option analysis.detector; the reports bear its version, and what did not run."""
    folder, arguments, _ = trained
    config = folder / "detector.yaml"
    config.write_text(f"{CONFIG}  detector: {folder / 'model'}\n")
    command = ["analyze", arguments[0], "--config", str(config), "--format", "jsonl"]
    result = CliRunner().invoke(app, command)
    report = json.loads(result.stdout.splitlines()[0])
    version = load_artifact(folder / "model").manifest.version
    assert report["detector_version"] == f"{version}+without-similarity"


def test_thresholds_are_suggested_with_what_to_expect_and_nothing_is_changed(trained) -> None:
    """Beside the present ones, with lines for the configuration; runs of the training are named."""
    folder, arguments, _ = trained
    before = (folder / "model" / "manifest.json").read_bytes()
    for goal in ("best-f1", "recall", "run-rate"):
        command = ["thresholds", *arguments, "--model", str(folder / "model"), "--goal", goal]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert "suggested" in result.output
        assert "  thresholds:\n    retriever: 0." in result.output
        assert "trained this detector" in result.output
    result = CliRunner().invoke(app, [*command, "--format", "json"])
    found = json.loads(result.stdout)["retriever"]["suggested"]
    assert found["recall"] == 1
    assert found["false_positive_rate"] == 0
    assert (folder / "model" / "manifest.json").read_bytes() == before


def test_figures_of_runs_that_trained_the_detector_are_marked(trained) -> None:
    """They look better than any to come."""
    folder, arguments, _ = trained
    command = ["evaluate", *arguments, "--model", str(folder / "model"), "--draws", "0"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "trained this detector: expect less" in result.stderr


def test_no_threshold_is_suggested_without_a_faulty_run(trained, tmp_path) -> None:
    """It would switch the stage off; the stage is named, and what can be suggested is."""
    folder, arguments, _ = trained
    records = [json.loads(line) for line in Path(arguments[0]).read_text().splitlines()]
    for record in records:
        record["labels"] = {stage: {"faulty": False} for stage in record["labels"]}
    runs = tmp_path / "sound.jsonl"
    runs.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    command = ["thresholds", str(runs), *arguments[1:], "--model", str(folder / "model")]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, BadInput)
    assert "retriever: no threshold is suggested without both" in str(result.exception)


@pytest.mark.parametrize("command", [["train", "--out", "x"], ["evaluate"]])
def test_a_negative_seed_is_bad_usage(command) -> None:
    """It is told before anything is read."""
    result = CliRunner().invoke(app, [*command, "missing.jsonl", "--seed", "-1"])
    assert result.exit_code == 2
    assert "--seed" in result.output


def test_runs_without_labels_are_an_error(tmp_path) -> None:
    """Nothing is written."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "runs.jsonl").write_text('{"id": "a", "question": "Who?", "answer": "Anna."}\n')
    arguments = [str(tmp_path / "runs.jsonl"), "--config", str(tmp_path / "config.yaml")]
    result = CliRunner().invoke(app, ["train", *arguments, "--out", str(tmp_path / "model")])
    assert isinstance(result.exception, BadInput)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", ["My Detector", "", "-a", "a" * 42, "a\n"])
def test_a_wrong_name_is_bad_usage_before_anything_is_read(tmp_path, name) -> None:
    """The option is named; a file that is missing is not even looked for."""
    arguments = ["train", str(tmp_path / "missing"), "--out", str(tmp_path), "--name", name]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "--name" in result.output


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_read(tmp_path) -> None:
    """Here a file is in the way."""
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "model"):
        command = ["train", str(tmp_path / "missing"), "--out", str(out)]
        result = CliRunner().invoke(app, command)
        assert isinstance(result.exception, BadInput)
        assert "--out" in str(result.exception)


def test_malformed_labels_cost_their_record_alone(tmp_path) -> None:
    """It is named; the rest is trained on, and the exit code is 2. No label at all is no error."""
    write_runs(tmp_path / "runs.jsonl")
    record = json.loads((tmp_path / "runs.jsonl").read_text().splitlines()[0])
    wrong = {**record, "id": "wrong", "labels": {"retreiver": {"faulty": True}}}
    none = {**record, "id": "none", "labels": {"retriever": {"faulty": None}, "generator": None}}
    with (tmp_path / "runs.jsonl").open("a") as lines:
        lines.write("".join(f"\n{json.dumps(each)}" for each in (wrong, none)))
    (tmp_path / "config.yaml").write_text(CONFIG)
    arguments = [str(tmp_path / "runs.jsonl"), "--config", str(tmp_path / "config.yaml")]
    command = ["train", *arguments, "--out", str(tmp_path / "model")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2, result.output
    assert "'wrong'" in result.stderr
    assert "'none'" not in result.stderr
    assert load_artifact(tmp_path / "model").manifest.trained_on.runs == 36


NAMED = ("--judge-model", "big-4", "--judge-for", "big-*")


def train_with_answers(tmp_path, count: int, *options: str, **more):
    """Train on runs of which all but three were answered, with one malformed line."""
    write_runs(tmp_path / "runs.jsonl", count)
    lines = []
    for line in (tmp_path / "runs.jsonl").read_text().splitlines()[:-3]:
        record = json.loads(line)
        sure = 90 if record["labels"]["retriever"]["faulty"] else 10
        grades = {"no_chunk_answers": sure, "partial_coverage": sure, "mostly_irrelevant": sure}
        stages = {"rewriter": None, "embedder": None, "retriever": grades, "reranker": None}
        lines.append(json.dumps({"id": record["id"], "graded_stage": stages, **more}))
    (tmp_path / "answers.jsonl").write_text("\n".join([*lines, "{}", ""]))
    (tmp_path / "config.yaml").write_text(CONFIG)
    command = ["train", str(tmp_path / "runs.jsonl"), "--config", str(tmp_path / "config.yaml")]
    command += ["--out", str(tmp_path / "model"), "--name", "llm-big"]
    command += ["--judge-answers", str(tmp_path / "answers.jsonl"), *options]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2, result.exception
    return result, load_artifact(tmp_path / "model").manifest


def test_answers_of_an_llm_are_trained_on(tmp_path) -> None:
    """The detector is for judge.detector, says whose answers it read, and when to ask for some."""
    result, manifest = train_with_answers(tmp_path, 72, *NAMED)
    assert result.exit_code == 2
    assert "line 70" in result.output
    assert "judge.detector" in result.output
    judge = manifest.trained_on.judge
    assert (judge.model, judge.models) == ("big-4", ("big-*",))
    assert [(name, runs) for name, _, runs in judge.answers] == [("answers.jsonl", 69)]
    assert "retriever.graded_no_chunk_answers" in manifest.features
    assert manifest.stages[Stage.RETRIEVER].runs == 69
    assert manifest.escalation.runs == 69


def test_too_few_answers_teach_nothing_of_when_to_ask(tmp_path) -> None:
    """The detector is written all the same, and the default is named."""
    result, manifest = train_with_answers(tmp_path, 36, *NAMED)
    assert manifest.escalation is None
    assert "0.1 or more" in result.output


def test_the_detector_is_for_the_model_that_the_answers_name(tmp_path) -> None:
    """Unless an option says for which others."""
    _, manifest = train_with_answers(tmp_path, 36, model="big-4")
    judge = manifest.trained_on.judge
    assert (judge.model, judge.models) == ("big-4", ("big-4",))


def test_figures_of_runs_and_answers_that_trained_the_detector_of_an_llm_are_marked(tmp_path) -> None:  # fmt: skip
    """Each file is named once; with another one of either, the other alone."""
    train_with_answers(tmp_path, 36, *NAMED)
    runs, answers = tmp_path / "runs.jsonl", tmp_path / "answers.jsonl"
    new_runs, new_answers = tmp_path / "new.jsonl", tmp_path / "new-answers.jsonl"
    new_runs.write_text(runs.read_text().splitlines()[0] + "\n")
    new_answers.write_text(answers.read_text().splitlines()[0] + "\n")
    warning = "trained this detector: expect less"
    for tested, given, known in (
        (runs, answers, [runs, answers]),
        (runs, new_answers, [runs]),
        (new_runs, answers, [answers]),
        (new_runs, new_answers, []),
    ):
        command = ["evaluate", str(tested), "--config", str(tmp_path / "config.yaml")]
        command += ["--judge-answers", str(given), "--judge-detector", str(tmp_path / "model")]
        result = CliRunner().invoke(app, [*command, "--draws", "0", "--no-ablation"])
        assert result.stdout, result.exception
        warned = [line for line in result.stderr.splitlines() if warning in line]
        assert warned == [f"otel-raglog: {path} {warning}" for path in known]


def answers_of(*models: str | None) -> dict[str, RecordedAnswers]:
    """Return answers, each by one of ``models``."""
    return {
        f"r{number}": RecordedAnswers.model_validate(
            {"id": f"r{number}", "model": model, "statements": SOUND["statements"]}
        )
        for number, model in enumerate(models)
    }


@pytest.mark.parametrize(
    ("models", "told", "expected"),
    [
        (("m", "m"), None, "m"),
        (("m", None), None, None),
        ((None, None), None, None),
        ((None, None), "m", "m"),
        (("m", None), "m", "m"),
        (("m-20261001", "m-20261001"), "m", "m"),
        (("m", "m"), "m-2026-10-01", "m-2026-10-01"),
    ],
)
def test_the_model_of_answers_is_what_the_file_or_the_option_says(models, told, expected) -> None:
    """The file's, where all its lines name one; a date makes no difference."""
    assert judge_model_of(Path("a.jsonl"), answers_of(*models), told) == expected


@pytest.mark.parametrize(
    ("models", "told", "words"),
    [
        (("m", "n"), None, r"a\.jsonl: answers of several models \(m, n\)"),
        (("m", "n"), "m", r"several models \(m, n\)"),
        (("m", None), "n", r"--judge-model n: a\.jsonl has answers of m"),
        (("m-8", "m-8"), "m", r"--judge-model m: a\.jsonl has answers of m-8"),
    ],
)
def test_models_that_contradict_each_other_are_an_error(models, told, words) -> None:
    """Which names them, and the file."""
    with pytest.raises(BadInput, match=words):
        judge_model_of(Path("a.jsonl"), answers_of(*models), told)


def test_answers_without_a_model_need_its_name(trained, tmp_path) -> None:
    """A detector for an unknown model would be used for none; nothing is read further."""
    _, arguments, _ = trained
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"id": "r1", "statements": SOUND["statements"]}))
    out = tmp_path / "model"
    command = ["train", *arguments, "--out", str(out), "--judge-answers", str(answers)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, BadInput)
    assert "--judge-model" in str(result.exception)
    assert not out.exists()


def test_a_file_without_answers_is_refused(trained, tmp_path) -> None:
    """Nothing is written."""
    _, arguments, _ = trained
    answers = tmp_path / "answers.jsonl"
    answers.write_text("")
    out = tmp_path / "model"
    command = ["train", *arguments, "--out", str(out), "--judge-answers", str(answers)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, BadInput)
    assert not out.exists()

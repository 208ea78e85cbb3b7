"""``otel-raglog evaluate`` on run records: input, options and errors."""

import csv
import gzip
import json

import pytest
import typer
from evaluation_runs import FakeTrainer
from typer.testing import CliRunner

from otel_raglog.commands.evaluate import evaluate
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.lab.evaluation import detectors

APP = typer.Typer()
APP.command()(evaluate)

EVIDENCE = "Full-time employees receive 25 days of paid vacation per calendar year."
OTHER = "Laptops are replaced every four years; lost ones must be reported to the IT desk."


def record(number, *, found=True, labelled=True, **more):
    """A run whose retriever finds the evidence, or an unrelated chunk."""
    text = EVIDENCE if found else OTHER
    answer = "They get 25 days." if found else "I don't know."
    made = {
        "id": f"r{number}",
        "pipeline": "dense",
        "group": f"q{number}",
        "question": "How many vacation days do full-time employees get?",
        "retrieved": [{"id": "d1", "text": text}],
        "passed": ["d1"],
        "prompt": f"Context: {text}\n\nHow many vacation days do full-time employees get?",
        "answer": answer,
    }
    if labelled:
        made["labels"] = {
            "retriever": {"faulty": not found, "types": [] if found else ["no_relevant_chunk"]},
            "generator": {"faulty": False},
        }
    return {**made, **more}


RECORDS = [record(0), record(1, found=False), record(2, labelled=False), record(3)]


@pytest.fixture
def config(tmp_path):
    """Rules alone: no model is loaded."""
    path = tmp_path / "config.yaml"
    path.write_text("analysis:\n  checks: [rules]\n")
    return path


def run(*arguments):
    return CliRunner().invoke(APP, [str(each) for each in arguments])


def figures(config, *arguments):
    done = run(*arguments, "--format", "json", "--draws", 50, "--config", config)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def write(path, records):
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def test_the_figures_of_labelled_runs(tmp_path, config):
    """Runs without labels are counted and left out; the detector of the configuration judges."""
    found = figures(config, write(tmp_path / "runs.jsonl", RECORDS))
    assert (found["runs"], found["unlabelled_runs"]) == (3, 1)
    assert found["detector_version"].startswith("local-")
    assert found["stages"]["retriever"]["faulty"] == 1
    assert found["stages"]["generator"]["n"] == 3
    assert found["pooled"]["n"] == 6


def test_every_kind_of_file_says_the_same(tmp_path, config):
    """JSON lines, gzip, CSV and parquet with JSON in their columns."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    expected = figures(config, write(tmp_path / "runs.jsonl", RECORDS))
    zipped = tmp_path / "runs.jsonl.gz"
    zipped.write_bytes(gzip.compress((tmp_path / "runs.jsonl").read_bytes()))
    rows = [
        {key: json.dumps(value) if isinstance(value, list | dict) else value for key, value in each.items()}
        for each in RECORDS
    ]  # fmt: skip
    columns = list(rows[0])
    table = tmp_path / "runs.csv"
    with table.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, columns)
        writer.writeheader()
        writer.writerows(rows)
    columnar = tmp_path / "runs.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), columnar)
    for path in (zipped, table, columnar):
        assert figures(config, path) == expected, path.name


def test_a_table_is_the_default(tmp_path, config):
    """With the pooled figures in it."""
    done = run(write(tmp_path / "runs.jsonl", RECORDS), "--draws", 0, "--config", config)
    assert done.exit_code == 0
    assert "pooled" in done.stdout


def test_no_labels_at_all_is_an_error(tmp_path, config):
    """That shows what a label looks like."""
    path = write(tmp_path / "runs.jsonl", [record(0, labelled=False)])
    done = run(path, "--config", config)
    assert isinstance(done.exception, BadInput)
    assert "no run has labels" in str(done.exception)
    assert '"labels": {"retriever": {"faulty": true}}' in str(done.exception)


def test_a_folder_without_a_detector_is_an_error(tmp_path, config):
    """That names it."""
    path = write(tmp_path / "runs.jsonl", RECORDS)
    done = run(path, "--model", tmp_path, "--config", config)
    assert isinstance(done.exception, ConfigError)
    assert str(tmp_path) in str(done.exception)


def test_what_cannot_be_read_is_told_and_the_rest_is_evaluated(tmp_path, config):
    """Exit code 2, as of analyze; a malformed label is named with its record."""
    wrong = record(7, labels={"retreiver": {"faulty": True}})
    path = write(tmp_path / "runs.jsonl", [*RECORDS, wrong])
    done = run(path, "--format", "json", "--draws", 0, "--config", config)
    assert done.exit_code == 2
    found = json.loads(done.stdout)
    assert (found["runs"], found["skipped_runs"]) == (3, 1)
    assert "'r7'" in done.stderr


def test_mistakes_are_written_down(tmp_path, config):
    """One JSON object a line."""
    wrong = record(5, labels={"retriever": {"faulty": True, "types": ["no_relevant_chunk"]}})
    path = write(tmp_path / "runs.jsonl", [record(0), wrong])
    figures(config, path, "--errors", tmp_path / "errors.jsonl")
    (line,) = (tmp_path / "errors.jsonl").read_text().splitlines()
    assert (json.loads(line)["run_id"], json.loads(line)["mistake"]) == ("r5", "missed")


def test_plots_are_written(tmp_path, config):
    """Into the folder that was named."""
    pytest.importorskip("matplotlib")
    figures(config, write(tmp_path / "runs.jsonl", RECORDS), "--plots", tmp_path / "plots")
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == [
        "precision_recall.png",
        "reliability.png",
    ]


@pytest.fixture
def trainer(monkeypatch):
    """Training that takes no time."""
    fake = FakeTrainer()
    monkeypatch.setattr(detectors, "trainer", lambda policy, seed: fake)
    return fake


def test_out_of_fold_trains_on_the_other_questions(tmp_path, config, trainer):
    """Three folds three times, and once without each group of checks and each pipeline."""
    path = write(tmp_path / "runs.jsonl", [record(n, found=n % 2 == 0) for n in range(6)])
    found = figures(config, path, "--out-of-fold", "--leave-out", "fault_type", "--no-ablation")
    assert found["protocol"] == "out of fold by question"
    assert found["detector_version"] == "fake, trained here"
    assert found["runs"] == 6
    assert [each["type"] for each in found["left_out"]["parts"]] == ["no_relevant_chunk"]
    nine, left_out = trainer.given[:9], trainer.given[9:]
    assert all(0 < len(given) < 6 for given in nine)
    assert not any(run.labels.run_faulty for given in left_out for run in given)


def test_training_on_other_runs(tmp_path, config, trainer):
    """All runs are tested, none of their questions is trained on."""
    path = write(tmp_path / "runs.jsonl", RECORDS)
    others = write(tmp_path / "others.jsonl", [record(0), record(8), record(9, found=False)])
    found = figures(config, path, "--train", others, "--no-ablation")
    assert found["protocol"] == "trained on other runs"
    assert [[run.labels.run_id for run in given] for given in trainer.given] == [["r8", "r9"]]


@pytest.mark.parametrize(
    "arguments", [("--out-of-fold", "--model", "."), ("--leave-out", "pipeline")]
)
def test_options_that_contradict_each_other(tmp_path, config, arguments):
    """Are bad usage."""
    path = write(tmp_path / "runs.jsonl", RECORDS)
    assert run(path, *arguments, "--config", config).exit_code == 2


def answered(number, *, good=True):
    """The answers of an LLM to two of its checks."""
    sure = 5 if good else 95
    generator = dict.fromkeys(
        ("unsupported", "off_question", "incomplete", "should_abstain", "wrong_refusal",
         "misstated_number"), 5,
    )  # fmt: skip
    stage = {"no_chunk_answers": sure, "partial_coverage": sure, "mostly_irrelevant": sure}
    return {
        "id": f"r{number}",
        "graded_stage": {"rewriter": None, "embedder": None, "retriever": stage, "reranker": None},
        "graded_generator": generator,
    }


def test_runs_with_answers_are_evaluated_as_they_are(tmp_path, config):
    """Beside the local tier; the curve of escalation comes with them, in JSON under its own key."""
    path = write(tmp_path / "runs.jsonl", [record(n, found=n % 2 == 0) for n in range(4)])
    lines = [answered(0), answered(1, good=False), answered(2), {"id": "r3", "graded_stage": 1}]
    answers = write(tmp_path / "answers.jsonl", lines)
    result = run(path, "--judge-answers", answers, "--format", "json", "--config", config)
    assert result.exit_code == 2
    assert "line 4" in result.output
    found = json.loads(result.stdout)
    assert found["runs"] == 3
    assert found["detector_version"].startswith("untrained-1+")
    assert [each["name"] for each in found["ablation"]][:2] == ["local", "both"]
    assert found["stages"]["retriever"]["f1"] == 1
    assert found["escalation"]["curve"][0]["asked"] == 1
    assert found["escalation"]["curve"][-1]["asked"] == 0


def test_the_model_that_the_answers_name_chooses_their_detector(tmp_path, config):
    """A contradiction is an error, and so is a file of several models."""
    path = write(tmp_path / "runs.jsonl", [record(0), record(1, found=False)])
    lines = [answered(0), answered(1, good=False)]
    answers = write(tmp_path / "answers.jsonl", [{**each, "model": "claude-x"} for each in lines])
    found = figures(config, path, "--judge-answers", answers, "--no-ablation")
    assert found["detector_version"].startswith("llm-recorded-")
    other = ("--judge-model", "gpt-5", "--config", config)
    done = run(path, "--judge-answers", answers, *other)
    assert isinstance(done.exception, BadInput)
    assert "claude-x" in str(done.exception)
    write(answers, [{**lines[0], "model": "claude-x"}, {**lines[1], "model": "gpt-5"}])
    done = run(path, "--judge-answers", answers, "--config", config)
    assert isinstance(done.exception, BadInput)
    assert "claude-x, gpt-5" in str(done.exception)


def test_the_table_says_on_which_runs_escalation_was_chosen(tmp_path, config):
    """On those that it is reported of: a figure that flatters."""
    path = write(tmp_path / "runs.jsonl", [record(0), record(1, found=False)])
    answers = write(tmp_path / "answers.jsonl", [answered(0), answered(1, good=False)])
    done = run(path, "--judge-answers", answers, "--draws", 0, "--config", config)
    assert done.exit_code == 0, done.output
    assert "was chosen on these same runs" in done.stdout


def test_out_of_fold_both_tiers_are_trained(tmp_path, config):
    """Runs without answers are trained on and not evaluated; the curve is a table for people."""
    pytest.importorskip("sklearn")
    pytest.importorskip("catboost")
    pytest.importorskip("skops")
    path = write(tmp_path / "runs.jsonl", [record(n, found=n % 2 == 0) for n in range(40)])
    lines = [answered(n, good=n % 2 == 0) for n in range(36)]
    answers = write(tmp_path / "answers.jsonl", lines)
    command = (
        path,
        "--out-of-fold",
        "--judge-answers",
        answers,
        "--no-ablation",
        "--config",
        config,
    )
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "36 labelled runs" in result.output
    assert "4 without are trained on too" in result.output
    assert "LLM alone" in result.output
    assert "runs asked" in result.output


def test_answers_to_none_of_the_runs_are_refused(tmp_path, config):
    """Most likely it is another file."""
    path = write(tmp_path / "runs.jsonl", [record(0)])
    answers = write(tmp_path / "answers.jsonl", [answered(7)])
    result = run(path, "--judge-answers", answers, "--config", config)
    assert isinstance(result.exception, BadInput)
    assert "none of these runs" in str(result.exception)

"""The folder of a trained detector: what is written, and what is refused."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
from trained_detectors import SMALL, make_examples

from otel_raglog.detect import artifact as subject
from otel_raglog.detect.artifact import Escalation, JudgedBy, load_artifact, write_files
from otel_raglog.detect.training.training import to_artifact, train, write_trained
from otel_raglog.errors import ConfigError
from otel_raglog.model import Stage


@pytest.fixture(scope="module")
def files():
    examples = make_examples()
    return to_artifact(train(examples, SMALL), examples, SMALL, name="tiny")[1]


@pytest.fixture
def folder(files, tmp_path):
    write_files(tmp_path, files)
    return tmp_path


def test_an_artifact_is_read_back_as_it_was_written(folder, files) -> None:
    """Features, thresholds, calibration, hashes and provenance stand in the manifest."""
    found = load_artifact(folder)
    assert found.manifest.version.startswith("tiny-")
    assert set(found.manifest.stages) == {Stage.REWRITER, Stage.RETRIEVER, Stage.GENERATOR}
    assert found.manifest.trained_on.runs == 60
    assert found.manifest.trained_on.groups == 30
    hashed = hashlib.sha256(files["serving.npz"]).hexdigest()
    assert found.manifest.hashes == {"serving.npz": hashed}


def test_the_same_training_gives_the_same_version(folder) -> None:
    """And other runs another one."""
    version = load_artifact(folder).manifest.version
    for seed, same in ((1, True), (2, False)):
        examples = make_examples(seed=seed)
        again, _ = to_artifact(train(examples, SMALL), examples, SMALL, name="tiny")
        assert (again.manifest.version == version) is same


def test_serving_arrays_hold_no_objects(folder) -> None:
    """Nothing that could run code."""
    with np.load(folder / "serving.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "fib" for name in arrays.files)


def test_a_changed_file_is_refused(folder) -> None:
    """By its hash."""
    path = folder / "serving.npz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ConfigError, match="not the file that training wrote"):
        load_artifact(folder)


def test_a_changed_manifest_is_refused(folder) -> None:
    """The message says how thresholds are set instead."""
    path = folder / "manifest.json"
    body = json.loads(path.read_text())
    body["stages"]["retriever"]["thresholds"]["paper"] = 0.01
    path.write_text(json.dumps(body))
    with pytest.raises(ConfigError, match=r"changed after training.*analysis\.thresholds"):
        load_artifact(folder)


def test_a_folder_that_is_no_detector_is_refused(tmp_path) -> None:
    """Foreign folders, files of another kind, and other formats, each in its own words."""
    with pytest.raises(ConfigError, match="otel-raglog train"):
        load_artifact(tmp_path)
    for text, words in (("{", "no JSON"), ("{}", "format None"), ('{"format": 9}', "format 9")):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(ConfigError, match=words):
            load_artifact(tmp_path)


def test_a_resealed_malformed_detector_is_refused(folder) -> None:
    """Hashes that fit do not make arrays fit."""
    path = folder / "manifest.json"
    body = json.loads(path.read_text())
    del body["sha256"]
    body["features"] = body["features"][:2]
    body["sha256"] = subject._digest(body)
    path.write_text(json.dumps(body))
    with pytest.raises(ConfigError, match="does not name"):
        load_artifact(folder)


def test_other_clues_than_at_training_are_refused(folder, monkeypatch) -> None:
    """Their probabilities are features: changed constants would shift verdicts silently."""
    monkeypatch.setattr(subject, "clues_hash", lambda **_: "0" * 64)
    with pytest.raises(ConfigError, match="train it again"):
        load_artifact(folder)


def test_training_files_are_of_safe_kinds(tmp_path) -> None:
    """skops and CatBoost's own format, hashed in the manifest."""
    examples = make_examples()
    written = write_trained(tmp_path, train(examples, SMALL), examples, SMALL, name="tiny")
    suffixes = {path.rpartition(".")[2] for path in written.manifest.hashes}
    assert suffixes == {"npz", "skops", "cbm"}
    for path, digest in written.manifest.hashes.items():
        assert hashlib.sha256((tmp_path / path).read_bytes()).hexdigest() == digest


def test_measurements_that_this_version_does_not_make_are_refused(folder, monkeypatch) -> None:
    """They would be missing in every run, and their medians judged instead."""
    known = subject.measurement_names() - {"rewriter.meaning_kept"}
    monkeypatch.setattr(subject, "measurement_names", lambda: known)
    with pytest.raises(ConfigError, match=r"reads rewriter\.meaning_kept, .* train it again"):
        load_artifact(folder)


def test_a_manifest_with_numbers_that_json_has_not_is_refused(tmp_path) -> None:
    """In plain words, as any other that is no JSON."""
    (tmp_path / "manifest.json").write_text('{"format": 2, "x": NaN}')
    with pytest.raises(ConfigError, match="is no JSON"):
        load_artifact(tmp_path)


def test_models_of_an_earlier_training_are_removed(tmp_path) -> None:
    """Of a stage that is not trained any more; nobody else's file is."""
    (tmp_path / "training").mkdir()
    for name in ("embedder.logistic.skops", "notes.txt"):
        (tmp_path / "training" / name).write_text("before")
    examples = make_examples()
    write_trained(tmp_path, train(examples, SMALL), examples, SMALL, name="tiny")
    left = {path.name for path in (tmp_path / "training").iterdir()}
    assert "embedder.logistic.skops" not in left
    assert {"notes.txt", "generator.logistic.skops"} <= left


def test_serving_loads_no_training_library() -> None:
    """Neither scikit-learn nor CatBoost nor skops."""
    code = (
        "import sys, otel_raglog.building, otel_raglog.detect.ensemble;"
        "print([m for m in ('sklearn', 'catboost', 'skops', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_whose_answers_were_trained_on_and_when_to_ask_is_read_back(tmp_path) -> None:
    """A detector without answers has neither key in its manifest; when to ask decides verdicts."""
    examples = make_examples()
    trained = train(examples, SMALL)
    judge = JudgedBy(model="big-4", models=("big-*",), provenance="recorded")
    when = Escalation(
        error=0.2, local="local-1", runs=60, asked=0.5, f1=0.9, f1_always=0.9, f1_never=0.7
    )
    plain = to_artifact(trained, examples, SMALL)[1]["manifest.json"].decode()
    assert '"judge"' not in plain
    assert '"escalation"' not in plain
    versions = set()
    for error in (0.2, 0.3):
        learned = when.model_copy(update={"error": error})
        files = to_artifact(trained, examples, SMALL, judge=judge, escalation=learned)[1]
        write_files(tmp_path, files)
        manifest = load_artifact(tmp_path).manifest
        assert manifest.trained_on.judge == judge
        assert manifest.escalation == learned
        versions.add(manifest.version)
    assert len(versions) == 2

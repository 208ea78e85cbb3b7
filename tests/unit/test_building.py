"""Options to the analyser that every command uses."""

import pytest
from structlog.testing import capture_logs
from trained_detectors import SMALL, make_examples

from otel_raglog.building import build_analyser, reader_of, with_training_checks
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.detect.artifact import load_artifact, write_files
from otel_raglog.detect.choosing import BUNDLED
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.training import to_artifact, train
from otel_raglog.errors import ConfigError
from otel_raglog.options import Analysis


def kinds(options: Analysis, detector=None) -> set[str]:
    analyser = build_analyser(
        options, quote_text=False, failures=LoggingFailures(), detector=detector
    )
    return {check.name.partition(".")[0] for check in analyser.checks}


@pytest.mark.parametrize(
    ("detector", "expected"),
    [
        ("rules-1", {"rules", "similarity"}),
        ("light", {"rules", "similarity"}),
        ("local", {"rules", "similarity", "alignment", "crossencoder"}),
    ],
)
def test_the_checks_that_run_are_those_that_the_detector_reads(detector, expected) -> None:
    """No model is loaded in vain, and none is missing."""
    assert kinds(Analysis(detector=detector)) == expected


def test_chosen_checks_win() -> None:
    """What the user names runs, whatever the detector reads."""
    assert kinds(Analysis(detector="local", checks=("rules",))) == {"rules"}
    assert kinds(Analysis(checks=("alignment",)), Rules1()) == {"alignment"}
    assert kinds(Analysis(checks=())) == set()


def test_the_version_says_what_the_detector_has_to_do_without() -> None:
    """Its verdicts are others then, and two kinds of verdicts must not bear one name."""

    def version(options: Analysis) -> str:
        analyser = build_analyser(options, quote_text=False, failures=LoggingFailures())
        return analyser.detector_version.removeprefix(analyser.detector.version)

    assert version(Analysis(detector="light")) == ""
    assert version(Analysis(detector="light", checks=("rules", "similarity", "alignment"))) == ""
    with capture_logs() as logs:
        assert version(Analysis(checks=("rules",))) == "+without-similarity-alignment-crossencoder"
    assert [each["left_out"] for each in logs] == ["similarity, alignment, crossencoder"]


def test_detectors_are_trained_with_the_cross_encoder_unless_checks_are_chosen() -> None:
    """The name of the reader that was read is kept with the detector."""
    assert with_training_checks(Analysis()).checks == (
        "rules",
        "similarity",
        "alignment",
        "crossencoder",
    )
    chosen = Analysis(checks=("rules",))
    assert with_training_checks(chosen) is chosen
    assert reader_of(Analysis()) == "reader-2"
    assert reader_of(chosen) == ""
    assert reader_of(Analysis(checks=("support",))) == "reader-2"
    assert reader_of(Analysis(cross_encoder="some/model")) == "some/model"
    manifest = load_artifact(BUNDLED / "local").manifest
    assert manifest.trained_on.cross_encoder == "reader-2"
    assert load_artifact(BUNDLED / "light").manifest.trained_on.cross_encoder == ""


def test_a_detector_of_another_reader_is_refused(tmp_path) -> None:
    """Its numbers would mean something else."""
    examples = make_examples(60)
    _, files = to_artifact(train(examples, SMALL), examples, SMALL, cross_encoder="another/reader")
    write_files(tmp_path, files)
    options = Analysis(detector=str(tmp_path), checks=("crossencoder",))
    with pytest.raises(ConfigError, match=r"analysis\.cross_encoder: .*another/reader.*reader-2"):
        kinds(options)

"""Options to the analyser that every command uses."""

import pytest
from handbook_runs import FakeCrossEncoder
from structlog.testing import capture_logs
from trained_detectors import SMALL, make_examples

from otel_raglog.building import (
    build_analyser,
    build_asker,
    llm_options,
    ranker_of,
    reader_of,
    with_training_checks,
)
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.detect.artifact import load_artifact, write_files
from otel_raglog.detect.choosing import BUNDLED
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.training import to_artifact, train
from otel_raglog.errors import ConfigError
from otel_raglog.judge.schedule import When
from otel_raglog.options import Analysis, Judge


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


@pytest.mark.parametrize(
    ("options", "when"),
    [
        (Judge(), None),
        (Judge(endpoint="http://127.0.0.1:1"), When.ESCALATE),
        (Judge(endpoint="http://127.0.0.1:1", when="never"), None),
        (Judge(when="sample"), When.SAMPLE),
    ],
)
def test_an_llm_is_asked_when_there_is_one_to_ask(options, when) -> None:
    """A key or an endpoint switches escalation on, and an option says otherwise."""
    found = llm_options(options)
    assert (found and found.when) == when


def test_a_key_switches_escalation_on(monkeypatch) -> None:
    """Ours alone, and a command's own choice comes first."""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE_KEY", "k")
    assert llm_options(Judge()).when is When.ESCALATE
    assert llm_options(Judge(), when=When.ALWAYS).when is When.ALWAYS
    assert llm_options(Judge(), when=When.NEVER) is None
    assert llm_options(Judge(), when=When.SAMPLE, sample=0.5).sample == 0.5


def test_an_llm_that_cannot_be_asked_is_an_error_at_the_start() -> None:
    """It names what is missing; nothing is sent to find out."""
    with pytest.raises(ConfigError, match="OTEL_RAGLOG_JUDGE_KEY"):
        build_asker(Judge(), None)


def test_first_tokens_need_a_server_that_tells_how_likely_they_are() -> None:
    """Anthropic's API does not: that is an error at the start, not in each run."""
    with pytest.raises(ConfigError, match=r"judge\.mode: first_token needs log-probabilities"):
        build_asker(Judge(endpoint="http://127.0.0.1:1", mode="first_token"), None)


def test_a_model_without_a_price_is_told_of() -> None:
    """Limits in USD do not hold for it."""
    with capture_logs() as logs:
        build_asker(Judge(endpoint="http://127.0.0.1:1", model="mine"), None).close()
    assert [each["model"] for each in logs] == ["mine"]
    with capture_logs() as logs:
        build_asker(Judge(endpoint="http://127.0.0.1:1"), None).close()
    assert not logs


def test_with_an_llm_the_checks_are_those_that_either_detector_reads() -> None:
    """The one for an LLM's answers may read local measurements that the other does not."""
    llm = llm_options(Judge(endpoint="http://127.0.0.1:1"))
    analyser = build_analyser(
        Analysis(detector="rules-1"), quote_text=False, failures=LoggingFailures(), llm=llm
    )
    assert analyser.llm is not None
    analyser.llm.close(0.0)
    assert {"rules", "similarity"} <= {c.name.partition(".")[0] for c in analyser.checks}


def test_excluded_chunks_are_ranked_by_what_the_cross_encoder_reads() -> None:
    """Without one there is no ranking of ours: words decide."""
    rank = ranker_of(FakeCrossEncoder())
    scores = rank("When does the ferry leave?", ["The ferry leaves at ten.", "Dogs are welcome."])
    assert len(scores) == 2
    assert ranker_of(None) is None

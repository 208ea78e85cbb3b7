"""The option analysis.detector."""

from dataclasses import replace

import pytest
from judged_runs import make_judged_runs
from trained_detectors import SMALL, make_examples

from otel_raglog.detect.artifact import JudgedBy, write_files
from otel_raglog.detect.choosing import build_detector, build_llm_detector, names_of_bundled
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.settings import WITH_ANSWERS
from otel_raglog.detect.training.training import to_artifact, train
from otel_raglog.errors import ConfigError
from otel_raglog.lab.evaluation.detectors import example_of
from otel_raglog.model import Stage


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundled")
    examples = make_examples()
    write_files(folder / "tiny", to_artifact(train(examples, SMALL), examples, SMALL)[1])
    runs = [each for run in make_judged_runs() if (each := example_of(run)) is not None]
    settings = replace(WITH_ANSWERS, partitions=1)
    trained = train(runs, settings)
    for name, models in (("llm-any", ("*big*",)), ("llm-one", ("big-4",))):
        judge = JudgedBy(model="big-4", models=models)
        files = to_artifact(trained, runs, settings, name=name, judge=judge)[1]
        write_files(folder / name, files)
    return folder


def test_rules_1_a_bundled_name_or_a_folder(bundled) -> None:
    """Each by the same option."""
    assert build_detector("rules-1", Policy.PAPER, {}, bundled).version == "rules-1"
    assert names_of_bundled(bundled) == ("tiny",)
    by_name = build_detector("tiny", Policy.MONITORING, {}, bundled)
    by_folder = build_detector(str(bundled / "tiny"), Policy.MONITORING, {})
    assert by_name.version == by_folder.version


def test_an_unknown_name_is_refused_with_the_known_ones(bundled) -> None:
    """Start fails loudly."""
    with pytest.raises(ConfigError, match=r"analysis\.detector: 'tny'.*rules-1, tiny"):
        build_detector("tny", Policy.PAPER, {}, bundled)


def test_rules_1_has_no_thresholds_to_set() -> None:
    """They would be ignored otherwise."""
    with pytest.raises(ConfigError, match=r"analysis\.thresholds"):
        build_detector("rules-1", Policy.PAPER, {Stage.RETRIEVER: 0.4})


def test_an_llm_has_a_detector_of_its_own_that_of_its_kind_or_none(bundled) -> None:
    """The manifests say which; the pattern that says most wins, and capitals do not count."""
    versions = {
        model: build_llm_detector(Rules1(), model=model, bundled=bundled).version
        for model in ("big-4", "vendor/Big-5", "small")
    }
    assert versions["big-4"].startswith("llm-one-")
    assert versions["vendor/Big-5"].startswith("llm-any-")
    assert versions["small"] == "untrained-1+rules-1"


def test_the_detector_of_an_llm_can_be_named(bundled) -> None:
    """One that is bundled, a folder, or the fixed combination."""
    for name in ("llm-any", str(bundled / "llm-any")):
        found = build_llm_detector(Rules1(), model="small", name=name, bundled=bundled)
        assert found.version.startswith("llm-any-")
    found = build_llm_detector(Rules1(), model="big-4", name="untrained", bundled=bundled)
    assert found.untrained


def test_each_tier_has_its_own_kind_of_detector(bundled) -> None:
    """One that reads answers would be blind without them, and the other way round."""
    with pytest.raises(ConfigError, match=r"judge\.detector"):
        build_detector(str(bundled / "llm-any"), Policy.PAPER, {}, bundled)
    with pytest.raises(ConfigError, match=r"analysis\.detector"):
        build_llm_detector(Rules1(), model="big-4", name=str(bundled / "tiny"), bundled=bundled)
    with pytest.raises(ConfigError, match=r"judge\.detector: 'nope'.*untrained, llm-any, llm-one"):
        build_llm_detector(Rules1(), model="big-4", name="nope", bundled=bundled)

"""The option analysis.detector."""

import pytest
from trained_detectors import SMALL, make_examples

from otel_raglog.detect.artifact import write_files
from otel_raglog.detect.choosing import build_detector, names_of_bundled
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.training.training import to_artifact, train
from otel_raglog.errors import ConfigError
from otel_raglog.model import Stage


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundled")
    examples = make_examples()
    write_files(folder / "tiny", to_artifact(train(examples, SMALL), examples, SMALL)[1])
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

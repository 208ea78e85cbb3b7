"""otel-raglog thresholds; what it suggests is specified beside the training, in test_train.py."""

from dataclasses import replace

import pytest
from evaluation_runs import RETRIEVER, RUN, said
from typer.testing import CliRunner

from otel_raglog.commands import app
from otel_raglog.commands.thresholds import LeftOut, _in_full, _rounded, _score
from otel_raglog.detect.clearing import CLEARINGS
from otel_raglog.detect.training.labels import Labels
from otel_raglog.errors import ConfigError
from otel_raglog.model import Measurement, Stage


def test_a_folder_without_a_detector_is_an_error(tmp_path) -> None:
    """It says what makes one."""
    (tmp_path / "runs.jsonl").write_text('{"question": "Who?"}\n')
    arguments = ["thresholds", str(tmp_path / "runs.jsonl"), "--model", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    with pytest.raises(ConfigError, match="otel-raglog train"):
        raise result.exception


class Fake:
    """Measures and judges: each run says by its id what is said of its retriever."""

    def __init__(self, said):
        self.said = said

    def measure(self, run):
        rule = CLEARINGS[-1]
        values = {rule.excluded: rule.at_least, rule.selected: rule.below - 0.1}
        found = [Measurement(name, Stage.RERANKER, value, step=0) for name, value in values.items()]
        return run, tuple(found if "cleared" in run.run_id else ())

    def judge(self, run, measurements):
        return {RETRIEVER: self.said[run.run_id]}

    def threshold(self, stage):
        return 0.7


def test_only_what_the_threshold_decides_is_scored():
    """Not what rules-1 judged, nor what was cleared or not judged: it is counted, with the reason."""
    fake = Fake(
        {
            "models": said(RETRIEVER, 0.8, 0.7),
            "rules": said(RETRIEVER, 0.4, 0.5),
            "cleared": said(RETRIEVER, 0.69, 0.7),
            "none": said(RETRIEVER, None),
            "unlabelled": said(RETRIEVER, 0.9, 0.7),
            "elsewhere": said(RETRIEVER, 0.1, 0.7),
        }
    )
    runs = []
    for name in fake.said:
        faulty = {RETRIEVER: name == "models", Stage.GENERATOR: name == "elsewhere"}
        labels = None if name == "unlabelled" else Labels(name, "p", name, faulty, {})
        runs.append((replace(RUN, run_id=name), labels))
    found = _score(runs, fake, fake, [RETRIEVER], lambda *_: None)
    assert found.scored[RETRIEVER].rows.tolist() == [0, 5]
    assert found.scored[RETRIEVER].probability.tolist() == [0.8, 0.1]
    assert found.left_out == {RETRIEVER: dict.fromkeys(LeftOut, 1)}
    assert found.sound == [1, 2, 3]
    assert "1 judged by rules-1" in found.reasons(RETRIEVER)


@pytest.mark.parametrize(
    ("threshold", "printed"),
    [(0.0000351234567, "0.0000351234"), (0.45, "0.45"), (1.0, "1.0"), (0.99999999, "0.999999")],
)
def test_a_threshold_is_printed_as_it_was_taken(threshold, printed):
    """Rounded down to six digits, and never to 0, which flags everything."""
    assert _in_full(_rounded(threshold)) == printed
    assert float(printed) <= threshold

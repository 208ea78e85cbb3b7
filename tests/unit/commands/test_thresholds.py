"""otel-raglog thresholds; what it suggests is specified beside the training, in test_train.py."""

import pytest
from typer.testing import CliRunner

from otel_raglog.commands import app
from otel_raglog.errors import ConfigError


def test_a_folder_without_a_detector_is_an_error(tmp_path) -> None:
    """It says what makes one."""
    (tmp_path / "runs.jsonl").write_text('{"question": "Who?"}\n')
    arguments = ["thresholds", str(tmp_path / "runs.jsonl"), "--model", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    with pytest.raises(ConfigError, match="otel-raglog train"):
        raise result.exception

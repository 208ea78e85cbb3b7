"""Pictures of an evaluation."""

import sys

import pytest
from evaluation_runs import retrievals

from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation.evaluation import figures_of
from otel_raglog.lab.evaluation.plots import check_plots, write_plots

EVALUATION = figures_of(
    retrievals([(True, 0.9), (False, 0.4), (True, 0.3), (False, None)]), draws=0
)


def test_two_pictures_are_written(tmp_path):
    """As PNG, into a folder that is made."""
    pytest.importorskip("matplotlib")
    paths = write_plots(EVALUATION, tmp_path / "new" / "plots")
    assert [path.name for path in paths] == ["precision_recall.png", "reliability.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    """As an error of ours."""
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"cannot write plots into .*file"):
        write_plots(EVALUATION, tmp_path / "file" / "plots")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    """Before anything long is done."""
    monkeypatch.setattr("otel_raglog.lab.evaluation.plots.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"otel-raglog\[train\]"):
        check_plots()
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BadInput, match=r"otel-raglog\[train\]"):
        write_plots(EVALUATION, tmp_path)

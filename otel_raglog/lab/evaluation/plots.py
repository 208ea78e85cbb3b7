"""An evaluation to pictures: precision and recall, and reliability, per stage."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation.evaluation import Evaluation
from otel_raglog.lab.evaluation.outcomes import STAGES
from otel_raglog.lab.evaluation.ranking import curve
from otel_raglog.model import Stage

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE_INCHES = (8.0, 5.0)
_DOTS_PER_INCH = 120
_LARGEST_DOT = 300.0
_MISSING = "plots need pip install 'otel-raglog[train]'"


def check_plots() -> None:
    """Raise :class:`BadInput` where plots cannot be drawn, before anything long is done."""
    if find_spec("matplotlib") is None:
        raise BadInput(_MISSING)


def write_plots(evaluation: Evaluation, folder: Path) -> tuple[Path, ...]:
    """Write ``precision_recall.png`` and ``reliability.png`` into ``folder``, made if missing.

    Returns their paths. Nothing is drawn on a display.

    Raises:
        BadInput: matplotlib is not installed (extra ``train``), or the folder cannot be written.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  an optional extra
    except ModuleNotFoundError:
        raise BadInput(_MISSING) from None
    pictures = {
        "precision_recall.png": _precision_recall(
            evaluation, Figure(figsize=_SIZE_INCHES, layout="constrained")
        ),
        "reliability.png": _reliability(
            evaluation, Figure(figsize=_SIZE_INCHES, layout="constrained")
        ),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in pictures.items():
            figure.savefig(folder / name, dpi=_DOTS_PER_INCH)
    except OSError as error:
        raise BadInput(f"cannot write plots into {folder}: {error.strerror}") from None
    return tuple(folder / name for name in pictures)


def _colours() -> Iterator[tuple[int, Stage, str]]:
    for column, stage in enumerate(STAGES):
        yield column, stage, f"C{column}"


def _precision_recall(evaluation: Evaluation, figure: Figure) -> Figure:
    """Draw a curve for each stage with faults, and a dot where the detector's threshold is."""
    axes = figure.add_subplot()
    outcomes = evaluation.outcomes
    for column, stage, colour in _colours():
        rows = outcomes.labelled[:, column] & ~np.isnan(outcomes.probability[:, column])
        faulty = outcomes.faulty[rows, column]
        if not faulty.any():
            continue
        points = curve(faulty, outcomes.probability[rows, column])
        label = f"{stage.value} ({evaluation.overall.stages[stage].faulty} faulty)"
        axes.step(points.recall, points.precision, where="pre", color=colour, label=label)
        figures = evaluation.overall.stages[stage]
        if figures.precision is not None and figures.recall is not None:
            axes.plot(figures.recall, figures.precision, "o", color=colour)
    _finish(axes, "recall", "precision", "Precision and recall; dots: at the detector's threshold")
    return figure


def _reliability(evaluation: Evaluation, figure: Figure) -> Figure:
    """Draw the share of faults over the probability that was said; dots by number of runs."""
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8, label="calibrated")
    for _, stage, colour in _colours():
        found = evaluation.calibrations.get(stage)
        if found is None:
            continue
        said = [each.mean_probability for each in found.bins]
        happened = [each.faulty_share for each in found.bins]
        sizes = [_LARGEST_DOT * each.n / found.n for each in found.bins]
        axes.plot(said, happened, color=colour, linewidth=0.8)
        axes.scatter(
            said, happened, s=sizes, color=colour, alpha=0.6,
            label=f"{stage.value} (Brier {found.brier:.3f})",
        )  # fmt: skip
    _finish(axes, "probability said", "share of faults", "Reliability")
    return figure


def _finish(axes: Axes, x: str, y: str, title: str) -> None:
    axes.set(xlabel=x, ylabel=y, xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_title(title, fontsize="medium")
    axes.grid(visible=True, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small", markerscale=0.5)

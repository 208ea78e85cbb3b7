"""An evaluation to tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from otel_raglog.lab.evaluation.confusion import Figures, Interval, Slice
from otel_raglog.lab.evaluation.correctness import CorrectnessFigures
from otel_raglog.lab.evaluation.evaluation import Evaluation, PartFigures
from otel_raglog.lab.evaluation.json_figures import Setting
from otel_raglog.lab.references.correctness import By, Correctness
from otel_raglog.model import Stage

_NONE = "-"
_RATES = ("faulty", "n", "flagged", "prec.", "recall", "F1", "F1 95 %", "FPR", "floor F1")


def print_evaluation(evaluation: Evaluation, setting: Setting, console: Console) -> None:
    """Print every table that has rows."""
    overall = evaluation.overall
    console.print(
        Text(
            f"{setting.detector}, policy {setting.policy}, {setting.how}: {overall.runs} labelled "
            f"runs of {overall.questions} questions"
            + (
                f"; {setting.unlabelled_runs} without labels left out"
                * (setting.unlabelled_runs > 0)
            )
            + (f"; {setting.skipped_runs} unreadable left out" * (setting.skipped_runs > 0))
        ),
        soft_wrap=True,
    )
    console.print(_slice_table("All runs", overall))
    for line in _unjudged(overall):
        console.print(Text(line), soft_wrap=True)
    # Of one kind alone, all runs are what was just shown.
    if evaluation.natural is not None and evaluation.injected is not None:
        console.print(_slice_table("Natural runs (no injection)", evaluation.natural))
        console.print(_slice_table("Injected runs", evaluation.injected))
    console.print(_ranking_table(evaluation))
    sections = (
        _slices_table("By pipeline (pooled over stages)", "pipeline", evaluation.pipelines),
        _parts_table("By fault type", evaluation.fault_types),
        _parts_table("By injection", evaluation.injections),
        *_correctness_tables(evaluation.correctness),
        _ablation_table(evaluation),
        _slices_table(
            "Pipelines left out of training (pooled)", "pipeline", evaluation.left_out_pipelines
        ),
        _parts_table("Left out of training", evaluation.left_out_parts),
    )
    for table in sections:
        if table is not None:
            console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column(columns[0], no_wrap=True)
    for name in columns[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _slice_table(title: str, found: Slice) -> Table:
    table = _table(title, "stage", *_RATES)
    for stage, figures in found.stages.items():
        if figures.n:
            table.add_row(stage.value, *_cells(figures))
    table.add_row("pooled", *_cells(found.pooled), style="bold")
    macro = [_NONE] * len(_RATES)
    macro[5], macro[6] = _rate(found.macro_f1), _interval(found.macro_f1_ci95)
    table.add_row("macro", *macro)
    table.add_row("run", *_cells(found.run_level))
    return table


def _cells(found: Figures) -> Sequence[str]:
    return (
        str(found.faulty),
        str(found.n),
        f"{found.flagged:g}",
        _rate(found.precision),
        _rate(found.recall),
        _rate(found.f1),
        _interval(found.f1_ci95),
        _rate(found.fpr, 3),
        _rate(found.floor_f1),
    )


def _unjudged(found: Slice) -> Iterator[str]:
    for stage, figures in found.stages.items():
        if figures.unjudged:
            reasons = ", ".join(f"{count:g} {reason}" for reason, count in figures.unjudged.items())
            yield f"{stage.value}: not judged, hence not flagged: {reasons}"
        if figures.unlabelled:
            yield f"{stage.value}: {figures.unlabelled:g} judged without a label, counted nowhere"


def _ranking_table(evaluation: Evaluation) -> Table:
    table = _table(
        "Ranking and calibration",
        "stage", "n", "AUC", "best AUC of one", "measurement", "Brier", "of the share", "cal. error",
    )  # fmt: skip
    for stage, ranking in evaluation.rankings.items():
        calibration = evaluation.calibrations.get(stage)
        if calibration is not None:
            table.add_row(
                stage.value,
                str(ranking.n),
                _rate(ranking.auc, 3),
                _rate(ranking.best_auc, 3),
                ranking.best_measurement or _NONE,
                _rate(calibration.brier, 3),
                _rate(calibration.brier_of_share, 3),
                _rate(calibration.calibration_error, 3),
            )
    return table


def _slices_table(title: str, first: str, slices: Mapping[str, Slice]) -> Table | None:
    if not slices:
        return None
    table = _table(title, first, "runs", *_RATES, "macro F1", "run FPR")
    for name, found in slices.items():
        table.add_row(
            name,
            str(found.runs),
            *_cells(found.pooled),
            _rate(found.macro_f1),
            _rate(found.run_level.fpr, 3),
        )
    return table


def _ablation_table(evaluation: Evaluation) -> Table | None:
    if not evaluation.ablation:
        return None
    stages = [stage for stage in Stage if evaluation.overall.stages[stage].faulty]
    retrained = evaluation.ablation[0].retrained
    table = _table(
        "Ablation per group of checks "
        + ("(trained anew)" if retrained else "(same detector, measurements missing)"),
        "checks", "pooled F1", "F1 95 %", "FPR", "macro F1", *(f"{stage.value} F1" for stage in stages),
    )  # fmt: skip
    for each in evaluation.ablation:
        found = each.figures
        table.add_row(
            each.name,
            _rate(found.pooled.f1),
            _interval(found.pooled.f1_ci95),
            _rate(found.pooled.fpr, 3),
            _rate(found.macro_f1),
            *(_rate(found.stages[stage].f1) for stage in stages),
        )
    return table


def _correctness_tables(found: CorrectnessFigures | None) -> Iterator[Table]:
    if found is None:
        return
    by = ", ".join(
        f"{count:g} by {_SAID_BY[By(name)]}"
        for name, count in found.by.items()
        if count and name != By.NOBODY
    )
    table = _table(
        f"Runs by whether the answer is right ({by})",
        "run", *(f"verdict: {each}" for each in Correctness), *(f"label: {each}" for each in Correctness),
    )  # fmt: skip
    for said, counts in found.verdicts.items():
        labelled = found.labels[said].values()
        cells = [f"{count:g}" for count in (*counts.values(), *labelled)]
        table.add_row(said, *cells)
    yield table
    if found.right:
        table = _table(
            "Hidden faults", "stage", "by labels", "by verdicts", "by both", "of right answers"
        )
        rows = [(stage.value, each) for stage, each in found.hidden_stages.items()]
        for name, each in (*rows, ("run", found.hidden)):
            if each.by_labels or each.by_verdicts or name == "run":
                counts_of = (each.by_labels, each.by_verdicts, each.by_both, found.right)
                table.add_row(name, *(f"{count:g}" for count in counts_of))
        yield table
    if found.wrong:
        table = _table(
            "First faulty stage of wrong answers", "stage", "by labels", "by verdicts", "of wrong answers"
        )  # fmt: skip
        for name, count in found.first_by_labels.items():
            said_count = found.first_by_verdicts[name]
            if count or said_count:
                table.add_row(name, f"{count:g}", f"{said_count:g}", f"{found.wrong:g}")
        same = f"{found.same_first:g}"
        table.add_row("the same", same, same, f"{found.wrong:g}", style="bold")
        yield table


_SAID_BY = {By.RECORD: "the record", By.WORDS: "their words", By.LLM: "an LLM"}


def _parts_table(title: str, parts: Sequence[PartFigures]) -> Table | None:
    if not parts:
        return None
    table = _table(
        title, "stage", "type", "runs", "faulty", "recall", "recall 95 %", "false alarms", "named", "FPR"
    )  # fmt: skip
    for each in parts:
        table.add_row(
            each.part.stage.value if each.part.stage is not None else _NONE,
            each.part.name,
            str(each.n),
            str(each.faulty),
            _rate(each.recall),
            _interval(each.recall_ci95),
            f"{each.false_alarms:g}",
            _rate(each.named),
            _rate(each.fpr, 3),
        )
    return table


def _rate(value: float | None, digits: int = 2) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"


def _interval(found: Interval | None) -> str:
    return _NONE if found is None else f"{found[0]:.2f} to {found[1]:.2f}"

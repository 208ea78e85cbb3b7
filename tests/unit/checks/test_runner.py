"""The check runner."""

from collections.abc import Iterable, Iterator

from handbook_runs import make_run

from otel_raglog.checks.check import measured
from otel_raglog.checks.runner import LoggingFailures, measure
from otel_raglog.model import Measurement, MeasurementStatus, Run, Stage


class Good:
    name = "good.retriever"
    stage = Stage.RETRIEVER
    measures = ("retriever.good",)

    def measure(self, run: Run) -> Iterable[Measurement]:
        yield measured("retriever.good", 1)


class Broken:
    name = "broken.retriever"
    stage = Stage.RETRIEVER
    measures = ("retriever.broken",)

    def measure(self, run: Run) -> Iterator[Measurement]:
        yield measured("retriever.broken", 1)
        raise KeyError("no such thing")


def test_a_check_that_raises_costs_its_own_result_only() -> None:
    """It leaves one failed measurement under its name, and is counted."""
    failures = LoggingFailures()
    found = measure(make_run(), [Broken(), Good()], failures)
    assert [(m.name, m.status) for m in found] == [
        ("broken.retriever", MeasurementStatus.FAILED),
        ("retriever.good", MeasurementStatus.MEASURED),
    ]
    assert failures.counts == {("broken.retriever", "KeyError"): 1}

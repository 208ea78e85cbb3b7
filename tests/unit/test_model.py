"""What the values promise by themselves."""

import pytest
from samples import make_report, make_run

from otel_raglog.model import (
    FAULT_TYPES,
    NOT_CAPTURED,
    Completion,
    FaultType,
    Field,
    FieldStatus,
    HeldTrace,
    Origin,
    Stage,
    StepOrigin,
    WireSpan,
    missing,
    present,
)


def test_every_fault_type_belongs_to_one_stage():
    """The taxonomy is complete and without overlap."""
    listed = [fault for faults in FAULT_TYPES.values() for fault in faults]
    assert sorted(listed) == sorted(FaultType)
    assert list(FAULT_TYPES) == list(Stage)


@pytest.mark.parametrize(
    ("field", "usable"),
    [
        (present("x"), True),
        (Field("x", FieldStatus.TRUNCATED), True),
        (Field((), FieldStatus.EMPTY), True),
        (NOT_CAPTURED, False),
        (missing(FieldStatus.REDACTED), False),
        (missing(FieldStatus.EVICTED), False),
    ],
)
def test_only_values_that_are_there_are_usable(field, usable):
    """A check reads present, cut and empty values; never a placeholder."""
    assert field.usable is usable


@pytest.mark.parametrize("completion", Completion)
def test_a_trace_is_whole_only_when_evidence_said_so(completion):
    """Running out of time or room is not completion."""
    whole = {Completion.ROOT_QUIET, Completion.EXPLICIT, Completion.FILE_END}
    assert completion.complete is (completion in whole)


def test_faulty_stages_are_in_pipeline_order():
    """So the first one is where to look first."""
    report = make_report(
        {Stage.GENERATOR: FaultType.INCOMPLETE, Stage.RETRIEVER: FaultType.EMPTY_RESULT}
    )
    assert report.faulty_stages == (Stage.RETRIEVER, Stage.GENERATOR)
    assert report.first_faulty_stage is Stage.RETRIEVER
    assert make_report().first_faulty_stage is None


def test_a_duration_is_never_negative():
    """Clocks of applications are wrong at times."""
    assert StepOrigin(start_unix_nano=5, end_unix_nano=1).seconds == 0
    assert StepOrigin(start_unix_nano=0, end_unix_nano=1_500_000_000).seconds == 1.5


def test_steps_by_stage():
    """Every stage has its steps, perhaps none."""
    run = make_run()
    assert run.steps(Stage.RETRIEVER) == run.retrievers
    assert run.steps(Stage.REWRITER) == ()
    assert all(isinstance(run.steps(stage), tuple) for stage in Stage)


def test_the_size_of_a_span_includes_its_envelopes():
    """A span alone keeps its request's resource and scope alive, so they are charged to it."""
    span = WireSpan(
        b"t", b"s", b"", False, True, False, False, Origin(b"resource", b"scope"), b"raw"
    )
    assert span.size_bytes >= len(b"raw") + len(b"resource") + len(b"scope")
    trace = HeldTrace(b"t", (span, span), Completion.ROOT_QUIET, 1.0)
    assert trace.size_bytes == 2 * span.size_bytes

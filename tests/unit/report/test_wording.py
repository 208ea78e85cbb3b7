"""What explanations may say of a run of which something is redacted."""

from dataclasses import replace

import pytest
from handbook_runs import make_run

from otel_raglog.judge.redacting import Redactor
from otel_raglog.model import (
    FaultType,
    Measurement,
    Stage,
    StageVerdict,
    Tier,
    Verdict,
)
from otel_raglog.report.building import build_report
from otel_raglog.report.wording import wording_of

TRUE = "Does Müller pay 4,111 euros for cabin 12?"


def seen_run():
    """Return a run in which a name and a number are redacted."""
    run = make_run(question=TRUE, answer="Yes.")
    return replace(run, view=Redactor(["Müller", "4,111"])(run))


def test_a_run_without_redaction_may_be_quoted():
    """There is nothing to look for."""
    assert wording_of(make_run(question=TRUE)) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("names dropped: Müller", False),
        ("names dropped: MULLER", False),
        ("words lost: mulle", False),
        ("numbers dropped: 4,111", False),
        ("numbers dropped: 4111", False),
        ("numbers dropped: 12; words: cabin, euros", True),
        ("similarity 0.7131, the rewrite drops a constraint", True),
        ("", True),
    ],
)
def test_words_that_stand_in_the_true_text_alone_are_not_said(text, expected):
    """In no spelling, stem or way to write a number; all others are."""
    assert wording_of(seen_run()).may_show(text) is expected


def measured(evidence, quotes=()):
    """Return a measurement in words."""
    return Measurement(
        "rewriter.names_dropped",
        Stage.REWRITER,
        1.0,
        evidence=evidence,
        quotes=quotes,
    )


def report_of(run, evidence, quotes=(), explanation=""):
    """Return the rewriter's explanation, and the report."""
    verdict = Verdict(
        Stage.REWRITER,
        StageVerdict.FAULTY,
        probability=0.9,
        threshold=0.5,
        fault_types=(FaultType.DROPS_CONSTRAINT,),
        explanation=explanation,
    )
    return build_report(
        run,
        [measured(evidence, quotes)],
        {Stage.REWRITER: verdict},
        detector_version="t",
        tier=Tier.LOCAL,
        analysis_seconds=0.0,
        quote_text=True,
    )


def test_evidence_with_a_hidden_word_is_left_out_of_the_report():
    """The verdict stays, and what may be said is said."""
    report = report_of(seen_run(), "Müller was dropped", ("Does Müller",))
    assert "ller" not in str(report.verdicts)
    assert report.measurements[0].evidence == ""
    assert report.measurements[0].quotes == ()
    assert report.measurements[0].value == 1.0
    assert report.verdicts[Stage.REWRITER].verdict is StageVerdict.FAULTY
    assert report.verdicts[Stage.REWRITER].explanation
    told = report_of(seen_run(), "cabin was dropped", ("cabin 12",))
    assert "cabin was dropped" in told.verdicts[Stage.REWRITER].explanation.lower()
    assert "cabin 12" in told.verdicts[Stage.REWRITER].explanation


def test_a_detector_s_own_words_are_looked_through_as_well():
    """What cannot be said is replaced by what is always true."""
    report = report_of(seen_run(), "", explanation="Müller was lost")
    assert "ller" not in report.verdicts[Stage.REWRITER].explanation

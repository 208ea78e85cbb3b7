"""What a judge is asked, and what becomes of its answers."""

from random import Random

import pytest
from judge_fakes import FakeClient
from judged_records import HELD, findings, run_record

from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.lab.judges.case import case_of
from otel_raglog.lab.judges.findings import Findings
from otel_raglog.lab.judges.judge import Judge, opinion_of, second_look

CASE = case_of(run_record())
ONE = Findings.model_validate(findings(rewriter__dropped_constraints=["THE FIRST"]))
OTHER = Findings.model_validate(findings(rewriter__dropped_constraints=["THE SECOND"]))


def judge(*says):
    client = FakeClient(says)
    return Judge("openai:m", client, 9), client


def test_a_judge_sees_the_run_and_its_references():
    """In one call, the instructions apart from it, the same for all runs."""
    asked, client = judge(findings())
    found = opinion_of(asked, CASE)
    assert (found.judge, found.failure) == ("openai:m", None)
    assert found.findings == Findings.model_validate(findings())
    (request,) = client.asked
    assert HELD in request.prompt
    assert HELD not in request.system
    assert "- 1931" in request.prompt
    assert request.schema_name == "findings"
    assert client.timeouts == [9]
    opinion_of(asked, case_of(run_record(question="Another?")))
    assert client.asked[1].system == request.system


def test_the_judge_is_asked_for_findings_not_for_labels():
    """What is a fault is not its to say."""
    asked, client = judge(findings())
    opinion_of(asked, CASE)
    assert "You do not say what is a fault" in client.asked[0].system


def test_findings_that_cannot_be_are_asked_for_once_more():
    """Then the judge has failed, for this run alone."""
    bad = findings(retriever__needed_chunks=["c9"])
    asked, client = judge(bad, findings())
    assert opinion_of(asked, CASE).findings is not None
    assert len(client.asked) == 2
    failed = opinion_of(judge(bad)[0], CASE)
    assert failed.findings is None
    assert "retriever.needed_chunks" in failed.failure


@pytest.mark.parametrize("failure", [Unavailable("busy"), Rejected("no", "prompt_too_large")])
def test_a_failed_call_is_told(failure):
    """It costs this judge's opinion of this run."""
    found = opinion_of(judge(failure)[0], CASE)
    assert (found.findings, found.failure) == (None, str(failure))


def test_a_refused_key_ends_it_with_the_judges_name():
    """No other run would fare better."""
    with pytest.raises(Rejected, match="openai:m: no") as error:
        opinion_of(judge(Rejected("no", "unauthorized"))[0], CASE)
    assert error.value.reason == "unauthorized"


def test_a_second_look_sees_both_findings_unnamed():
    """With the stages on which they differ, in an order that the seed decides."""
    first = set()
    for seed in range(20):
        asked, client = judge(findings())
        found = second_look(asked, CASE, (ONE, OTHER), "rewriter", Random(seed))
        assert found.findings is not None
        prompt = client.asked[0].prompt
        assert "differ on: rewriter" in prompt
        assert "openai:m" not in prompt
        first.add(prompt.index("THE FIRST") < prompt.index("THE SECOND"))
    assert first == {True, False}


def test_what_others_found_stands_between_delimiters_too():
    """It holds texts of the run."""
    asked, client = judge(findings())
    second_look(asked, CASE, (ONE, OTHER), "rewriter", Random(1))
    prompt = client.asked[0].prompt
    mark = prompt.split()[1]
    start = prompt.index(f"<<<untrusted {mark} findings_1>>>")
    assert start < prompt.index("THE FIRST")
    assert f"<<<end {mark} findings_2>>>" in prompt

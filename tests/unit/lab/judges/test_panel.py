"""Labels by two judges and a third."""

from dataclasses import replace

import pytest
from judge_fakes import FakeClient
from judged_records import findings, run_record

from otel_raglog.detect.training.labels import read_labels
from otel_raglog.errors import BadInput, Unavailable
from otel_raglog.judge.redacting import Redactor
from otel_raglog.lab.judges.agreement import agreement_in
from otel_raglog.lab.judges.judge import Judge
from otel_raglog.lab.judges.labelling import failures_of
from otel_raglog.lab.judges.panel import Panel
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage

DROPPED = {"rewriter__dropped_constraints": ["1931"]}
NOTHING = {"retriever__needed_chunks": []}


def panel(first, second, third=None):
    """A panel whose judges say these; the third one fails the test when it is asked unasked."""
    clients = [FakeClient([each]) for each in (first, second, third or "must not be asked")]
    judges = [Judge(f"openai:{name}", client) for name, client in zip("abc", clients, strict=True)]
    return Panel(*judges), clients


def test_where_judges_agree_nobody_else_is_asked():
    """The record has labels with types, and who they are by."""
    asked, clients = panel(findings(**DROPPED), findings(**DROPPED))
    found = asked.label(run_record())
    rewriter = found["labels"]["rewriter"]
    assert (rewriter["faulty"], rewriter["types"]) == (True, ["drops_constraint"])
    assert (rewriter["labelled_by"], found["labelled_by"]["adjudicated"]) == ("judges", [])
    assert found["labels"]["generator"]["faulty"] is False
    assert (list(found["labels"]), found["unlabelled"]) == ([each.value for each in Stage], {})
    assert clients[2].asked == []


def test_where_they_differ_a_third_decides_that_stage_alone():
    """By findings of its own, even where it differs from both on another stage."""
    asked, clients = panel(
        findings(**DROPPED), findings(), findings(**DROPPED, generator__other_question=True)
    )
    found = asked.label(run_record())
    assert found["labels"]["rewriter"]["faulty"] is True
    assert found["labels"]["rewriter"]["labelled_by"] == "adjudicator"
    assert found["labels"]["generator"]["faulty"] is False
    assert found["labelled_by"]["adjudicated"] == ["rewriter"]
    assert list(found["labels"]) == [each.value for each in Stage]
    assert len(clients[2].asked) == 1


def test_types_are_those_that_both_name():
    """Or where they name none in common, all."""
    both = findings(**DROPPED, rewriter__intent_changed=True)
    label = panel(both, findings(**DROPPED))[0].label(run_record())["labels"]["rewriter"]
    assert label["types"] == ["drops_constraint"]
    other = findings(rewriter__intent_changed=True)
    label = panel(findings(**DROPPED), other)[0].label(run_record())["labels"]["rewriter"]
    assert label["types"] == ["drops_constraint", "changes_intent"]


def test_a_judge_that_failed_leaves_the_run_unlabelled():
    """Listed with the reason; what the other one found is kept."""
    asked, clients = panel(findings(), Unavailable("busy"))
    found = asked.label(run_record())
    assert found["labels"] == {}
    assert found["unlabelled"]["generator"] == "openai:b failed: busy"
    first, second = found["labelled_by"]["judges"]
    assert first["faulty"]["generator"] is False
    assert second == {"judge": "openai:b", "failed": "busy"}
    assert clients[2].asked == []


def test_an_adjudicator_that_failed_leaves_what_differs_unlabelled():
    """And nothing else."""
    found = panel(findings(**DROPPED), findings(), Unavailable("busy"))[0].label(run_record())
    assert list(found["unlabelled"]) == ["rewriter"]
    assert "the adjudicator failed: busy" in found["unlabelled"]["rewriter"]
    assert len(found["labels"]) == 5


def test_provenance_holds_findings_by_judge():
    """Of the stages that the run has, so that labels can be made anew by other rules."""
    record = run_record(reranked=None)
    found = panel(findings(), findings(**DROPPED), findings())[0].label(record)
    by = found["labelled_by"]
    assert [each["judge"] for each in by["judges"]] == ["openai:a", "openai:b"]
    assert by["adjudicator"]["judge"] == "openai:c"
    assert by["judges"][1]["faulty"]["rewriter"] is True
    stored = by["judges"][0]["findings"]
    assert stored["retriever"] == {"needed_chunks": ["c1"]}
    assert "reranker" not in stored


def test_labels_that_were_there_are_replaced_and_the_rest_of_the_record_kept():
    """Training and analysis read the result; neither sees who made the labels."""
    record = run_record(labels={"assembly": {"faulty": True}}, unlabelled={"retriever": "x"}, own=1)
    found = panel(findings(**NOTHING), findings(**NOTHING))[0].label(record)
    assert (found["own"], found["unlabelled"]) == (1, {})
    labels = read_labels(found)
    assert labels.faulty[Stage.RETRIEVER] is True
    assert labels.types[Stage.RETRIEVER] == ("no_relevant_chunk",)
    assert labels.faulty[Stage.ASSEMBLY] is False
    assert run_from_record(found) == run_from_record(record)


def test_malformed_records_are_an_error_before_anybody_is_asked():
    """It names the record."""
    asked, clients = panel(findings(), findings())
    with pytest.raises(BadInput, match="'r1'"):
        asked.label(run_record(retrieved="x"))
    assert clients[0].asked == []


def test_what_was_not_recorded_is_unlabelled_with_the_reason():
    """Whatever the judges say of it; they are told which stages there are to examine."""
    everything = findings(**NOTHING, **DROPPED, generator__refuses=True)
    asked, clients = panel(everything, everything)
    found = asked.label({**run_record(answer="__REDACTED__"), "retrieved": None, "reranked": None, "passed": None})  # fmt: skip
    assert list(found["labels"]) == ["rewriter", "embedder"]
    assert found["unlabelled"] == {
        "retriever": "not captured",
        "reranker": "not captured",
        "assembly": "what went on to the prompt was not captured",
        "generator": "redacted",
    }
    assert "rewriter, embedder\n" in clients[0].asked[0].prompt
    assert "reranker" not in found["labelled_by"]["judges"][0]["findings"]


def test_labels_that_hang_on_what_was_not_recorded_are_left_open():
    """The judges agree on that, and nobody's opinion counts in their agreement."""
    record = run_record(retrieved=[{"id": "d1", "text": "x"}, {"id": "d2"}])
    asked, clients = panel(findings(**NOTHING), findings(**NOTHING))
    found = asked.label(record)
    assert set(found["unlabelled"]) == {"retriever", "reranker"}
    assert "retriever" not in found["labelled_by"]["judges"][0]["faulty"]
    assert clients[2].asked == []


def test_about_a_run_without_a_question_nobody_is_asked():
    """It has no failure either, so that it is not asked about again."""
    asked, clients = panel("must not be asked", "must not be asked")
    found = asked.label({**run_record(), "question": None})
    assert (found["labels"], clients[0].asked) == ({}, [])
    assert set(found["unlabelled"].values()) == {"question not captured"}
    assert failures_of(found) == []
    assert agreement_in([found])[None].unlabelled == 6


def test_judges_see_what_redaction_leaves():
    """All three; the record keeps what it has."""
    asked, clients = panel(findings(**DROPPED), findings(), findings())
    record = run_record()
    found = replace(asked, redact=Redactor(["Alvar"])).label(record)
    assert found["question"] == record["question"]
    for client in clients:
        assert "[redacted] Bridge" in client.asked[0].prompt
        assert "Alvar" not in client.asked[0].prompt

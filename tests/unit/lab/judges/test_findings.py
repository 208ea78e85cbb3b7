"""The form of a judge's findings."""

import pytest
from judged_records import findings
from pydantic import ValidationError

from otel_raglog.lab.judges.findings import Findings


def test_every_field_must_be_answered_and_no_other():
    """What providers enforce: all required, nothing else allowed, in every part."""
    schema = Findings.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert set(part["required"]) == set(part["properties"])


def test_findings_name_no_fault_types():
    """Those are made by rules: a judge cannot label."""
    names = str(Findings.model_json_schema())
    for word in ("faulty", "wrong_refusal", "no_relevant_chunk", "should_abstain"):
        assert word not in names


def test_a_stage_may_be_null_and_a_kind_must_be_known():
    """Null is for stages that the run lacks."""
    assert Findings.model_validate(findings(reranker=None)).reranker is None
    claim = {"statement": "x", "kind": "lie"}
    with pytest.raises(ValidationError):
        Findings.model_validate(findings(generator__unstated=[claim]))

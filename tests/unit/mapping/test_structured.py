"""The answer among the named fields of an output."""

import json

import pytest

from otel_raglog.mapping.outputs import final_answer
from otel_raglog.mapping.structured import structured_answer

SAID = "On the aft deck."
FIELDS = {"reasoning": "Chunk 1 says so.", "answer": SAID, "sources": [1], "confidence": "high"}


@pytest.mark.parametrize(
    "output",
    [
        json.dumps(FIELDS),
        json.dumps({"response": SAID}),
        f"```json\n{json.dumps(FIELDS, indent=2)}\n```",
        f"[[ ## reasoning ## ]]\nIt says so.\n\n[[ ## response ## ]]\n{SAID}\n\n[[ ## completed ## ]]",
        f"[[ ## answer ## ]]\n{SAID}\n\n[[ ## reasoning ## ]]\nIt says so.",
    ],
)
def test_the_answer_is_the_field_that_is_named_so(output):
    """Whatever stands beside it: reasoning, sources, a confidence."""
    assert structured_answer(output) == SAID
    assert final_answer(output) == SAID


@pytest.mark.parametrize(
    "output",
    [
        SAID,
        'Write {"answer": "x"} as JSON.',
        '{"score": 5, "reason": "supported"}',
        '{"answer": ["a", "b"]}',
        '["answer"]',
        '{"answer": "cut he',
        "[[ ## next_thought ## ]]\nx\n\n[[ ## next_tool_name ## ]]\nsearch",
        "[[ ## reasoning ## ]]\nonly this",
    ],
)
def test_other_outputs_have_no_such_field(output):
    """Prose, a judgement, lists, cut JSON, an agent's next step."""
    assert structured_answer(output) is None
    assert final_answer(output) == output

"""Who sent the spans of the golden traces, as the conventions name it."""

import pytest
from golden_conventions import FOLDER, spans_in, traces

from otel_raglog.conventions.registry import BUILT_IN

SENT_BY_OTHERS = [
    path for path in traces() if "otel-genai" not in path.parts or "vercel-ai" in path.parts
]


@pytest.mark.parametrize(
    "path", SENT_BY_OTHERS, ids=lambda path: str(path.relative_to(FOLDER)).partition(".")[0]
)
def test_no_other_sender_is_taken_for_plain_genai(path):
    """Each of them has a name and a remedy of its own, also where its spans have GenAI keys alone."""
    readings = [(span, BUILT_IN.read(span)) for span in spans_in(path)]
    assert [span.name for span, facts in readings if facts and facts.convention == "genai"] == []

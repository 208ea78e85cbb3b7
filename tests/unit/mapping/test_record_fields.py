"""How the keys of a record are read."""

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.mapping.record_fields import read_fields


def test_text_columns_with_json():
    """List columns of CSV files hold JSON; ids may be numbers; a text is a list of one."""
    fields = read_fields(
        {"id": 7, "retrieved": '[{"id": 1, "text": "x"}]', "embedder_input": "q", "passed": [1]}
    )
    assert (fields.id, fields.retrieved[0].id, fields.embedder_input) == ("7", "1", ["q"])
    assert fields.passed[0].id == "1"


def test_recorded_or_not():
    """A key that is null was recorded, one that is missing was not."""
    fields = read_fields({"id": "a", "rewrites": None})
    assert fields.has("rewrites")
    assert not fields.has("reranked")


def test_a_record_without_an_id():
    """It is refused, and named as such."""
    with pytest.raises(BadInput, match="without an id"):
        read_fields({"question": "q"})

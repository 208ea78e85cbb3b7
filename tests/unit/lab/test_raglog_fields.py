"""Where a release has what, and files that say so."""

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.lab.raglog_fields import Fields, read_fields_file
from otel_raglog.model import Stage


def fields(tmp_path, text):
    path = tmp_path / "fields.yaml"
    path.write_text(text)
    return read_fields_file(path)


def test_the_first_path_that_holds_something_counts():
    """Null is nothing; a name may have dots."""
    data = {"run_id": None, "id": "r1", "trace": {"query.rewriter": {"output": "x"}}}
    assert Fields().find(data, "id") == ("r1", "id")
    assert Fields().find(data, "question") is None
    own = Fields({"stage": ("trace.query.{stage}",)})
    assert own.find(data, "stage", Stage.REWRITER) == ({"output": "x"}, "trace.query.rewriter")


def test_stages_are_known_by_several_names():
    """However they are written."""
    names = Fields()
    assert names.stage_named("Query Rewriter") is Stage.REWRITER
    assert names.stage_named("re-ranker") is Stage.RERANKER
    assert names.stage_named("assembly") is None
    assert names.stage_named(7) is None


def test_a_file_replaces_names_field_by_field(tmp_path):
    """What it does not name stays as it is."""
    own = fields(
        tmp_path,
        "id: uid\nlabel: truth.{stage}\nstages: {generator: [reader]}\nfaulty_values: [KO]\n",
    )
    assert own.find({"uid": "1", "id": "2"}, "id") == ("1", "uid")
    assert own.find({"truth": {"reader": 1}}, "label", Stage.GENERATOR) == (1, "truth.reader")
    assert own.stage_named("generator") is None
    assert own.stage_named("retrieval") is Stage.RETRIEVER
    assert own.values["faulty_values"] == ("ko",)
    assert read_fields_file(None) == Fields()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("questoin: q", "unknown field questoin: did you mean question?"),
        ("stages: {assembly: x}", "unknown field stages.assembly"),
        ("stages: x", "stages: must be a mapping"),
        ("id: {a: b}", "id: must be a path, or a list of paths"),
        ("- a", "a mapping of fields and paths is needed"),
        ("a: [", "is no valid YAML"),
    ],
)
def test_mistakes_are_named(tmp_path, text, told):
    """With the file, the field, and what is known."""
    with pytest.raises(BadInput, match=r"fields\.yaml") as error:
        fields(tmp_path, text)
    assert told in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    """Before anything is read."""
    with pytest.raises(BadInput, match="cannot read"):
        read_fields_file(tmp_path / "none.yaml")

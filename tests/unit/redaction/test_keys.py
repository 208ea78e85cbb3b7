"""Which rule means which key."""

import pytest

from otel_raglog.redaction.keys import DOCUMENT_ID_KEYS, KeyRules
from otel_raglog.redaction.replacing import Action


def test_keys_are_meant_by_their_name_or_by_a_pattern():
    """Dots are nothing special to a pattern."""
    rules = KeyRules(["user.name", "*.content"], ["user.*"])
    assert rules.action("user.name") is Action.MASK
    assert rules.action("user.id") is Action.HASH
    assert rules.action("retrieval.documents.0.document.content") is Action.MASK
    assert rules.action("username") is None
    assert rules.action("User.name") is None
    assert rules.action("") is None


def test_masking_wins():
    """Whichever stands first."""
    assert KeyRules(["a.*"], ["a.b"]).action("a.b") is Action.MASK


def test_our_own_attributes_are_meant_by_their_name_alone():
    """A verdict that is masked by accident helps nobody."""
    assert KeyRules(["*"]).action("raglog.verdict") is None
    assert KeyRules(["*"]).action("anything") is Action.MASK
    assert KeyRules(["raglog.expl*"]).action("raglog.explanation") is Action.MASK


@pytest.mark.parametrize(
    ("rule", "key", "expected"),
    [
        ("input.value.user", "input.value", True),
        ("input.value", "input.value", False),
        ("*.email", "input.value", True),
        ("input.*", "input.value", True),
        ("input.value.*.name", "input.value", True),
        ("output.*", "input.value", False),
        ("output.*", "", False),
    ],
)
def test_rules_may_mean_what_is_inside_a_value(rule, key, expected):
    """Values that no rule reaches into need not be opened."""
    assert KeyRules([rule]).reaches_below(key) is expected


@pytest.mark.parametrize(
    "key",
    [
        "retrieval.documents.0.document.id",
        "reranker.output_documents.3.document.id",
        "gen_ai.retrieval.documents.0.id",
        "output.value.documents.0.id",
        "db.query.result.0.id",
        "metadata.doc_id",
        "document_id",
    ],
)
def test_ids_of_documents_are_known(key):
    """As the instrumentations write them."""
    assert KeyRules((), DOCUMENT_ID_KEYS).action(key) is Action.HASH


@pytest.mark.parametrize("key", ["user.id", "gen_ai.response.id", "tool_call.id", "session.id"])
def test_other_ids_are_none_of_documents(key):
    """They have rules of their own."""
    assert KeyRules((), DOCUMENT_ID_KEYS).action(key) is None

"""Options to what redacts."""

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.options import Redaction
from otel_raglog.redaction.building import build_redaction
from otel_raglog.redaction.replacing import Action, Replacing

KEY = "0123456789abcdef"


def test_nothing_is_redacted_unless_asked():
    """A key alone redacts nothing."""
    assert build_redaction(Redaction()) is None
    assert build_redaction(Redaction(pattern_action="hash", key_from="X")) is None


def test_texts_are_searched_by_patterns_and_expressions():
    """With the action that is asked for."""
    texts = build_redaction(Redaction(patterns=["email"], expressions=["EMP-[0-9]+"])).texts
    assert texts("EMP-1 a@b.co") == "[redacted] [redacted]"


def test_hashes_are_made_with_the_key_of_the_file(tmp_path):
    """Blanks around it, and the end of its line, are none of it."""
    file = tmp_path / "key"
    file.write_text(f" {KEY}\n")
    options = Redaction(patterns=["email"], pattern_action="hash", key_file=file)
    hashed = Replacing(KEY.encode())("a@b.co", Action.HASH)
    assert build_redaction(options).texts("to a@b.co") == f"to {hashed}"


def test_hashes_without_a_key_are_refused(monkeypatch):
    """At the start."""
    monkeypatch.delenv("OTEL_RAGLOG_REDACTION_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"redaction\.key_file: hashes need a key"):
        build_redaction(Redaction(hash_document_ids=True))

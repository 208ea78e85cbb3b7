"""What stands in a text's place."""

import subprocess
import sys

from otel_raglog.conventions.masking import is_redacted
from otel_raglog.redaction.replacing import MASK, Action, Replacing, is_hashed

KEY = b"0123456789abcdef"


def test_a_mask_says_nothing():
    """Not even a length."""
    assert Replacing(KEY)("short", Action.MASK) == Replacing()("longer text", Action.MASK) == MASK


def test_a_hash_is_the_same_in_every_process():
    """And as others make it: ``printf d1 | openssl dgst -sha256 -hmac KEY``, its first 32 digits."""
    expected = "[redacted:ed6415df88609ecfc3bab8dae85a1ad5]"
    code = (
        "from otel_raglog.redaction.replacing import Action, Replacing;"
        f"print(Replacing({KEY!r})('d1', Action.HASH))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert Replacing(KEY)("d1", Action.HASH) == other.stdout.strip() == expected


def test_a_hash_depends_on_text_and_key():
    """Who has no key cannot try texts out."""
    hashed = {Replacing(key)(text, Action.HASH) for key in (KEY, KEY[::-1]) for text in ("a", "b")}
    assert len(hashed) == 4


def test_both_are_placeholders_to_whoever_reads_them():
    """A hidden text is never judged, here or behind another sidecar."""
    hashed = Replacing(KEY)("\ud800 odd", Action.HASH)
    assert is_hashed(hashed)
    assert is_redacted(hashed)
    assert is_redacted(MASK)
    assert not is_hashed(MASK)
    assert not is_hashed(f"{hashed} and more")


def test_the_key_is_in_no_representation():
    """Logs and tracebacks print values."""
    assert "0123456789" not in repr(Replacing(KEY))

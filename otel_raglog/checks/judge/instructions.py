"""Reads what an LLM is told from the files beside this one."""

from __future__ import annotations

from pathlib import Path

COMMON = "common"
"""The rules that all checks share."""
REPLY = "reply"
"""How to reply with JSON."""
YES_NO = "yes_no"
"""How to reply with one word."""

_FOLDER = Path(__file__).parent / "prompts"


def instructions_of(key: str) -> str:
    """Return the text of ``prompts/<key>.md``, without blank lines at its ends."""
    return (_FOLDER / f"{key}.md").read_text(encoding="utf-8").strip()

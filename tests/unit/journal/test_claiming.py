"""A claimed folder is private and has one owner."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.journal.claiming import claim_folder


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    """And is closed to others, whatever it was before."""
    folder = tmp_path / "log"
    folder.mkdir(mode=0o755)
    descriptor = claim_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with pytest.raises(ConfigError, match="another process has it"):
        claim_folder(folder)
    os.close(descriptor)
    os.close(claim_folder(folder))

"""A folder that may be used by others to one that is private and this process's own."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import structlog

from otel_raglog.errors import ConfigError


def claim_folder(folder: Path) -> int:
    """Return a descriptor of ``folder``, made if need be, private, and locked while it is open.

    Raises:
        ConfigError: another process has it, or it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as refused:
        raise ConfigError(f"journal.path {folder}: {refused.strerror}") from refused
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as refused:
        os.close(descriptor)
        taken = isinstance(refused, BlockingIOError)
        problem = "another process has it" if taken else refused.strerror
        raise ConfigError(f"journal.path {folder}: {problem}") from refused
    if os.fstat(descriptor).st_mode & 0o077:
        try:
            os.fchmod(descriptor, 0o700)
        except OSError as refused:  # a mounted volume belongs to somebody else; files are 0600
            log = structlog.get_logger()
            log.warning("journal_folder_open_to_others", folder=str(folder), problem=str(refused))
    return descriptor

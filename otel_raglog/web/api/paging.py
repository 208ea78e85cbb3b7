"""Runs to pages, newest first: none is lost and none comes twice while others arrive."""

from __future__ import annotations

import re
from collections.abc import Sequence

from otel_raglog.web.api.parameters import BadParameter
from otel_raglog.web.recent.runs import KeptRun

_CURSOR = re.compile(r"([0-9a-f]{1,32})-([0-9]{1,18})", re.ASCII)


class Pages:
    """Cuts pages. ``epoch``, hex, tells cursors of this process from those of an earlier one."""

    def __init__(self, epoch: str) -> None:
        self._epoch = epoch

    def page(
        self, newest_first: Sequence[KeptRun], cursor: str | None, limit: int
    ) -> tuple[Sequence[KeptRun], str | None]:
        """Return at most ``limit`` runs after a cursor, and the cursor of the next page, if any.

        Raises:
            BadParameter: the cursor is none of ours.
        """
        before = None if cursor is None else self._read(cursor)
        left = [run for run in newest_first if before is None or run.sequence < before]
        shown = left[:limit]
        more = len(left) > limit
        return shown, f"{self._epoch}-{shown[-1].sequence}" if more else None

    def _read(self, cursor: str) -> int:
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise BadParameter("cursor", "must be a next_cursor of an earlier answer")
        if found[1] != self._epoch:
            raise BadParameter(
                "cursor", "is from before the service was started; begin again without it"
            )
        return int(found[2])

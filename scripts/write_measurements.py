"""Write docs/reference/measurements.md from the checks' declarations; ``--check`` compares."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from otel_raglog.checks.check import Declaration, Unit
from otel_raglog.checks.crossencoder.reader import Reading
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.similarity.encoder import TokenVectors, Vectors
from otel_raglog.model import Stage

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "measurements.md"


class _NoEncoder:
    """Stands in for the encoder: what is declared does not depend on it."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Never called."""
        raise NotImplementedError

    def encode_tokens(self, texts: Sequence[str]) -> tuple[TokenVectors, ...]:
        """Never called."""
        raise NotImplementedError


class _NoCrossEncoder:
    """Stands in for the cross-encoder likewise."""

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        """Never called."""
        raise NotImplementedError


def declared() -> list[tuple[str, Declaration]]:
    """Return every measurement with the kind of the check that makes it, an LLM's last."""
    local = build_checks(_NoEncoder(), _NoCrossEncoder())
    return [
        *((check.name.partition(".")[0], item) for check in local for item in check.declarations),
        *((check.name, item) for check in JUDGE_CHECKS for item in check.declarations),
    ]


def rows(items: Sequence[tuple[str, Declaration]], stage: Stage) -> Iterator[str]:
    """Yield a table row for each measurement of ``stage``."""
    for kind, item in items:
        if item.stage is stage:
            yield (
                f"| `{item.name}` | {kind} | {item.unit} | {_range(item.unit)} | "
                f"{_suspect(item)} | {item.meaning} |\n"
            )


def _range(unit: Unit) -> str:
    low, high = unit.bounds
    if not math.isfinite(low):
        return "any"
    return f"{low:g} to {high:g}" if math.isfinite(high) else f"from {low:g} on"


def _suspect(item: Declaration) -> str:
    return item.suspect.value if item.suspect.value != "neither" else ""


def page() -> str:
    """Return the page."""
    items = declared()
    parts = [
        "# Measurements\n\n",
        "Made from the checks by `python scripts/write_measurements.py`; `make lint` fails when it ",
        "is old.\n",
        f"{len(items)} measurements. How texts are compared stands in [checks.md](../checks.md). ",
        "A measurement that is not defined for a run has a reason instead of a number.\n",
        "The checks `judge.…` are made by an LLM ([judge](../judge.md)), a confidence of 0 to 100 as a share.\n",
        "*Suspect* is the end of the range that speaks for a fault, where one does.\n",
    ]
    for stage in Stage:
        parts += [
            f"\n## {stage.value.capitalize()}\n",
            "| measurement | checks | unit | range | suspect | meaning |\n",
            "|---|---|---|---|---|---|\n",
            *rows(items, stage),
        ]
    return "".join(parts)


def main() -> int:
    """Write the page, or compare."""
    text = page()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{TARGET.name} is old: run python scripts/write_measurements.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

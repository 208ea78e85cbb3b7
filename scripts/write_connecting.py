"""Write what turns content on into ``docs/connecting.md``, from the registry; ``--check`` compares."""

from __future__ import annotations

import sys
from pathlib import Path

from otel_raglog.conventions.registry import CONVENTIONS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "connecting.md"
BEGIN = "<!-- remedies: written by scripts/write_connecting.py -->\n"
END = "<!-- end of remedies -->\n"


def table() -> str:
    """Return the remedy of each convention, in order of precedence."""
    rows = [f"| {item.title} | {item.remedy or 'it always is'} |\n" for item in CONVENTIONS]
    return "".join(["| convention | content |\n", "|---|---|\n", *rows])


def with_table(page: str) -> str:
    """Return the page with the table as it should be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def main() -> int:
    """Write the page, or compare."""
    page = TARGET.read_text(encoding="utf-8")
    text = with_table(page)
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if page == text:
        return 0
    sys.stderr.write("docs/connecting.md is out of date: run make conventions\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

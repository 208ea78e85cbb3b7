"""Write docs/reference/calls.md from the bridge's registry and options; ``--check`` compares."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from otel_raglog_proxy_bridge.addon_options import OPTIONS
from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import CallStage

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "calls.md"


def page() -> str:
    """Return the page."""
    return "".join(
        [
            "# Calls that the proxy bridge knows\n\n",
            "Written by `python scripts/write_calls.py` from the registry; do not edit. ",
            "[The bridge](../bridge.md) says how it is used. The first rule that fits decides, in ",
            "this order; `irrelevant` operations are known to be of no stage. Calls that fit none ",
            "are told by their structure.\n\n",
            "| operation | stage | told by |\n|---|---|---|\n",
            *(f"| `{api.name}` | {_stage(api.stage)} | {_cell(api.rule)} |\n" for api in APIS),
            "\n## Options of the add-on\n",
            "`--set NAME=VALUE`, of `otel-raglog bridge run` as of `mitmdump -s …/addon.py`.\n\n",
            "| option | default | |\n|---|---|---|\n",
            *_options(),
        ]
    )


def _options() -> Iterator[str]:
    for option in OPTIONS:
        default = "" if option.default in ("", ()) else f"`{option.default}`"
        yield f"| `{option.name}` | {default} | {_cell(option.help)} |\n"


def _stage(stage: CallStage) -> str:
    return stage.value if stage is CallStage.IRRELEVANT else f"**{stage.value}**"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the page, or with ``--check`` exit with 1 when it is not up to date."""
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(page(), encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != page():
        sys.exit(f"{TARGET.name} is out of date: run python scripts/write_calls.py")


if __name__ == "__main__":
    main()

"""Pages as people see them, through headless Chromium: their text, and a picture."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

PAGE_SECONDS = 150.0
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1600,1000",
    # A page's own timers run until then, while nothing it asked for is under way.
    "--virtual-time-budget=20000",
)
_NOT_SHOWN = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def chromium() -> str | None:
    """Return the browser's path, where there is one."""
    return shutil.which("chromium")


def texts_of(url: str, folder: Path, picture: Path) -> list[str]:
    """Return the texts of a page in its order, and keep a picture of it."""
    browser = chromium()
    assert browser is not None
    command = [browser, *_OPTIONS, f"--user-data-dir={folder / 'browser'}"]
    picture.parent.mkdir(parents=True, exist_ok=True)
    _run([*command, f"--screenshot={picture}", url])
    page = _NOT_SHOWN.sub("", _run([*command, "--dump-dom", url]))
    texts = (html.unescape(text).strip() for text in _TAG.split(page))
    return [text for text in texts if text]


def _run(command: list[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PAGE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout

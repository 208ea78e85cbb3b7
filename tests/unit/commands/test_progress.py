"""How far long work has come, where nobody sees a bar."""

import io

from rich.console import Console

from otel_raglog.commands import progress
from otel_raglog.commands.progress import showing_progress


def test_a_line_for_each_tenth(capsys):
    """On stderr, ten at most for each kind of work."""
    with showing_progress() as tell:
        for done in range(1, 41):
            tell("Measuring", done, 40)
        tell("Training", 1, 3)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert lines[0] == "Measuring: 4 of 40"
    assert lines[9] == "Measuring: 40 of 40"
    assert lines[10:] == ["Training: 1 of 3"]


def test_names_on_a_bar_stay_as_they_are(monkeypatch):
    """Such as that of a corpus: no emoji, no markup."""
    stream = io.StringIO()
    options = {"file": stream, "force_terminal": True, "width": 120}
    monkeypatch.setattr(progress, "plain_console", lambda **_: Console(**options))
    with showing_progress() as tell:
        tell("Encoding :a: [bold]x", 1, 2)
    assert "Encoding :a: [bold]x" in stream.getvalue()

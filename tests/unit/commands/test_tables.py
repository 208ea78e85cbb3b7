"""What `analyze` prints for people."""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.table import Table
from samples import make_report, make_run

from otel_raglog import commands
from otel_raglog.commands.tables import plain_console, print_reports, shorten
from otel_raglog.model import FaultType, Stage, present


def printed(*reports):
    """Return what is printed for ``reports``."""
    stream = io.StringIO()
    print_reports(reports, Console(file=stream, width=120))
    return stream.getvalue()


def test_each_run_is_a_row_and_each_fault_a_line():
    """The verdict per stage with its probability, then the reasons."""
    text = printed(make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}), make_report())
    assert "faulty 0.90" in text
    assert "retriever: no_relevant_chunk: retriever is wrong" in text
    assert "2 runs: 1 faulty, 1 ok, 0 unknown" in text


def test_a_run_that_was_not_judged_says_why():
    """The reason and the notes stand below the table."""
    run = make_run(notes=("No span speaks a known vocabulary.",))
    text = printed(make_report(run=run, skip_reason="unread_convention"))
    assert "not judged (unread_convention). No span speaks a known vocabulary." in text


def test_no_run_at_all_is_said():
    """An empty table would look like a bug."""
    assert "No trace" in printed()


def test_markup_in_texts_is_not_interpreted():
    """A question with brackets is printed as it is."""
    text = printed(make_report(run=make_run(question=present("[bold]what?[/bold]"))))
    assert "[bold]what?[/bold]" in text


def test_a_plain_console_prints_texts_as_they_are():
    """Also in the cells and titles of tables: no emoji of the name of a judge, no markup."""
    stream = io.StringIO()
    console = plain_console(file=stream, width=80)
    table = Table("anthropic:a: [bold]x", title="[red]:b:")
    table.add_row("openai:x: [/dim]")
    console.print(table)
    console.print("run :a: [bold]1[/bold]")
    printed = stream.getvalue()
    for text in ("anthropic:a: [bold]x", "[red]:b:", "openai:x: [/dim]", "run :a: [bold]1[/bold]"):
        assert text in printed


def test_every_command_prints_on_a_plain_console():
    """A console of rich's own would interpret what comes from outside."""
    folder = Path(commands.__file__).parent
    made = {
        path.name
        for path in folder.glob("*.py")
        if re.search(r"(?<!\w)Console\(", path.read_text(encoding="utf-8"))
    }
    assert made == {"tables.py"}


def test_shorten_makes_one_line():
    """Line breaks and length are tamed."""
    assert shorten("a\n b", 10) == "a b"
    assert shorten("x" * 20, 10) == "x" * 9 + "…"
    assert shorten(None) == ""


def test_control_characters_do_not_reach_the_terminal():
    """A question with escape sequences is shown, not obeyed."""
    text = printed(make_report(run=make_run(question=present("\x1b[31mred\x1b[0m"))))
    assert "\x1b[31m" not in text
    assert "[31mred" in text

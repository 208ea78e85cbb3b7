"""``otel-raglog bridge mappings``: list, show, edit and roll back."""

import json
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner
from unknown_calls import SEARCH_EXPRESSIONS, search_call

from otel_raglog.commands import app as commands
from otel_raglog.commands.bridge_mappings import mappings_app
from otel_raglog.errors import BadInput
from otel_raglog_proxy_bridge.mapping_store import MappingStore
from otel_raglog_proxy_bridge.mappings import CallMapping, Match, Origin
from otel_raglog_proxy_bridge.model import CallStage

NAME = "POST search.acme.test/tenants/{id}/lookup"
THEN = "2026-01-02T03:04:05+00:00"
BY_HAND = {
    "stage": "retriever",
    "match": {"method": "POST", "host": "*.acme.test", "path": "/tenants/{id}/lookup"},
    "expressions": {"query": "request.question", "documents": "response.found[].body.passage"},
}


@pytest.fixture
def store(tmp_path):
    """A pipeline with one mapping of two versions."""
    made = MappingStore(tmp_path / "mappings", "hr-bot")
    match = Match.of(search_call())
    for origin, more in ((Origin.STRUCTURE, {}), (Origin.LLM, {"collection": "path[1]"})):
        expressions = {**SEARCH_EXPRESSIONS, **more}
        made.add(CallMapping(CallStage.RETRIEVER, match, expressions, origin, THEN, "why"))
    return made


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command as it is mounted, with the folder given by its variable."""
    monkeypatch.setenv("OTEL_RAGLOG_BRIDGE__MAPPINGS", str(tmp_path / "mappings"))
    app = typer.Typer()
    app.add_typer(mappings_app, name="mappings")

    @app.command()
    def other():
        """Keep the sub-command's name."""

    def invoke(*arguments, fails=None):
        done = CliRunner().invoke(app, ["mappings", *map(str, arguments)])
        if fails is not None:
            assert isinstance(done.exception, BadInput) or done.exit_code == 2, done.output
            assert fails in f"{done.exception} {done.stderr}"
        elif done.exception is not None:
            raise done.exception
        return done.stdout if fails is None else f"{done.exception} {done.stderr}"

    return invoke


def test_mappings_are_listed_with_their_source(store, run):
    """For people and for scripts."""
    table = run("list")
    for word in ("hr-bot", "POST search.acme.test/tenants/{id}/lookup", "retriever", "llm", THEN):
        assert word in table
    (line,) = json.loads(run("list", "--format", "json"))
    assert (line["pipeline"], line["number"], line["name"]) == ("hr-bot", 1, NAME)
    assert [each["source"] for each in line["versions"]] == ["structure", "llm"]


def test_an_empty_folder_says_so(run):
    """No error: nothing was stored yet."""
    assert "no mappings in" in run("list")
    assert json.loads(run("list", "--format", "json")) == []


def test_one_mapping_is_shown_with_its_expressions_and_versions(store, run):
    """By number, name, or a part of the name that no other has."""
    for which in ("1", NAME, "tenants"):
        text = run("show", which)
        assert "response.found[].{id: ref, text: body.passage, score: score}" in text
        assert f"version 1: structure {THEN}" in text
        assert f"* version 2: llm {THEN}" in text
    assert (
        json.loads(run("show", "1", "--format", "json"))["expressions"]["collection"] == "path[1]"
    )
    assert "collection" not in run("show", "1", "--version", "1", "--format", "json")
    run("show", "9", fails="no mapping is '9'; there are: 1 POST search")
    run("show", "1", "--version", "7", fails="no version 7")


@pytest.mark.parametrize("which", ["0", "7", "8000", "99"])
def test_a_number_that_is_not_in_the_list_is_no_part_of_a_name(store, run, which):
    """It would choose a mapping by its port, and an edit would replace that."""
    match = replace(Match.of(search_call()), host="10.0.0.7:8000")
    store.add(
        CallMapping(CallStage.RETRIEVER, match, SEARCH_EXPRESSIONS, Origin.STRUCTURE, THEN, "why")
    )
    run("show", which, fails=f"no mapping is '{which}'")


def test_a_shown_mapping_can_be_edited_and_given_back(store, run, tmp_path):
    """The JSON of show is what edit takes; the new one is the user's."""
    data = json.loads(run("show", "1", "--format", "json"))
    data["expressions"]["query"] = "request.question || request.q"
    (tmp_path / "new.json").write_text(json.dumps(data))
    assert "version 3 is used now" in run("edit", "1", "--file", tmp_path / "new.json")
    current = store.current(NAME)
    assert current.origin is Origin.USER
    assert current.expressions["query"] == "request.question || request.q"
    assert current.created > THEN


def test_a_mapping_of_one_s_own_is_added(run, tmp_path):
    """To a pipeline that has none, too."""
    (tmp_path / "mine.json").write_text(json.dumps(BY_HAND))
    run("edit", "--pipeline", "new/bot", "--file", tmp_path / "mine.json")
    store = MappingStore(tmp_path / "mappings", "new/bot")
    assert store.find(search_call()).read(search_call()).searches[0].documents[0].text


def test_an_edit_may_widen_what_is_matched(store, run, tmp_path):
    """It is the same mapping still, with its versions."""
    (tmp_path / "mine.json").write_text(json.dumps(BY_HAND))
    run("edit", NAME, "--file", tmp_path / "mine.json")
    (entry,) = store.load()
    assert entry.name == "POST *.acme.test/tenants/{id}/lookup"
    assert len(entry.versions) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (json.dumps({**BY_HAND, "stge": "x"}), "unknown key 'stge': did you mean stage"),
        (json.dumps({**BY_HAND, "expressions": {"query": "request.["}}), "is no JMESPath"),
        ("{", "it is no JSON"),
        ("[]", "is list, not an object"),
        (b"\xff\xfe", "is no UTF-8 text"),
    ],
)
def test_a_wrong_edit_keeps_the_old_one_and_says_why(store, run, tmp_path, text, problem):
    """Nothing is stored that could not be read."""
    before = store.path.read_bytes()
    path = tmp_path / "bad.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    run("edit", "1", "--file", path, fails=problem)
    run("edit", "1", "--file", path, fails="nothing was changed")
    assert store.path.read_bytes() == before


def editor(tmp_path, monkeypatch, old, new):
    """Let $EDITOR replace a text in what it is given."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys, os\n"
        "path = pathlib.Path(sys.argv[1])\n"
        f"path.write_text(path.read_text().replace({old!r}, {new!r}))\n"
        "os.utime(path, (1, 1))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)


def test_an_editor_is_given_the_mapping(store, run, tmp_path, monkeypatch):
    """Without the keys that are set by us."""
    editor(tmp_path, monkeypatch, "request.limit", "request.n")
    assert "version 3 is used now" in run("edit", "1")
    assert store.current(NAME).expressions["top_k"] == "request.n"


def test_a_wrong_edit_in_an_editor_changes_nothing(store, run, tmp_path, monkeypatch):
    """The old mapping is used on."""
    editor(tmp_path, monkeypatch, "request.limit", "reqest.limit")
    run("edit", "1", fails="expressions.top_k: begins with 'reqest'")
    assert len(store.entry(NAME).versions) == 2


def scripted(tmp_path, monkeypatch, *lines):
    """Let $EDITOR do this to ``path``."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    script = tmp_path / "editor.py"
    script.write_text(
        "\n".join(["import pathlib, sys", "path = pathlib.Path(sys.argv[1])", *lines])
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("path.write_text('{\"stage\": ')", "it is no JSON"),
        ("path.write_bytes(b'\\xff')", "is no UTF-8 text"),
        ('path.write_text(\'{"stage": "llm"}\')', "match is missing"),
        ("path.write_text('mine'); sys.exit(3)", "Editing failed"),
    ],
)
def test_what_was_written_and_cannot_be_stored_is_kept(
    store, run, tmp_path, monkeypatch, written, told
):
    """The error says where, and --file takes it from there."""
    scripted(tmp_path, monkeypatch, written)
    text = run("edit", "1", fails=told)
    assert "nothing was changed" in text
    kept = Path(re.search(r"What you wrote is kept in (\S+):", text)[1])
    assert list((tmp_path / "kept").iterdir()) == [kept]
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_bytes()
    assert len(store.entry(NAME).versions) == 2


def test_a_store_that_fails_keeps_what_was_written(store, run, tmp_path, monkeypatch):
    """Nobody writes it twice."""
    scripted(
        tmp_path,
        monkeypatch,
        "path.write_text(path.read_text().replace('request.limit', 'request.n'))",
    )
    store.path.with_name(f"{store.path.name}.new").mkdir()
    assert "is kept in" in run("edit", "1", fails="cannot be written")
    (kept,) = (tmp_path / "kept").iterdir()
    store.path.with_name(f"{store.path.name}.new").rmdir()
    assert "version 3 is used now" in run("edit", "1", "--file", kept)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["pass"], None),
        (["path.write_text('')"], "is empty"),
        (["path.unlink()"], "left no file"),
        (["sys.exit(1)"], "Editing failed"),
    ],
)
def test_where_nothing_was_written_nothing_is_kept(store, run, tmp_path, monkeypatch, lines, told):
    """Nor changed."""
    scripted(tmp_path, monkeypatch, *lines)
    if told is None:
        assert run("edit", "1") == "nothing was changed\n"
    else:
        assert "is kept" not in run("edit", "1", fails=told)
    assert list((tmp_path / "kept").iterdir()) == []
    assert len(store.entry(NAME).versions) == 2


@pytest.mark.parametrize("editor", ["/nonexistent", "false", "'vi", None])
def test_an_editor_that_cannot_be_started_is_said(store, run, tmp_path, monkeypatch, editor):
    """And what to do instead."""
    monkeypatch.delenv("VISUAL", raising=False)
    if editor is None:
        monkeypatch.delenv("EDITOR", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setenv("EDITOR", editor)
    text = run("edit", "1", fails="$VISUAL or $EDITOR names the editor, and --file takes a file")
    assert "nothing was changed" in text
    assert len(store.entry(NAME).versions) == 2


def test_a_new_mapping_in_an_editor_begins_with_an_example(run, tmp_path, monkeypatch):
    """Its example must be filled in before it is right."""
    editor(tmp_path, monkeypatch, '"query": ""', '"query": "request.q"')
    run("edit", "--pipeline", "hr-bot", fails="needs documents")
    assert not (tmp_path / "mappings").exists()


def test_a_rollback_uses_the_version_before_again(store, run):
    """As a new one; a given one by its number."""
    assert "version 3, a copy of version 1, is used now" in run("rollback", "1")
    assert "collection" not in store.current(NAME).expressions
    assert "version 4, a copy of version 2" in run("rollback", "1", "--to", "2")
    run("rollback", "1", "--to", "9", fails="no version 9")


def test_of_several_pipelines_one_must_be_named(store, run, tmp_path):
    """Listing shows them all."""
    MappingStore(tmp_path / "mappings", "sales").add(store.current(NAME))
    run("show", "1", fails="--pipeline: say whose mappings are meant; there are hr-bot, sales")
    assert NAME in run("show", "1", "--pipeline", "sales")
    run("show", "1", "--pipeline", "other", fails="'other' has no mappings")
    assert {line["pipeline"] for line in json.loads(run("list", "--format", "json"))} == {
        "hr-bot",
        "sales",
    }


def test_a_damaged_file_is_said_and_left_as_it_is(store, run, tmp_path):
    """By every command."""
    store.path.write_text('{"format": 1, "pipeline": "hr-bot"')
    before = store.path.read_bytes()
    (tmp_path / "mine.json").write_text(json.dumps(BY_HAND))
    told = f"--mappings: {store.path} is damaged"
    for arguments in (["list"], ["show", "1"], ["rollback", "1"], ["edit", "1"]):
        run(*arguments, fails=told)
        run(*arguments, "--pipeline", "hr-bot", fails=told)
    run("edit", "--pipeline", "hr-bot", "--file", tmp_path / "mine.json", fails=told)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_text("{"), "is damaged"),
        (lambda path: path.write_text(""), "it is empty"),
        (lambda path: path.write_text('{"format": 1}'), "names no pipeline"),
        (lambda path: path.write_text('{"format": 9, "pipeline": "sales"}'), "a later version"),
        (lambda path: path.mkdir(), "cannot be read: it is no file"),
        (lambda path: path.symlink_to(path), "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_costs_no_other(store, run, damage, told):
    """The other pipelines are listed, and used where they are named; the exit code is 2."""
    path = store.path.with_name("sales.json")
    damage(path)
    assert f"--mappings: {path}" in run("list", fails=told)
    for form in ("table", "json"):
        done = CliRunner().invoke(commands, ["bridge", "mappings", "list", "--format", form])
        assert done.exit_code == 2
        assert NAME in done.stdout
    run("show", "1", fails="there are hr-bot, sales")
    run("show", "1", "--pipeline", "sales", fails=told)
    assert NAME in run("show", "1", "--pipeline", "hr-bot")


def test_a_pipeline_without_mappings_is_told_from_a_folder_without_any(store, run, tmp_path):
    """With the nearest that has some: a look is no error, a change is."""
    told = f"'hr-bt' has no mappings in {tmp_path / 'mappings'}: did you mean 'hr-bot'? there are 'hr-bot'"
    assert told in run("list", "--pipeline", "hr-bt")
    assert json.loads(run("list", "--pipeline", "hr-bt", "--format", "json")) == []
    for arguments in (["show", "1"], ["rollback", "1"], ["edit", "1"]):
        run(*arguments, "--pipeline", "hr-bt", fails=told)
    assert "which is not there" in run("list", "--mappings", tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("command", [["list"], ["show", "1"], ["rollback", "1"], ["edit"]])
def test_a_name_that_no_pipeline_has_is_refused(store, run, command):
    """Empty, or no text."""
    for name in ("", " ", "\udcff"):
        run(*command, "--pipeline", name, fails="--pipeline")


def test_a_folder_that_is_none_is_refused(store, run, tmp_path):
    """The option is named."""
    (tmp_path / "file").write_text("x")
    run("list", "--mappings", tmp_path / "file", fails="--mappings")
    run("list", "--mappings", "~nobody-of-this-name/x", fails="--mappings")


def test_which_mapping_is_meant_may_be_anything(store, run):
    """No number is too long, and nothing names no mapping."""
    for which in ("", "9" * 5_000, "0"):
        run("show", which, fails="no mapping is")


def test_a_mapping_for_a_new_pipeline_says_so(run, tmp_path):
    """A name that was mistyped is seen."""
    (tmp_path / "mine.json").write_text(json.dumps(BY_HAND))
    told = run("edit", "--pipeline", "hr-bt", "--file", tmp_path / "mine.json")
    assert f"the first of 'hr-bt', in {tmp_path / 'mappings' / 'hr-bt.json'}" in told


def test_the_same_again_changes_nothing_but_makes_it_one_s_own(store, run, tmp_path):
    """What was looked at and saved is settled; once more is no version."""
    (tmp_path / "same.json").write_text(run("show", "1", "--format", "json"))
    assert "version 3 is used now" in run("edit", "1", "--file", tmp_path / "same.json")
    assert "nothing was changed" in run("edit", "1", "--file", tmp_path / "same.json")
    assert len(store.entry(NAME).versions) == 3


def test_there_is_nothing_before_the_first_version(store, run):
    """However often it is asked for."""
    run("rollback", "1")
    for _ in range(2):
        run("rollback", "1", fails="has no earlier version")


def test_a_store_that_cannot_be_written_is_said(store, run, tmp_path):
    """With the file and the option."""
    store.path.with_name(f"{store.path.name}.new").mkdir()
    (tmp_path / "mine.json").write_text(json.dumps(BY_HAND))
    run("edit", "1", "--file", tmp_path / "mine.json", fails=f"{store.path} cannot be written")
    run("rollback", "1", fails=f"{store.path} cannot be written")


def test_a_name_from_outside_does_not_steer_the_terminal(store, run):
    """Control characters are replaced."""
    match = Match("POST", "a.test", "/x\x1b[31m")
    store.add(CallMapping(CallStage.IRRELEVANT, match, {}, Origin.USER, THEN))
    assert "\x1b" not in run("list") + run("show", "2")

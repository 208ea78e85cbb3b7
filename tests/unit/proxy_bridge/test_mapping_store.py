"""The store of mappings: versions, rollback, finding, and a file that survives anything."""

import json
import multiprocessing
import os
import threading
from pathlib import Path

import pytest
from unknown_calls import QUESTION, SEARCH_EXPRESSIONS, VACATION, exchange_of, search_call

from otel_raglog_proxy_bridge.mapping_store import MappingStore, file_name, files_in
from otel_raglog_proxy_bridge.mappings import CallMapping, MappingError, Match, Origin
from otel_raglog_proxy_bridge.model import CallStage

NAME = "POST search.acme.test/tenants/{id}/lookup"
THEN, LATER = "2026-01-02T03:04:05+00:00", "2026-02-02T03:04:05+00:00"


def mapping(origin=Origin.STRUCTURE, *, stage=CallStage.RETRIEVER, path=None, created=THEN, **more):
    match = Match.of(search_call())
    if path is not None:
        match = Match("POST", "search.acme.test", path)
    expressions = {} if stage is CallStage.IRRELEVANT else {**SEARCH_EXPRESSIONS, **more}
    return CallMapping(stage, match, expressions, origin, created)


@pytest.fixture
def store(tmp_path):
    return MappingStore(tmp_path / "mappings", "hr-bot")


def test_a_store_without_a_file_is_empty(store):
    """Looking makes no file either."""
    assert store.load() == ()
    assert store.find(search_call()) is None
    assert not store.path.parent.exists()


def test_a_mapping_is_found_by_its_call(store):
    """Also by another store of the same file."""
    store.add(mapping())
    assert store.find(search_call()) == mapping()
    other = MappingStore(store.path.parent, "hr-bot")
    assert other.find(search_call()) == mapping()
    assert other.find(exchange_of({}, {})) is None


def test_a_newer_mapping_keeps_its_predecessors(store):
    """Each with its number, origin and time."""
    store.add(mapping())
    store.add(mapping(Origin.LLM, created=LATER, collection="path[1]"))
    versions = store.entry(NAME).versions
    assert [(v.number, v.mapping.origin, v.mapping.created) for v in versions] == [
        (1, Origin.STRUCTURE, THEN),
        (2, Origin.LLM, LATER),
    ]
    assert store.current(NAME).origin is Origin.LLM


def test_the_same_again_is_no_new_version(store):
    """A busy pipeline adds it with every call."""
    store.add(mapping())
    assert store.add(mapping(created=LATER)).number == 1
    assert len(store.entry(NAME).versions) == 1


def test_rules_and_llms_do_not_replace_what_a_person_chose(store):
    """Written or rolled back to."""
    store.add(mapping())
    store.add(mapping(Origin.LLM, collection="path[1]"))
    store.rollback(NAME, created=LATER)
    assert store.add(mapping(Origin.LLM, collection="path[1]")).number == 3
    store.add(mapping(Origin.USER, collection="path[0]"))
    assert store.add(mapping(Origin.LLM)).mapping.origin is Origin.USER


def test_rules_and_llms_replace_each_other_a_few_times_only(store):
    """Two that disagree about one address would fill the disk."""
    for number in range(60):
        origin = Origin.LLM if number % 2 else Origin.STRUCTURE
        store.add(mapping(origin, created=THEN))
    assert len(store.entry(NAME).versions) == 20
    assert store.add(mapping(Origin.USER)).number == 21


def test_rollback_says_what_it_restored(store):
    """As a new version; again goes one further back."""
    store.add(mapping())
    store.add(mapping(Origin.LLM, collection="path[1]"))
    store.add(mapping(Origin.USER, collection="path[0]"))
    first = store.rollback(NAME, created=LATER)
    assert (first.number, first.restores, first.mapping.created) == (4, 2, LATER)
    assert first.mapping.expressions["collection"] == "path[1]"
    assert first.source == "llm, rollback to 2"
    second = store.rollback(NAME, created=LATER)
    assert (second.number, second.restores) == (5, 1)
    assert store.current(NAME) == mapping(created=LATER)
    with pytest.raises(MappingError, match="no earlier version"):
        store.rollback(NAME, created=LATER)


def test_rollback_to_a_version_by_number(store):
    """One that is not there, or current, is refused."""
    for path in ("path[1]", "path[0]"):
        store.add(mapping(Origin.USER, collection=path))
    assert store.rollback(NAME, created=LATER, number=1).restores == 1
    with pytest.raises(MappingError, match="no version 9; there are 1, 2, 3"):
        store.rollback(NAME, created=LATER, number=9)
    with pytest.raises(MappingError, match="version 3 is current"):
        store.rollback(NAME, created=LATER, number=3)
    with pytest.raises(MappingError, match="no mapping 'x'"):
        store.rollback("x", created=LATER)


def test_an_edit_may_change_what_is_matched(store):
    """It stays the same mapping, with its versions, unless that name is taken."""
    store.add(mapping())
    store.add(mapping(path="/other"))
    wider = mapping(Origin.USER, path="/tenants/{t}/{action}")
    assert store.add(wider, replaces=NAME).number == 2
    with pytest.raises(MappingError, match=r"there is another mapping of POST .*/other"):
        store.add(mapping(Origin.USER, path="/other"), replaces=wider.name)
    with pytest.raises(MappingError, match="no mapping"):
        store.add(wider, replaces=NAME)
    store.add(mapping())
    with pytest.raises(MappingError, match="another mapping"):
        store.rollback(wider.name, created=LATER)


def test_of_several_that_fit_the_person_s_and_the_narrowest_is_meant(store):
    """Between those of rules the one that leaves less open."""
    store.add(mapping(path="/tenants/{a}/{b}", collection="path[0]"))
    store.add(mapping())
    assert store.find(search_call()).match.path == "/tenants/{id}/lookup"
    store.add(mapping(Origin.USER, path="/{a}/{b}/{c}", stage=CallStage.IRRELEVANT))
    assert store.find(search_call()).stage is CallStage.IRRELEVANT


def test_a_change_of_the_file_is_seen_at_once(store):
    """People edit it while the bridge runs."""
    store.add(mapping())
    assert store.find(search_call()).stage is CallStage.RETRIEVER
    other = MappingStore(store.path.parent, "hr-bot")
    other.add(mapping(Origin.USER, stage=CallStage.IRRELEVANT), replaces=NAME)
    assert store.find(search_call()).stage is CallStage.IRRELEVANT


DAMAGES = {
    "half of it": lambda text: text[: len(text) // 2],
    "no object": lambda _: "[]",
    "no format": lambda text: text.replace('"format": 1', '"format": null'),
    "empty": lambda _: "",
    "another pipeline": lambda text: text.replace("hr-bot", "sales"),
    "a wrong expression": lambda text: text.replace("request.question", "request.[question"),
    "an unknown key": lambda text: text.replace('"stage"', '"stages"'),
    "a wrong number": lambda text: text.replace('"number": 1', '"number": 4'),
    "a wrong rollback": lambda text: text.replace('"number": 1,', '"number": 1, "restores": 1,'),
    "no versions": lambda text: text.replace('"versions"', '"version"'),
    "not UTF-8": lambda text: text.encode() + b"\xff",
    "too deep": lambda _: "[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_an_error_and_stays_as_it_is(store, damage):
    """Somebody's edits may still be saved from it."""
    store.add(mapping())
    broken = damage(store.path.read_text())
    broken = broken if isinstance(broken, bytes) else broken.encode()
    store.path.write_bytes(broken)
    fresh = MappingStore(store.path.parent, "hr-bot")
    for change in (
        fresh.load,
        lambda: fresh.add(mapping()),
        lambda: fresh.rollback(NAME, created=LATER),
    ):
        with pytest.raises(MappingError, match="is damaged and is left as it is"):
            change()
    assert store.path.read_bytes() == broken


def test_a_file_that_is_damaged_meanwhile_leaves_the_mappings_as_they_were(store):
    """And the store says so until it is whole again."""
    store.add(mapping())
    whole = store.path.read_text()
    store.path.write_text(whole[:100])
    assert store.find(search_call()) == mapping()
    assert "is damaged" in store.problem
    store.path.write_text(whole)
    assert store.find(search_call()) == mapping()
    assert store.problem is None


def test_the_file_is_private_and_holds_nothing_of_calls(store):
    """Names, templates and expressions alone."""
    store.add(mapping(Origin.LLM))
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    text = store.path.read_text()
    assert not any(each in text for each in (QUESTION, VACATION, "4711", "0.91"))


def test_a_change_that_fails_leaves_the_old_file(store):
    """The new one is complete before it takes the name."""
    store.add(mapping())
    before = store.path.read_text()
    store.path.with_name(f"{store.path.name}.new").mkdir()
    with pytest.raises(MappingError, match="cannot be written: Is a directory"):
        store.add(mapping(Origin.USER))
    assert store.path.read_text() == before


def _add_some(folder: str, first: int) -> None:
    store = MappingStore(Path(folder), "hr-bot")
    for number in range(first, first + 10):
        store.add(mapping(path=f"/path{'abcdefghijklmnopqrst'[number]}"))


def test_two_processes_and_many_threads_lose_nothing(store):
    """Each change is made on what the file holds then."""
    folder = str(store.path.parent)
    context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    processes = [context.Process(target=_add_some, args=(folder, first)) for first in (0, 10)]
    threads = [
        threading.Thread(target=lambda n=n: store.add(mapping(path=f"/thread/{'abcde'[n]}")))
        for n in range(5)
    ]
    for each in (*processes, *threads):
        each.start()
    for each in (*processes, *threads):
        each.join()
    assert len(store.load()) == 25


@pytest.mark.parametrize(
    "name", ["a/b", "../../etc/passwd", "", "_", ".hidden", "ü b", "x" * 300, "%2E", "\udcff"]
)
def test_any_name_of_a_pipeline_makes_a_file_in_the_folder(tmp_path, name):
    """And no two share one."""
    store = MappingStore(tmp_path, name)
    store.add(mapping())
    assert store.path.parent == tmp_path
    assert store.path.is_file()
    assert [(each.pipeline, each.problem) for each in files_in(tmp_path)] == [(name, None)]
    assert len(MappingStore(tmp_path, name).load()) == 1


def test_no_two_pipelines_share_a_file():
    """Names that look alike when made safe, and long ones with one beginning."""
    names = ["a/b", "a%2Fb", "a_b", "", "_", ".a", "%2Ea", "x" * 300, "x" * 301]
    assert len({file_name(name) for name in names}) == len(names)


def test_files_of_a_folder_are_named_by_their_pipelines(tmp_path):
    """A file that is damaged, or none of ours, costs no other; its own name tells whose it is."""
    assert files_in(tmp_path / "none") == ()
    for name in ("b", "a/c"):
        MappingStore(tmp_path, name).add(mapping())
    assert [each.pipeline for each in files_in(tmp_path)] == ["a/c", "b"]
    odd = tmp_path / "odd%2Fone.json"
    for text, problem in (
        (json.dumps({"x": 1}), "names no pipeline"),
        ("{", "is damaged"),
        ("", "it is empty"),
        ((tmp_path / "b.json").read_text(), "is not read: the mappings of 'b' are in b.json"),
    ):
        odd.write_text(text)
        *_, found = files_in(tmp_path)
        assert (found.pipeline, found.path) == ("odd/one", odd)
        assert problem in found.problem
        assert [each.pipeline for each in files_in(tmp_path) if not each.problem] == ["a/c", "b"]
    with pytest.raises(MappingError, match="cannot be read: Not a directory"):
        files_in(odd)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_neither_read_nor_waited_for(store, kind):
    """Its name is in the error."""
    store.path.parent.mkdir()
    if kind == "folder":
        store.path.mkdir()
    else:
        os.mkfifo(store.path)
    for change in (store.load, lambda: store.add(mapping())):
        with pytest.raises(MappingError, match=r"hr-bot\.json cannot be read: it is no file"):
            change()
    assert store.find(search_call()) is None
    assert "cannot be read" in store.problem


def test_a_file_that_may_not_be_read_is_an_error(store, monkeypatch):
    """As one that is damaged; the mappings read before hold."""
    store.add(mapping())
    opened = Path.open

    def refuse(path, *arguments, **options):
        if path == store.path:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(MappingError, match=r"hr-bot\.json cannot be read: Permission denied"):
        store.load()
    assert store.find(search_call()) == mapping()


def test_a_file_of_a_later_version_is_left_as_it_is(store):
    """It is not damaged: this version does not know it."""
    store.add(mapping())
    later = store.path.read_text().replace('"format": 1', '"format": 2')
    store.path.write_text(later)
    for change in (store.load, lambda: store.add(mapping(Origin.USER))):
        with pytest.raises(MappingError, match=r"left as it is: a later version .*format 2"):
            change()
    assert store.path.read_text() == later

"""Of a damaged list the items that are whole are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files.damaged_lists import Broken, json_items, yaml_items

ITEMS = [{"a": 'quoted " [ {'}, {"b": ["ü", {"entries": [1]}]}, {"c": None}]
CUT = Broken("no JSON, or cut short", ends=True)


@given(st.integers(0, 200), st.sampled_from([None, 1]))
def test_a_list_that_is_cut_anywhere_gives_what_is_whole_before_the_cut(length, indent):
    """In the order of the items, and what is broken last."""
    whole = json.dumps({"log": {"entries": ITEMS}}, indent=indent, ensure_ascii=False).encode()
    found = json_items(whole[:length], "entries")
    items = [each for each in found if not isinstance(each, Broken)]
    assert items == ITEMS[: len(items)]
    assert not found or isinstance(found[-1], Broken)
    assert len(found) - len(items) <= 1


def test_an_item_that_is_broken_ends_the_list():
    """Where the next one begins cannot be told."""
    assert json_items(b'[{"a": 1}, {"b": x}, {"c": 2}]') == [{"a": 1}, CUT]
    assert json_items(b'[{"a": 1} {"b": 2}]')[0] == {"a": 1}
    assert json_items(b"[1, " + b"[" * 100_000) == [1, Broken("nested too deep", ends=True)]


def test_what_is_broken_after_the_list_costs_no_item():
    """The file's own end, or what somebody appended."""
    after = Broken("no JSON, or cut short", is_after=True)
    assert json_items(b'{"log": {"entries": [1, 2]', "entries") == [1, 2, after]
    assert json_items(b"[1, 2] tail") == [1, 2, after]


@pytest.mark.parametrize("content", [b"", b"{", b"[", b"[{", b'{"entries": 5}', b"\xff"])
def test_without_a_whole_item_there_is_nothing(content):
    """The file is refused then."""
    assert json_items(content, "entries") == []


@pytest.mark.parametrize("indent", ["", "    "])
def test_items_of_a_block_list_become_documents_of_their_own(indent):
    """Dashes further in are of an item itself."""
    lines = ["- a:", "  - x", "- b: |", "    - y"]
    text = "---\nversion: 2\ninteractions:\n" + "".join(f"{indent}{line}\n" for line in lines)
    assert [each.decode() for each in yaml_items(text.encode(), b"interactions")] == [
        f"interactions:\n{indent}- a:\n{indent}  - x\n",
        f"interactions:\n{indent}- b: |\n{indent}    - y\n",
    ]
    assert list(yaml_items(b"interactions: []", b"interactions")) == []


def test_what_is_broken_is_told_by_its_place():
    """And whether the rest is lost."""
    assert CUT.told("entry", 3) == (
        "entry 3 is damaged: no JSON, or cut short; nothing after it can be read"
    )
    assert Broken("no YAML").told("entry", 3) == "entry 3 is damaged: no YAML"
    assert Broken("no JSON", is_after=True).told("entry", 3) == "after entry 2: no JSON"

"""How lists come back from flattened keys."""

from otel_raglog.conventions.flattened import ListAttributes, flatten, sub_items


def test_indexed_lists():
    """Items come in order of index, with whatever follows the index as keys."""
    lists = ListAttributes({"d.10.x.id": "b", "d.2.x.id": "a", "d.2.x.n": 1})
    read = lists.read("d")
    assert read.items == ({"x.id": "a", "x.n": 1}, {"x.id": "b"})
    assert read.gaps
    assert lists.gaps() == ("d",)


def test_whole_lists():
    """A list may come as JSON, as a Python repr, as a structure, or as JSON strings in a list."""
    expected = ({"m.role": "user"},)
    for value in (
        '[{"m": {"role": "user"}}]',
        "[{'m.role': 'user'}]",
        ({"m": {"role": "user"}},),
        ('{"m": {"role": "user"}}',),
    ):
        items = ListAttributes({"l": value}).read("l").items
        assert [{k: v for k, v in item.items() if k == "m.role"} for item in items] == list(
            expected
        )


def test_what_is_no_list():
    """A missing key, a number and cut JSON are told apart."""
    assert ListAttributes({}).read("l") is None
    assert ListAttributes({"l": 3}).read("l") is None
    assert ListAttributes({"l": '[{"a'}).read("l").cut
    assert ListAttributes({"l": ("x",)}).read("l").items == ({"": "x"},)


def test_nested_items():
    """Parts inside an item are a list of their own."""
    item = {"contents.1.text": "b", "contents.0.text": "a", "role": "user"}
    assert sub_items(item, "contents") == ({"text": "a"}, {"text": "b"})


def test_lists_in_one_value_inside_items():
    """Parts inside an item may be JSON or a structure, and an item may be one object in JSON."""
    for value in ('[{"text": "a"}]', [{"text": "a"}]):
        assert sub_items({"contents": value}, "contents") == ({"text": "a"},)
    assert sub_items({"contents": 3}, "contents") == ()
    lists = ListAttributes({"d.0.document": '{"id": "a"}', "d.1.content": '{"id": "b"}'})
    assert [item.get("document.id") for item in lists.read("d").items] == ["a", None]


def test_flatten():
    """Nested data becomes dotted keys; lists keep their own key too."""
    flat = flatten({"a": {"b": [{"c": 1}]}})
    assert flat["a.b.0.c"] == 1
    assert flat["a.b"] == [{"c": 1}]


def test_indices():
    """Items keep the indices that they had among those evicted."""
    read = ListAttributes({"d.3.id": "x", "d.5.id": "y"}).read("d")
    assert (read.indices, read.gaps) == ((3, 5), True)


def test_prompts_that_begin_at_one():
    """A prompt without instructions may begin at index 1, but not where attributes were dropped."""
    keys = {"llm.input_messages.1.m": "a", "llm.input_messages.2.m": "b"}
    assert not ListAttributes(keys, whole=True).read("llm.input_messages").gaps
    assert ListAttributes(keys, whole=True).gaps() == ()
    assert ListAttributes(keys).gaps() == ("llm.input_messages",)
    assert ListAttributes({**keys, "llm.input_messages.4.m": "d"}, whole=True).gaps()
    assert ListAttributes({"d.1.m": "a"}, whole=True).gaps() == ("d",)

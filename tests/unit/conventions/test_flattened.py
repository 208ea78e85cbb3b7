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


def test_flatten():
    """Nested data becomes dotted keys; lists keep their own key too."""
    flat = flatten({"a": {"b": [{"c": 1}]}})
    assert flat["a.b.0.c"] == 1
    assert flat["a.b"] == [{"c": 1}]


def test_indices():
    """Items keep the indices that they had among those evicted."""
    read = ListAttributes({"d.3.id": "x", "d.5.id": "y"}).read("d")
    assert (read.indices, read.gaps) == ((3, 5), True)

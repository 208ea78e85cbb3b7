"""Arguments of decorated functions, recorded without their names."""

import pytest

from otel_raglog.conventions.calls import arguments_in, first_found, the_argument
from otel_raglog.conventions.queries import query_in


@pytest.mark.parametrize(
    ("data", "arguments"),
    [
        ({"args": ["q", 4], "kwargs": {}}, ("q", 4)),
        ({"args": ["q"], "kwargs": {"top_k": 4}}, ("q", {"top_k": 4})),
        ({"args": [], "kwargs": {"query": "q"}}, ({"query": "q"},)),
        ({"args": "no list", "kwargs": {}}, ()),
        ({"args": ["q"]}, ()),
        (["q"], ()),
        (None, ()),
    ],
)
def test_arguments(data, arguments):
    """Those by place in order, then those by name together; other data has none."""
    assert arguments_in(data) == arguments


def test_a_single_argument_is_the_input():
    """A call with one argument was given that; other data stays as it is."""
    assert the_argument({"args": ["q"], "kwargs": {}}) == "q"
    assert the_argument({"args": [], "kwargs": {"query": "q"}}) == {"query": "q"}
    several = {"args": ["q", 4], "kwargs": {}}
    assert the_argument(several) is several
    assert the_argument("text") == "text"


def test_the_first_argument_that_tells():
    """Arguments in which nothing is found are passed over."""
    assert first_found({"args": [4, {"query": "q"}, "other"], "kwargs": {}}, query_in) == "q"
    assert first_found({"args": [4], "kwargs": {}}, query_in) is None
    assert first_found({"query": "q"}, query_in) is None

"""Whether an exchange goes where an operation is."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.search_routes import goes_to, on_host, passes


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/collections/c/query", True),
        ("post", "/gateway/v1/collections/c%2Fd/query/", True),
        ("GET", "/collections/c/query", False),
        ("POST", "/collections/query", False),
        ("POST", "/query", False),
        ("POST", "/collections/c/query/more", False),
    ],
)
def test_the_end_of_the_path_tells(method, path, expected):
    """A star stands for any one segment; what comes before does not matter."""
    assert goes_to(exchange_of(path, method=method), "POST", "collections/*/query") is expected


def test_one_of_several_methods_is_enough():
    """Some searches may be asked both ways."""
    assert goes_to(exchange_of("/a/_search", method="GET"), "GET POST", "_search")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/x/a/1/b/y", True), ("/a/1/b", True), ("/a/b", False), ("/", False)],
)
def test_a_part_may_be_anywhere(path, expected):
    """In the middle, too."""
    assert passes(exchange_of(path), "a/*/b") is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("x.io", True), ("a.b.x.io", True), ("prefix-x.io", False), ("x.io.evil.com", False)],
)
def test_a_domain_holds_what_is_below_it(host, expected):
    """And nothing that is merely written alike."""
    assert on_host(exchange_of(f"https://{host}/"), "y.io", "x.io") is expected

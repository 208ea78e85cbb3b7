"""Bodies that pass by."""

import pytest

from otel_raglog_proxy_bridge.streams import PassingBody, cut_to, passes_by


def test_chunks_pass_on_and_are_kept():
    """Each chunk comes back as it is; the copy is the whole body."""
    body = PassingBody(100)
    chunks = [b"ab", b"", b"cd"]
    assert [body(chunk) for chunk in chunks] == chunks
    assert body.content == b"abcd"
    assert not body.cut


def test_a_long_body_passes_too():
    """What is beyond the limit passes on, and is not kept."""
    body = PassingBody(3)
    assert [body(b"ab"), body(b"cd"), body(b"ef")] == [b"ab", b"cd", b"ef"]
    assert body.content == b"abc"
    assert body.cut


def test_a_body_as_long_as_the_limit():
    """It is whole; an end mark does not change that."""
    body = PassingBody(2)
    body(b"ab")
    body(b"")
    assert (body.content, body.cut) == (b"ab", False)


def test_whole_bodies():
    """A body that mitmproxy holds is cut at the same limit; none at all is empty."""
    assert cut_to(b"abcd", 3) == (b"abc", True)
    assert cut_to(b"abc", 3) == (b"abc", False)
    assert cut_to(None, 3) == (b"", False)


@pytest.mark.parametrize(
    ("content_type", "length", "passes"),
    [
        ("text/event-stream", "10", True),
        ("application/x-ndjson", "10", True),
        ("application/vnd.amazon.eventstream", "10", True),
        ("application/grpc", "10", True),
        ("application/json", None, True),
        ("application/json", "1001", True),
        ("application/json", "x", True),
        ("application/json", "1000", False),
        ("application/octet-stream", "10", False),
    ],
)
def test_which_bodies_pass_by(content_type, length, passes):
    """Streams, bodies of unknown length and large ones are not waited for."""
    assert passes_by(content_type, length, 1000) is passes

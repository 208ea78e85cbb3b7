"""A call's method and address to the answers that rules ask of them."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.addresses import after, ends, operation, posts


def test_a_post_is_told_whatever_its_case():
    """Some recorders write methods in small letters."""
    assert posts(exchange_of("/v1/embed", method="post"), "embed")
    assert not posts(exchange_of("/v1/embed", method="GET"), "embed")


def test_a_tail_is_compared_by_whole_segments():
    """Slashes at the end do not count, parts of a segment do not match."""
    assert ends(exchange_of("/gate/v1/chat/completions/"), "chat", "completions")
    assert not ends(exchange_of("/v1/xchat/completions"), "chat", "completions")
    assert ends(exchange_of("/"))


def test_what_follows_a_name_is_found_by_the_first_name_there_is():
    """A name at the very end has nothing that follows."""
    exchange = exchange_of("/openai/deployments/d%2F1/embeddings")
    assert after(exchange, "engines", "deployments") == "d/1"
    assert after(exchange, "embeddings") is None


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/v1beta/models/gemini-x:generateContent", ("gemini-x", "generateContent")),
        ("/v1/models/claude@1:rawPredict", ("claude@1", "rawPredict")),
        ("/v1/models", ("models", "")),
        ("/", ("", "")),
    ],
)
def test_an_operation_follows_the_last_colon(path, parts):
    """Google names the model before it."""
    assert operation(exchange_of(path)) == parts

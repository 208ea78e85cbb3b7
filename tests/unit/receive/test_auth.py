"""Who may come in: those that know one of the tokens."""

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.receive.auth import Tokens

ONE, OTHER = "one-0123456789abcdef", "other-0123456789abcdef"


@pytest.mark.parametrize("header", [None, "", "Basic dXNlcjpwYXNz", f"Bearer {ONE}"])
def test_without_tokens_anybody_may_come(header):
    """Off unless it is configured."""
    assert Tokens().allow(header)
    assert not Tokens()


@pytest.mark.parametrize(
    "header",
    [
        f"Bearer {ONE}",
        f"bearer {ONE}",
        f"  BEARER   {ONE} ",
        f"Bearer {OTHER}",
        f"Bearer {ONE}".encode(),
    ],
)
def test_each_of_the_tokens_opens(header):
    """The scheme is case-insensitive; while one token is replaced, both are good."""
    assert Tokens([ONE, OTHER]).allow(header)


@pytest.mark.parametrize(
    "header",
    [
        None, "", "Bearer", "Bearer ", ONE, f"Basic {ONE}", f"Bearer {ONE}x", f"Bearer {ONE[:-1]}",
        f"Bearer {ONE} {OTHER}", f"Bearer {ONE.upper()}", f"Bearer {ONE},Bearer {ONE}",
        "Bearer \u00e9\u00e9\u00e9\u00e9", b"Bearer \xff\xfe", "Bearer \ud800", "Token " + ONE,
    ],
)  # fmt: skip
def test_nothing_else_opens(header):
    """Neither a part of it, nor more, nor another scheme, nor bytes that are no text."""
    assert not Tokens([ONE, OTHER]).allow(header)


@pytest.mark.parametrize(
    "token", ["", "short", "a" * 15, "with blanks in between", "ümlaut-0123456789"]
)
def test_a_token_that_is_weak_or_cannot_be_sent_is_refused_and_not_repeated(token):
    """The message names the option, never the token."""
    with pytest.raises(ConfigError, match=r"receive\.auth: a token") as caught:
        Tokens([ONE, token])
    assert not token or token not in str(caught.value)


def test_the_tokens_themselves_are_not_kept():
    """A dump of the object tells nothing."""
    tokens = Tokens([ONE])
    assert all(ONE.encode() not in bytes(value) for value in vars(tokens)["_hashes"])
    assert ONE not in repr(vars(tokens))

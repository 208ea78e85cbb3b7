"""Which request headers travel on."""

from __future__ import annotations

import pytest

from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.receive.headers import AllowList, check_forwardable, has_passed


def test_only_allowed_headers_are_picked_in_the_order_of_the_list() -> None:
    """Equal headers are equal whatever the order in which they were sent; names are lower-case."""
    allowed = AllowList(["X-Tenant", "x-dataset"])
    sent = [("x-dataset", "d"), ("x-other", "o"), ("X-TENANT", " t ")]
    assert allowed.pick(sent) == (("x-tenant", "t"), ("x-dataset", "d"))


def test_the_header_against_loops_is_always_kept() -> None:
    """Without it a loop could not be seen by the next."""
    assert AllowList().pick([("X-Otel-Raglog-Via", "a"), ("x-otel-raglog-via", "b")]) == (
        ("x-otel-raglog-via", "a,b"),
    )


@pytest.mark.parametrize(
    "values", [["a" * 1025], ["a" * 512] * 2, ["secrét"], ["a\tb"], ["a\x00"], [b"\xff"]]
)
@pytest.mark.parametrize("name", ["x-tenant", "x-otel-raglog-via"])
def test_absurd_values_refuse_the_request(name: str, values: list) -> None:
    """Without its header the data would go to another tenant. The value may be private."""
    factor = 8 if name == "x-otel-raglog-via" else 1
    with pytest.raises(BadInput, match=f"^header {name}: ") as error:
        AllowList(["x-tenant"]).pick([(name, value) for value in values] * factor)
    assert "secr" not in str(error.value)


def test_absurd_values_of_other_headers_do_not_matter() -> None:
    """They stay behind anyway."""
    assert AllowList(["x-tenant"]).pick([("x-other", "é" * 9000), ("x-tenant", "a")])


def test_a_value_of_1_kb_travels_on() -> None:
    """The limit is inclusive."""
    assert AllowList(["x-tenant"]).pick([("x-tenant", "a" * 1024)])


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "Proxy-Authorization", "Cookie", "set-cookie", "X-API-Key", "api-key"),
        *("x-auth", "x-amz-security-token", "dd-api-key", "x-honeycomb-team", "client-secret"),
        *("x-goog-iap-jwt-assertion", "x-session-id", "x-accesskey", "bearer"),
        *("connection", "te", "transfer-encoding", "upgrade", "host", "content-type"),
        *("Content-Encoding", "grpc-timeout", "user-agent", "keep-alive", "x-trace-bin"),
        *("accept-encoding", "expect", "", "a b", "naïve", ":path"),
    ],
)
def test_some_headers_can_never_be_forwarded(name: str) -> None:
    """Secrets would be written to disk; others speak of one connection. The error names both."""
    with pytest.raises(ConfigError, match=r"receive\.forward_headers") as error:
        check_forwardable([name])
    assert name in str(error.value)
    with pytest.raises(ConfigError):
        AllowList(["x-tenant", name])


@pytest.mark.parametrize(
    "name", ["x-scope-orgid", "x-tenant", "X-Author", "x-hostname", "x-request-id", "baggage"]
)
def test_ordinary_headers_can_be(name: str) -> None:
    """Also those whose names only resemble the forbidden ones."""
    check_forwardable([name])


def test_a_request_that_passed_here_is_known() -> None:
    """By a whole id among those in the list."""
    via = (("x-otel-raglog-via", "one, two"),)
    assert has_passed(via, "two")
    assert not has_passed(via, "tw")
    assert not has_passed((("x-other", "two"),), "two")

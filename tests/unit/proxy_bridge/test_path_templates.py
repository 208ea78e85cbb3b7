"""Templates of paths: names stay, what a machine drew or a user typed does not."""

import pytest
from unknown_calls import exchange_of

from otel_raglog_proxy_bridge.path_templates import (
    host_matches,
    host_of,
    is_plain,
    path_matches,
    template_of,
)


@pytest.mark.parametrize(
    "name",
    ["v1", "collections", "my-llama2-endpoint", "generateContent", "streamGenerateContent",
     "foundation_model_specs", "chat", "gpt-4o", "text2image", "_search", "@search.score", "points"],
)  # fmt: skip
def test_names_that_people_gave_stay(name):
    """They tell one operation from another."""
    assert is_plain(name)


@pytest.mark.parametrize(
    "segment",
    ["4711", "c1234567-2222-2222-3333-444444444444", "9f86d081884c7d65", "w8qtunpthvh1r7a0",
     "gen-lang-client-0498264908", "sk-proj-abcDEF123ghiJKL456mnoPQR", "ann@example.com",
     "what is love", "AKIAIOSFODNNEXAMPLE", "x" * 40, "2024-02-15", "süß", "aBcDeFgHiJkLmNoPqR"],
)  # fmt: skip
def test_ids_numbers_tokens_and_texts_do_not(segment):
    """They would make a template of every call, and could be secrets."""
    assert not is_plain(segment)
    assert template_of(("v1", segment, "query")) == "/v1/{id}/query"


def test_the_name_of_a_user_is_an_id():
    """However plain it looks."""
    assert template_of(("users", "ann", "notes")) == "/users/{id}/notes"


def test_the_root_has_a_template_too():
    """Some servers have no path."""
    assert template_of(()) == "/"
    assert path_matches("/", ())


def test_a_place_stands_for_one_segment():
    """Not for several, and not for none."""
    assert path_matches("/v1/{name}/query", ("v1", "a b", "query"))
    assert not path_matches("/v1/{name}/query", ("v1", "query"))
    assert not path_matches("/v1/{name}/query", ("v1", "a", "b", "query"))
    assert not path_matches("/v1/{name}/query", ("v2", "a", "query"))


def test_a_host_keeps_a_port_that_lasts():
    """Two services on one machine are told apart; a port drawn at random says nothing."""
    assert host_of(exchange_of(url="http://localhost:8000/x")) == "localhost:8000"
    assert host_of(exchange_of(url="http://localhost:49152/x")) == "localhost"
    assert host_of(exchange_of(url="https://api.acme.test/x")) == "api.acme.test"


def test_hosts_match_exactly_or_by_stars():
    """Without a port any port will do."""
    exchange = exchange_of(url="http://eu.api.acme.test:8000/x")
    for pattern in ("eu.api.acme.test", "EU.api.acme.test:8000", "*.acme.test", "*"):
        assert host_matches(pattern, exchange)
    for pattern in ("api.acme.test", "eu.api.acme.test:9000", "*.acme.com"):
        assert not host_matches(pattern, exchange)

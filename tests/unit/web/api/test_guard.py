"""Who gets answers: those with a token; without tokens, this machine's own clients."""

import pytest
from kept_runs import client_of, store
from starlette.testclient import TestClient

from otel_raglog.receive.auth import Tokens

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("header", [{}, {"authorization": "Bearer nonsense-0123456"}])
def test_without_the_token_nothing_is_answered(header):
    """Not even whether a path exists."""
    client = client_of(store(), Tokens([TOKEN]))
    for path in ("/api/runs", "/api/nothing", "/"):
        answer = client.get(path, headers=header)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "receive.auth" in answer.json()["error"]


def test_with_the_token_all_is_answered_on_any_host():
    """Inside a cluster the service has a name."""
    client = client_of(store(), Tokens([TOKEN]))
    client.base_url = "http://raglog.observability.svc"
    answer = client.get("/api/runs", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.json() == {"runs": [], "next_cursor": None}


@pytest.mark.parametrize(
    "host", ["127.0.0.1:13134", "localhost", "LOCALHOST:1", "[::1]:13134", "127.9.9.9"]
)
def test_without_tokens_this_machine_is_answered(host):
    """By any of its own names."""
    assert client_of(store()).get("/api/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test:80", "", "10.0.0.1", "[::2]"]
)
def test_without_tokens_other_names_are_not(host):
    """A page of that name, which leads here, would read the answers in somebody's browser."""
    answer = client_of(store()).get("/api/runs", headers={"host": host})
    assert answer.status_code == 403
    assert "localhost" in answer.json()["error"]


def test_what_is_no_request_is_left_to_the_application():
    """The server's own start and stop."""
    client = client_of(store())
    assert isinstance(client, TestClient)
    with client:
        assert client.get("/api/runs").status_code == 200

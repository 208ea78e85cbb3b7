"""What every client of an LLM must keep to, over real sockets; a new provider is covered by its line."""

from __future__ import annotations

import gzip
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from judge_behaviours import (
    Behaviour,
    after,
    breaks_api,
    breaks_json,
    drips,
    fails,
    floods,
    refuses,
    resets,
    truncates,
)
from judge_server import JudgeServer
from ports import free_port

from otel_raglog.checks.judge.answers import Statements
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.client import Ask
from otel_raglog.judge.clients import PROVIDERS, build_client

KEY = "sk-secret-0123456789"
SECRET_TEXT = "the merger is called Bluebird"
ASK = Ask("You judge.", SECRET_TEXT, "statements", Statements.model_json_schema())
GOOD_REPLY = (
    b'{"content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn",'
    b' "choices": [{"message": {"content": "{}"}}]}'
)
"""One of either API."""
SENT_HEADERS = {
    "host", "authorization", "accept", "accept-encoding", "content-type", "content-length",
    "user-agent", "anthropic-version",
}  # fmt: skip


@pytest.fixture
def server():
    with JudgeServer() as running:
        yield running


@pytest.fixture(params=PROVIDERS)
def provider(request):
    return request.param


@pytest.fixture
def make(provider, server):
    """Return a maker of clients that are closed when the test ends."""
    made = []

    def build(**changes):
        url = server.url_anthropic if provider == "anthropic" else server.url_openai
        options = {"endpoint": url, "key": KEY, "max_reply_bytes": 100_000, "connections": 5}
        made.append(build_client(provider, "model-1", **{**options, **changes}))
        return made[-1]

    yield build
    for client in made:
        client.close()


def failure(client, seconds=5.0):
    with pytest.raises((Unavailable, Rejected)) as caught:
        client.ask(ASK, seconds)
    return caught.value


# ------------------------------------------------------------------------------- a good reply


def test_a_sound_answer_comes_back_whole_with_its_tokens(make, server, provider):
    """The answer is of the check's schema, and each token is counted once."""
    client = make()
    reply = client.ask(ASK, 5)
    assert Statements.model_validate_json(reply.text).contradiction == 0
    assert reply.complete
    assert reply.usage.completion_tokens == -(-len(reply.text) // 4)
    assert reply.usage.total > reply.usage.completion_tokens > 0
    assert (client.provider, client.model) == (provider, "model-1")


def test_the_instructions_are_cached_and_told_apart_from_the_run(make, server):
    """The second request reads them from the provider's cache; they are in the system prompt."""
    client = make()
    client.ask(ASK, 5)
    again = client.ask(ASK, 5)
    assert again.usage.cache_read_tokens == -(-len(ASK.system) // 4)
    assert again.usage.prompt_tokens == -(-len(ASK.prompt) // 4)
    assert server.requests[0].system == ASK.system
    assert server.requests[0].prompt == ASK.prompt


def test_calls_run_at_once(make, server):
    """As many as there are connections."""
    barrier = threading.Barrier(5)

    def together(_):
        barrier.wait(10)

    server.answer = together
    client = make()
    with ThreadPoolExecutor(5) as pool:
        replies = list(pool.map(lambda _: client.ask(ASK, 10), range(5)))
    assert len(replies) == server.peak == 5


def test_a_call_beyond_the_connections_waits_only_its_own_time(make, server):
    """And says that no connection was free."""
    begun, done = threading.Event(), threading.Event()

    def hold(_):
        begun.set()
        done.wait(10)

    server.answer = hold
    client = make(connections=1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.ask, ASK, 10)
        assert begun.wait(10)
        late = failure(client, 0.2)
        done.set()
        assert first.result().complete
    assert isinstance(late, Unavailable)
    assert "no connection was free" in str(late)


# ------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_unavailable(make, server, status):
    """Without a Retry-After the caller decides how long to wait."""
    server.script(fails(status))
    error = failure(make())
    assert isinstance(error, Unavailable)
    assert error.retry_after_seconds is None
    assert server.count() == 1  # the SDK does not try again by itself


def test_the_provider_says_when_to_come_back(make, server):
    """In seconds, or in milliseconds, which are the more exact."""
    client = make()
    server.script(
        fails(429, retry_after="7"),
        Behaviour(status=529, headers={"retry-after-ms": "1500", "retry-after": "2"}),
    )
    assert failure(client).retry_after_seconds == 7
    assert failure(client).retry_after_seconds == 1.5


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, "bad_request"),
        (401, "unauthorized"),
        (402, "payment_required"),
        (403, "unauthorized"),
        (404, "no_such_model"),
        (413, "prompt_too_large"),
        (307, "http_307"),
    ],
)
def test_what_will_not_pass_is_rejected(make, server, status, reason):
    """With a reason for the metrics; redirects are not followed: the key would go along."""
    server.script(Behaviour(status=status, headers={"location": "http://127.0.0.1:9/v1"}))
    error = failure(make())
    assert isinstance(error, Rejected)
    assert error.reason == reason
    assert server.count() == 1


@pytest.mark.parametrize("behaviour", [drips(0.05), drips(0.05, headers=True), after(60.0)])
def test_the_time_out_is_for_the_whole_call_however_slowly_bytes_come(make, server, behaviour):
    """Each byte comes in good time, the reply does not."""
    server.script(behaviour)
    began = time.monotonic()
    error = failure(make(), 0.4)
    assert isinstance(error, Unavailable)
    assert "no whole reply within 0.4 s" in str(error)
    assert time.monotonic() - began < 3


def test_no_time_at_all_is_a_time_out(make, server):
    """And not the time that an SDK would take by itself."""
    server.script(after(60.0))
    assert isinstance(failure(make(), 0.0), Unavailable)


def test_a_connection_that_breaks_in_the_middle_is_unavailable(make, server):
    """And the next call opens another."""
    client = make()
    server.script(resets())
    assert isinstance(failure(client), Unavailable)
    assert client.ask(ASK, 5).complete


def test_a_server_that_is_not_there_is_unavailable(make, provider):
    """A refused connection tells so."""
    error = failure(make(endpoint=f"http://127.0.0.1:{free_port()}"))
    assert isinstance(error, Unavailable)
    assert "no connection" in str(error)


def test_a_name_that_does_not_resolve_is_unavailable(make, monkeypatch):
    """It may resolve later."""

    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    client = make(endpoint="https://llm.invalid")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert isinstance(failure(client), Unavailable)


def test_a_reply_that_is_too_large_is_dropped_on_the_way(make, server):
    """Long before its end: of 10 MB the limit is read."""
    server.script(floods(10_000_000))
    error = failure(make(max_reply_bytes=50_000))
    assert isinstance(error, Rejected)
    assert error.reason == "too_large"
    assert "50000 bytes" in str(error)


def test_a_reply_that_says_little_is_enough(make, server):
    """Servers that are compatible leave out what they like."""
    server.script(Behaviour(raw=GOOD_REPLY))
    assert make().ask(ASK, 5).text == "{}"


@pytest.mark.parametrize(
    "behaviour",
    [
        breaks_api(),
        Behaviour(raw=b""),
        Behaviour(raw=b"[]"),
        Behaviour(raw=b"{}"),
        Behaviour(raw=b"<html>Log in</html>", headers={"content-type": "text/html"}),
        Behaviour(raw=b"\xff\xfe"),
        Behaviour(raw=b"[" * 50_000),
        Behaviour(raw=gzip.compress(GOOD_REPLY), headers={"content-encoding": "gzip"}),
    ],
)
def test_a_body_that_is_no_reply_of_the_api_is_malformed(make, server, behaviour):
    """Whatever came in its place."""
    server.script(behaviour)
    error = failure(make())
    assert isinstance(error, Rejected)
    assert error.reason == "malformed"


def test_an_answer_that_is_no_json_is_left_to_the_caller(make, server):
    """The API was spoken well: what the model said comes back as it is."""
    server.script(breaks_json())
    assert make().ask(ASK, 5).text == breaks_json().text


def test_a_model_that_declines_is_told_from_one_that_answers(make, server):
    """It is rejected as refused."""
    server.script(refuses())
    assert failure(make()).reason == "refused"


def test_an_answer_that_was_cut_off_says_so(make, server):
    """The caller can ask again, for less."""
    server.script(truncates())
    assert not make().ask(ASK, 5).complete


def test_text_that_cannot_be_sent_is_rejected(make, server):
    """Half of a surrogate pair has no form in UTF-8."""
    with pytest.raises(Rejected) as caught:
        make().ask(Ask("s", "\ud800", "statements", ASK.schema), 5)
    assert caught.value.reason == "not_text"
    assert server.count() == 0


def test_a_closed_client_is_unavailable(make, server):
    """And sends nothing."""
    client = make()
    client.ask(ASK, 5)
    client.close()
    assert isinstance(failure(client), Unavailable)
    assert server.count() == 1


# ------------------------------------------------------------------------- secrets and leaving


def test_the_key_is_in_its_header_and_nowhere_else(make, server):
    """Not in the body, the address or another header; without a key there is no header."""
    server.key = KEY
    client = make()
    assert client.ask(ASK, 5).complete
    sent = server.requests[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    others = {name: value for name, value in sent.headers.items() if name != "authorization"}
    assert KEY not in repr((sent.body, sent.path, others, client, vars(client)))
    server.key = None
    make(key=None).ask(ASK, 5)
    assert "authorization" not in server.requests[1].headers


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(status=400, message=SECRET_TEXT),
        Behaviour(status=401, message=f"bad key {KEY}"),
        Behaviour(status=500, message=SECRET_TEXT),
        Behaviour(raw=SECRET_TEXT.encode()),
        Behaviour(SECRET_TEXT, refused=True),
        resets(),
        drips(0.05),
    ],
)
def test_neither_key_nor_texts_are_in_an_exception_or_a_log_line(
    make, server, behaviour, caplog, monkeypatch
):
    """Whatever the server echoes, and however much the SDKs are told to log."""
    caplog.set_level(logging.DEBUG)
    client = make()
    server.script(behaviour)
    error = failure(client, 0.5)
    told = f"{error} {error!r} {error.__cause__!r} {caplog.text}"
    assert KEY not in told
    assert SECRET_TEXT not in told


def test_the_environment_neither_redirects_a_request_nor_adds_to_it(make, server, monkeypatch):
    """Addresses, keys, headers, proxies and profiles that SDKs read are not for this client."""
    with JudgeServer() as elsewhere:
        environment = {
            "ANTHROPIC_BASE_URL": elsewhere.url_anthropic,
            "ANTHROPIC_API_KEY": "ambient",
            "ANTHROPIC_AUTH_TOKEN": "ambient",
            "ANTHROPIC_PROFILE": "ambient",
            "ANTHROPIC_CUSTOM_HEADERS": "x-extra: 1\nauthorization: Bearer ambient",
            "ANTHROPIC_OPEN_TELEMETRY": "true",
            "ANTHROPIC_OPEN_TELEMETRY_PROPAGATION": "true",
            "OPENAI_BASE_URL": elsewhere.url_openai,
            "OPENAI_API_KEY": "ambient",
            "OPENAI_ADMIN_KEY": "ambient",
            "OPENAI_ORG_ID": "ambient",
            "OPENAI_PROJECT_ID": "ambient",
            "OPENAI_CUSTOM_HEADERS": "x-extra: 1\nAuthorization: Bearer ambient",
            "HTTP_PROXY": elsewhere.url,
            "HTTPS_PROXY": elsewhere.url,
            "ALL_PROXY": elsewhere.url,
            "http_proxy": elsewhere.url,
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        make().ask(ASK, 5)
        make(key=None).ask(ASK, 5)
        assert elsewhere.count() == 0
    with_key, without = (dict(item.headers) for item in server.requests)
    assert with_key["authorization"] == f"Bearer {KEY}"
    assert "ambient" not in repr((with_key, without))
    assert set(with_key) | set(without) <= SENT_HEADERS


def test_nothing_but_the_call_leaves(make, server, monkeypatch):
    """No other host is looked up or connected to, and nothing of the machine is told."""
    hosts = set()
    look_up = socket.getaddrinfo

    def recorded(host, *rest, **options):
        hosts.add(host)
        return look_up(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", recorded)
    client = make()
    client.ask(ASK, 5)
    server.script(fails(500))
    failure(client)
    assert hosts == {"127.0.0.1"}
    assert set(server.requests[0].headers) <= SENT_HEADERS


def test_making_a_client_sends_nothing(provider, monkeypatch):
    """Also one for the provider's own address."""

    def refuse(*_, **__):
        raise AssertionError("looked up")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    build_client(
        provider, "m", endpoint=None, key=KEY, max_reply_bytes=1_000, connections=1
    ).close()

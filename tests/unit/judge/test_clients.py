"""How a client is made, and what is refused before anything is sent."""

import logging
import sys

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.judge.clients import build_client

OPTIONS = {"endpoint": None, "key": "sk-secret", "max_reply_bytes": 1_000, "connections": 1}


def refusal(provider="openai", **changes):
    with pytest.raises(ConfigError) as caught:
        build_client(provider, "m", **{**OPTIONS, **changes})
    assert "sk-secret" not in str(caught.value)
    return str(caught.value)


def test_an_unknown_provider_is_told_the_known_ones():
    """With the option's name."""
    assert refusal("anthropc") == "judge.provider: 'anthropc' is none of anthropic, openai"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("key", [None, ""])
def test_a_providers_own_address_needs_a_key(provider, key):
    """The message says where one can come from."""
    message = refusal(provider, key=key)
    assert "OTEL_RAGLOG_JUDGE_KEY" in message
    assert f"https://api.{provider}.com" in message


@pytest.mark.parametrize(("module", "provider"), [("anthropic", "anthropic"), ("openai", "openai")])
def test_a_missing_sdk_is_told_with_what_to_install(monkeypatch, module, provider):
    """SDKs are an extra."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"otel_raglog.judge.{module}_client", raising=False)
    assert "pip install 'otel-raglog[judge]'" in refusal(provider)


@pytest.mark.parametrize(
    "endpoint",
    [
        "api.openai.com/v1",
        "ftp://x",
        "https://",
        "https://x:port",
        "http://[::1",
        "https://x/v1?a=b",
    ],
)
def test_an_endpoint_that_is_no_address_is_refused(endpoint):
    """The option is named."""
    assert "judge.endpoint" in refusal(endpoint=endpoint)


def test_a_password_in_the_address_is_refused_and_not_repeated():
    """It would end up in messages."""
    assert "hunter2" not in refusal(endpoint="https://me:hunter2@llm.example/v1")


@pytest.mark.parametrize(
    "host", ["llm.example", "10.0.0.7", "host.docker.internal", "[2001:db8::1]"]
)
def test_a_key_does_not_travel_unencrypted(host):
    """Without a key, or to this machine, plain HTTP is fine."""
    assert "unencrypted" in refusal(endpoint=f"http://{host}:8000/v1")
    build_client("openai", "m", **{**OPTIONS, "endpoint": f"http://{host}/v1", "key": None}).close()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
def test_a_key_may_go_to_this_machine(host):
    """Local servers can have keys too."""
    build_client("openai", "m", **{**OPTIONS, "endpoint": f"http://{host}:11434/v1"}).close()


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "sk-sécret", "sk-secret\x00"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key):
    """A line's end from a file, say."""
    message = refusal(key=key)
    assert "characters that no key has" in message
    assert "cret" not in message


def test_the_sdks_do_not_log_requests_whatever_the_root_logger_says():
    """They would, texts included."""
    logging.getLogger("openai").setLevel(logging.DEBUG)
    build_client("openai", "m", **OPTIONS).close()
    assert not logging.getLogger("openai").isEnabledFor(logging.INFO)
    assert not logging.getLogger("httpx2").isEnabledFor(logging.INFO)

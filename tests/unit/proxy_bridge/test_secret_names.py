"""Names that tell a secret."""

import pytest

from otel_raglog_proxy_bridge.secret_names import (
    Secrecy,
    is_secret_header,
    is_secret_parameter,
    secrecy,
)


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apikey",
        "openai_api_key",
        "X-Api-Key",
        "authorization",
        "password",
        "dbPassword",
        "client_secret",
        "clientSecret",
        "access_token",
        "refreshToken",
        "private_key",
        "cookie",
        "Set-Cookie",
        "SecretAccessKey",
        "connectionString",
        "api_keys",
        "passwords",
    ],
)
def test_surely_a_secret(name):
    """Fields of these names hold secrets in any spelling."""
    assert secrecy(name) is Secrecy.SURE


@pytest.mark.parametrize(
    "name",
    ["key", "tokens", "max_tokens", "prompt_tokens", "text", "author", "secretary", "keywords", ""],
)
def test_no_secret(name):
    """Fields that RAG pipelines are full of hold none."""
    assert secrecy(name) is Secrecy.NONE


def test_perhaps_a_secret():
    """``token`` is a credential of an API and a word of a model."""
    assert secrecy("token") is Secrecy.MAYBE
    assert secrecy("next_page_token") is Secrecy.MAYBE


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "Set-Cookie",
        "x-api-key",
        "api-key",
        "apikey",
        "X-Goog-Api-Key",
        "Ocp-Apim-Subscription-Key",
        "X-Amz-Security-Token",
        "x-hub-signature-256",
        "X-Auth",
        "x-client-secret",
    ],
)
def test_headers_that_are_never_kept(name):
    """Keys, tokens, signatures, cookies and whatever authorises."""
    assert is_secret_header(name)


@pytest.mark.parametrize("name", ["content-type", "traceparent", "x-request-id", "x-tenant"])
def test_headers_that_may_be_kept(name):
    """Types and ids are no secret."""
    assert not is_secret_header(name)


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "api-key", "token", "sig", "Signature", "X-Amz-Credential", "X-Amz-Date",
     "X-Goog-Signature", "access_token", "code", "password", "client_secret", "appid"],
)  # fmt: skip
def test_secret_parameters(name):
    """Parameters by which URLs carry credentials."""
    assert is_secret_parameter(name)


@pytest.mark.parametrize("name", ["api-version", "q", "query", "limit", "alt", "include"])
def test_plain_parameters(name):
    """Parameters that say what is asked for."""
    assert not is_secret_parameter(name)


@pytest.mark.parametrize(
    "name",
    ["password2", "SecretString", "appKey", "user_pass", "jwt", "auth", "apiSecret", "password_confirmation",
     "apiKeyValue"],
)  # fmt: skip
def test_variants_of_names(name):
    """Numbers, and words that names of secrets add, change nothing."""
    assert secrecy(name) is Secrecy.SURE


@pytest.mark.parametrize(
    "name", ["session_id", "authors", "bypass", "first_pass", "compass", "max_tokens"]
)
def test_names_that_only_look_so(name):
    """Parts of other words tell nothing."""
    assert secrecy(name) is Secrecy.NONE

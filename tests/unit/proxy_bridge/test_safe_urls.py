"""URLs without credentials."""

import re

import pytest

from otel_raglog_proxy_bridge.safe_urls import mask_query, mask_url


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://user:pass@h:8443/a?b=c#frag", "https://h:8443/a?b=c"),
        ("https://token@h/a", "https://h/a"),
        ("https://h/v1?key=AbC&alt=sse", "https://h/v1?key=***&alt=sse"),
        ("https://h/v1?api%5Fkey=AbC", "https://h/v1?api%5Fkey=***"),
        (
            "https://h/v1?q=a%20b+c&X-Amz-Signature=abc",
            "https://h/v1?q=a%20b+c&X-Amz-Signature=***",
        ),
        ("https://h/v1?q=Bearer%20abc123def456", "https://h/v1?q=Bearer%20***"),
        ("https://h/bot123456:AAEabcdefghijk/send", "https://h/***/send"),
        ("https://h/v2/AbCdEf0123456789AbCdEf/x", "https://h/v2/***/x"),
        ("https://h/key/abc/x", "https://h/key/***/x"),
        ("https://h/a/sk-proj-Ab12Cd34Ef56Gh78Ij90", "https://h/a/***"),
        ("https://h/a/sk%2Dproj-Ab12Cd34Ef56Gh78Ij90", "https://h/a/***"),
        ("https://hooks.slack.com/services/T0/B0/x", "https://hooks.slack.com/***"),
    ],
)
def test_secrets_go(url, masked):
    """Users, secret parameters and keys in the path are masked, fragments left out."""
    assert mask_url(url) == masked


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/api/v2/tenants/t/databases/d/collections/550e8400-e29b-41d4-a716-446655440000/query",
        "https://h/openai/deployments/gpt-4o-Mini-2024/chat/completions?api-version=2024-06-01",
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0/invoke",
        "https://h/v1beta/models/text-embedding-004:batchEmbedContents",
        "https://h/idx/_doc/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "http://[::1]:80/a?x",
    ],
)
def test_addresses_of_apis_stay(url):
    """What tells an API, a model or a collection is no key."""
    assert mask_url(url) == url


def test_more_parameters_and_patterns():
    """The user's parameters and patterns are masked too, wherever in the URL."""
    patterns = ((re.compile("acme-[0-9]+"), "***"),)
    masked = mask_url("https://h/acme-12/x?tenant=t&q=acme%2D13", patterns, frozenset({"Tenant"}))
    assert masked == "https://h/***/x?tenant=***&q=***"


def test_long_urls_are_cut():
    """A URL has at most 8,192 characters."""
    assert len(mask_url("https://h/" + "a" * 20_000)) == 8192


def test_queries():
    """A query alone keeps parameters without a value."""
    assert mask_query("a&b=&token=x") == "a&b=&token=***"


def test_what_is_no_url():
    """A URL that cannot be taken apart is an error, not let through."""
    with pytest.raises(ValueError, match="IPv6"):
        mask_url("http://[half/a")


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://h/a?x=1;token=zq8vw", "https://h/a?x=1;token=***"),
        ("https://h/a;token=zq8vw/b", "https://h/a;token=***/b"),
        ("https://h/a?api%255Fkey=zq8vw", "https://h/a?api%255Fkey=***"),
        ("https://h/a?q=sk%252Dproj-Ab12Cd34Ef56Gh78Ij90", "https://h/a?q=***"),
        ("https://h/api/v2/auth/identity", "https://h/api/v2/auth/identity"),
    ],
)
def test_other_ways_to_write_parameters(url, masked):
    """Semicolons separate too, parts of paths have parameters, and some encode twice."""
    assert mask_url(url) == masked

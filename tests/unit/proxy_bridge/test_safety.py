"""Calls that were made safe."""

import gzip
import json
import re

import pytest

from otel_raglog_proxy_bridge.carried_secrets import CarriedSecrets
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import RawCall, SafetyRules, kept_names, safe_call

KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90"
PLANTED = "planted-7Qx"
JSON_TYPE = ("Content-Type", "application/json")


def raw(**changes) -> RawCall:
    call = {
        "id": "c1",
        "method": "post",
        "url": f"https://me:{PLANTED}@h/v1/chat?key={PLANTED}",
        "status": 200,
        "request_headers": (
            JSON_TYPE,
            ("Authorization", f"Bearer {PLANTED}"),
            ("X-Api-Key", PLANTED),
            ("Cookie", PLANTED),
            ("X-Tenant", "t"),
            ("User-Agent", f"app {KEY}"),
        ),
        "response_headers": (JSON_TYPE, ("Set-Cookie", PLANTED)),
        "request_body": json.dumps({"api_key": PLANTED, "q": "hi"}).encode(),
        "response_body": json.dumps({"access_token": PLANTED, "a": KEY}).encode(),
        "started_ns": 1,
        "ended_ns": 2,
        "side": Side.FRONT,
        "client": "127.0.0.1:5",
        "error": f"broke at {KEY}",
    }
    return RawCall(**{**call, **changes})


def test_nothing_secret_is_left():
    """Of a call with secrets everywhere none is left, and everything else is."""
    call = safe_call(raw())
    assert PLANTED not in repr(call)
    assert KEY not in repr(call)
    assert call.method == "POST"
    assert call.url == "https://h/v1/chat?key=***"
    assert call.request_headers == {"content-type": "application/json", "user-agent": "app ***"}
    assert call.response_headers == {"content-type": "application/json"}
    assert json.loads(call.request_body) == {"api_key": "***", "q": "hi"}
    assert json.loads(call.response_body) == {"access_token": "***", "a": "***"}
    assert (call.started_ns, call.ended_ns, call.side) == (1, 2, Side.FRONT)
    assert call.error == "broke at ***"


def test_headers_that_a_user_adds():
    """Further headers are kept by name, but never one whose name tells a secret."""
    rules = SafetyRules(extra_headers=frozenset({"X-Tenant", "Authorization", "X-Api-Key"}))
    call = safe_call(raw(), rules)
    assert call.request_headers["x-tenant"] == "t"
    assert PLANTED not in repr(call)
    assert kept_names(["A", "Set-Cookie", " ", "x-token"]) == {"a"}


def test_a_traceparent_is_kept_when_it_is_one():
    """Something else under its name may be anything."""
    valid = f"00-{'a' * 32}-{'b' * 16}-01"
    assert safe_call(raw(request_headers=(("traceparent", valid),))).request_headers == {
        "traceparent": valid
    }
    assert safe_call(raw(request_headers=(("traceparent", "a secret"),))).request_headers == {}


def test_repeated_headers_are_joined():
    """A header that is there twice keeps both values."""
    call = safe_call(raw(request_headers=(("TraceState", "a=1"), ("tracestate", "b=2"))))
    assert call.request_headers == {"tracestate": "a=1, b=2"}


def test_encoded_bodies():
    """Content encodings are undone before secrets are looked for."""
    call = safe_call(
        raw(
            request_headers=(JSON_TYPE, ("Content-Encoding", "gzip")),
            request_body=gzip.compress(raw().request_body),
        )
    )
    assert json.loads(call.request_body) == {"api_key": "***", "q": "hi"}


def test_bodies_are_cut():
    """A body longer than the limit is cut, says so, and is masked to its end."""
    body = b'{"a": "' + b"x" * 50 + b'", "api_key": "' + PLANTED.encode() * 50
    call = safe_call(raw(request_body=body), SafetyRules(max_body_bytes=80))
    assert call.cut == {"request"}
    assert len(call.request_body) < 90
    assert "planted" not in call.request_body
    assert safe_call(raw(cut=frozenset({"response"}))).cut == {"response"}


def test_bodies_that_cannot_be_decoded():
    """They are left out, which the error says without a byte of them."""
    headers = (JSON_TYPE, ("content-encoding", "gzip"))
    call = safe_call(raw(request_headers=headers, request_body=b"\x1f\x8b" + PLANTED.encode()))
    assert call.request_body == ""
    assert "request body left out" in call.error
    assert PLANTED not in repr(call)


@pytest.mark.parametrize(
    "patterns",
    [
        ((re.compile("hi"), r"\9"),),  # no such group
        ((re.compile('"q":.*'), "***"),),  # reaches over JSON's punctuation
    ],
)
def test_what_cannot_be_masked_is_left_out(patterns):
    """A rule that fails lets nothing through: the body goes, and the call stays."""
    call = safe_call(raw(), SafetyRules(patterns=patterns))
    assert call.request_body == ""
    assert "request body left out" in call.error
    assert "hi" not in repr(call)


def test_what_is_no_url_is_left_out():
    """A URL that cannot be taken apart is not let through, nor does it cost the call."""
    call = safe_call(raw(url=f"http://[{PLANTED}"))
    assert call.url == ""
    assert "URL left out" in call.error
    assert PLANTED not in repr(call)


def test_patterns_reach_everything():
    """The user's patterns are masked in the URL, headers, bodies and errors."""
    call = safe_call(
        raw(
            url="https://h/emp-77?q=emp-77",
            request_headers=(JSON_TYPE, ("user-agent", "emp-77")),
            request_body=b'{"a": "emp-77"}',
            response_body=b"emp-77",
            error="emp-77",
        ),
        SafetyRules(patterns=((re.compile(r"emp-\d+"), "***"),)),
    )
    assert "emp-77" not in repr(call)


@pytest.mark.parametrize("scheme", ["Bearer ", "Token ", ""])
def test_secrets_that_come_back(scheme):
    """A secret of a call is masked in its answer and its error, under whatever name."""
    call = safe_call(
        raw(
            request_headers=(JSON_TYPE, ("Authorization", f"{scheme}{PLANTED}")),
            response_body=json.dumps({"wrong": f"no such user: {PLANTED}!"}).encode(),
            error=f"refused {PLANTED}",
        )
    )
    assert PLANTED not in repr(call)
    assert json.loads(call.response_body) == {"wrong": "no such user: ***!"}


def test_secrets_that_come_back_in_later_calls():
    """What a call carried in headers, or was answered under a secret's name, is masked in the next."""
    carried = CarriedSecrets()
    safe_call(raw(), carried=carried)
    later = raw(url="https://h/x", request_headers=(), response_headers=(), error="",
                request_body=f"it was {PLANTED}".encode(), response_body=b"")  # fmt: skip
    assert safe_call(later, carried=carried).request_body == "it was ***"
    assert PLANTED in safe_call(later).request_body


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_charsets_that_are_not_told(charset):
    """A body in UTF-16 or UTF-32 that says UTF-8, or nothing, is read before it is masked."""
    call = safe_call(raw(request_body=raw().request_body.decode().encode(charset)))
    assert json.loads(call.request_body) == {"api_key": "***", "q": "hi"}

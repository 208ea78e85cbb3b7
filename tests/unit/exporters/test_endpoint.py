"""Endpoints, headers and TLS files are checked at start, and errors name the option."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.model import Signal
from otel_raglog_exporters.endpoint import (
    GrpcTarget,
    TlsConfig,
    checked_headers,
    grpc_target,
    headers_beside,
    http_urls,
    read_response,
    shortened,
)


@pytest.mark.parametrize(
    ("endpoint", "tls", "target"),
    [
        ("localhost:4317", None, GrpcTarget("localhost:4317", secure=False)),
        ("http://tempo:9000", None, GrpcTarget("tempo:9000", secure=False)),
        ("https://tempo", None, GrpcTarget("tempo:4317", secure=True)),
        ("tempo:4317", TlsConfig(), GrpcTarget("tempo:4317", secure=True)),
        ("http://[::1]:4317/", None, GrpcTarget("[::1]:4317", secure=False)),
    ],
)
def test_grpc_endpoints(endpoint, tls, target):
    """Host and port, plain or TLS by scheme or by the tls option."""
    assert grpc_target(endpoint, tls) == target


@pytest.mark.parametrize(
    ("endpoint", "tls"),
    [
        ("ftp://tempo:1", None),
        ("http://tempo:4317/v1/traces", None),
        ("http://tempo:4317", TlsConfig()),
        ("", None),
        ("tempo:port", None),
        ("http://[::1", None),
        ("[::1:4317", None),
    ],
)
def test_bad_grpc_endpoints(endpoint, tls):
    """What cannot be meant is refused, naming the option."""
    with pytest.raises(ConfigError, match="endpoint"):
        grpc_target(endpoint, tls)


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://tempo:4318", "http://tempo:4318/v1/traces"),
        ("https://cloud/api/public/otel/", "https://cloud/api/public/otel/v1/traces"),
        ("http://tempo/v1/traces", "http://tempo/v1/traces"),
        ("http://tempo?token=1", "http://tempo/v1/traces?token=1"),
    ],
)
def test_http_endpoints(endpoint, url):
    """The path of the specification is appended unless it is there."""
    assert http_urls(endpoint, None)[Signal.TRACES] == url


@pytest.mark.parametrize("given", ["", "/", "/v1/traces", "/v1/logs/", "/v1/metrics"])
def test_the_signals_have_addresses_side_by_side(given):
    """Whichever of them is given, or only their beginning."""
    assert http_urls(f"https://cloud/otel{given}", None) == {
        Signal.TRACES: "https://cloud/otel/v1/traces",
        Signal.METRICS: "https://cloud/otel/v1/metrics",
        Signal.LOGS: "https://cloud/otel/v1/logs",
    }


@pytest.mark.parametrize(
    "endpoint", ["tempo:4318", "http://", "grpc://tempo", "http://a:99999", "http://[::1"]
)
def test_bad_http_endpoints(endpoint):
    """An endpoint over HTTP needs scheme, host and a possible port."""
    with pytest.raises(ConfigError, match="endpoint"):
        http_urls(endpoint, None)


def test_plain_text_with_tls_files_is_a_contradiction():
    """Nobody who configures certificates wants plain text."""
    with pytest.raises(ConfigError, match="https"):
        http_urls("http://tempo", TlsConfig())


def test_headers_are_lower_case():
    """gRPC metadata must be lower case, HTTP does not mind."""
    assert checked_headers({"Authorization": "Bearer x"}) == (("authorization", "Bearer x"),)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bad name", "v"),
        ("x-bin", "v"),
        ("", "v"),
        ("auth", "line\nbreak"),
        ("Content-Length", "3"),
        ("transfer-encoding", "chunked"),
        ("content-encoding", "gzip"),
    ],
)
def test_bad_headers(name, value):
    """Headers that cannot be sent are refused, without telling their value."""
    with pytest.raises(ConfigError) as failure:
        checked_headers({name: value})
    assert "line" not in str(failure.value)


def test_passing_headers_go_beside_our_own():
    """Ours win, and what cannot be sent is left out rather than refused."""
    passing = (("tenant", " a "), ("tenant", "b"), ("auth", "x"), ("te", "x"), ("Upper", "x"),
               ("x-bin", "x"), ("grpc-encoding", "gzip"), ("", "x"), ("a b", "x"), ("umlaut", "\u00e4"),
               ("line", "a\nb"))  # fmt: skip
    assert headers_beside((("auth", "ours"),), passing) == (("tenant", "a"), ("tenant", "b"))


def test_missing_tls_files_are_named(tmp_path):
    """A file that is not there is named, for either client."""
    tls = TlsConfig(ca_file=tmp_path / "missing.pem")
    with pytest.raises(ConfigError, match=r"missing\.pem"):
        tls.context()
    with pytest.raises(ConfigError, match=r"tls\.ca_file.*missing\.pem"):
        tls.pem()


def test_half_a_client_certificate_is_refused():
    """Certificate and key come together."""
    with pytest.raises(ConfigError, match="key_file"):
        TlsConfig(cert_file=Path("cert.pem"))


def test_an_unreadable_answer_rejects_nothing():
    """The status said success; a body that says nothing takes nothing back."""
    outcome = read_response(Signal.LOGS, b"<html>", 3)
    assert (outcome.accepted, outcome.rejected) == (3, 0)
    assert outcome.message == "the answer is no ExportLogsServiceResponse"


def test_foreign_messages_are_cut_and_printable():
    """A destination's words cannot fill or break the log."""
    assert shortened("a\nb\x1b[31m") == "a b [31m"
    assert len(shortened("x" * 10_000)) == 300

"""TLS with real handshakes: the right authority, the wrong one, and client certificates."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from pytest_httpserver import HTTPServer

from otel_raglog.errors import Unavailable
from otel_raglog_exporters.endpoint import TlsConfig
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.otlp_grpc import OtlpGrpcConfig, OtlpGrpcExporter
from otel_raglog_exporters.otlp_http import OtlpHttpConfig, OtlpHttpExporter

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    certificate: Path
    key: Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Return by name: an authority with a server's and a client's certificate, and a foreign one."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("tls")

    def issue(name: str, *options: str) -> Issued:
        issued = Issued(folder / f"{name}.pem", folder / f"{name}.key")
        files = ("-keyout", str(issued.key), "-out", str(issued.certificate))
        command = ["openssl", "req", "-x509", *KEY, "-subj", f"/CN={name}", "-days", "2"]
        subprocess.run([*command, *files, *options], check=True, capture_output=True)
        return issued

    authority = issue("authority", "-addext", "keyUsage=critical,keyCertSign")
    by = ("-CA", str(authority.certificate), "-CAkey", str(authority.key))
    leaf = (*by, "-addext", "basicConstraints=critical,CA:FALSE")
    return {
        "authority": authority,
        "server": issue("server", *leaf, "-addext", "subjectAltName=IP:127.0.0.1"),
        "client": issue("client", *leaf),
        "foreign": issue("foreign", "-addext", "keyUsage=critical,keyCertSign"),
    }


@pytest.fixture
def start_http(certificates):
    """Return a starter of an HTTPS receiver that returns its port."""
    servers = []

    def start(*, ask_client: bool) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server = certificates["server"]
        context.load_cert_chain(server.certificate, server.key)
        if ask_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(certificates["authority"].certificate)
        servers.append(HTTPServer(host="127.0.0.1", ssl_context=context))
        servers[-1].start()
        servers[-1].expect_request("/v1/traces").respond_with_data(b"")
        return servers[-1].port

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def start_grpc(certificates, start_grpc_receiver):
    """Return a starter of a gRPC receiver with TLS that returns its port."""

    def start(*, ask_client: bool) -> int:
        server = certificates["server"]
        credentials = grpc.ssl_server_credentials(
            [(server.key.read_bytes(), server.certificate.read_bytes())],
            certificates["authority"].certificate.read_bytes() if ask_client else None,
            ask_client,
        )
        return start_grpc_receiver(0, credentials).port

    return start


@pytest.fixture(params=["http", "grpc"])
def send(request, span, start_http, start_grpc):
    """Return a function that sends a span with TLS; with or without a receiver that asks for us."""

    def export(tls: TlsConfig, *, ask_client: bool = False) -> int:
        start = start_http if request.param == "http" else start_grpc
        endpoint = f"https://127.0.0.1:{start(ask_client=ask_client)}"
        exporter = (
            OtlpHttpExporter(OtlpHttpConfig(endpoint, tls=tls, timeout_seconds=5.0))
            if request.param == "http"
            else OtlpGrpcExporter(OtlpGrpcConfig(endpoint, tls=tls, timeout_seconds=2.0))
        )
        try:
            return exporter.export(encode_payload([span(1)])).accepted
        finally:
            exporter.close()

    return export


def test_the_right_authority(send, certificates):
    """A receiver whose certificate our authority signed is talked to."""
    assert send(TlsConfig(ca_file=certificates["authority"].certificate)) == 1


def test_the_wrong_authority_is_retryable(send, certificates):
    """Nothing is sent to it, and nothing given up: certificates are renewed."""
    with pytest.raises(Unavailable):
        send(TlsConfig(ca_file=certificates["foreign"].certificate))


def test_the_systems_roots_do_not_know_it(send):
    """Without an authority of its own, the configuration trusts public ones only."""
    with pytest.raises(Unavailable):
        send(TlsConfig())


def test_a_client_certificate(send, certificates):
    """A receiver that asks who we are is told."""
    client = certificates["client"]
    tls = TlsConfig(certificates["authority"].certificate, client.certificate, client.key)
    assert send(tls, ask_client=True) == 1


def test_without_a_client_certificate_it_is_retryable(send, certificates):
    """The receiver ends the handshake; nothing is given up."""
    with pytest.raises(Unavailable):
        send(TlsConfig(ca_file=certificates["authority"].certificate), ask_client=True)

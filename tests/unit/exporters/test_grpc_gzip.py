"""gRPC requests are compressed by us where the installed grpcio lets us, else by gRPC."""

from __future__ import annotations

import grpc
import pytest

from otel_raglog_exporters import grpc_gzip
from otel_raglog_exporters.compressing import gzip_body
from otel_raglog_exporters.grpc_gzip import gzip_call, takes_compressed

METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


@pytest.fixture
def channel(grpc_receiver):
    """Return a channel to the receiver."""
    with grpc.insecure_channel(f"127.0.0.1:{grpc_receiver.port}") as channel:
        yield channel


def test_the_installed_grpcio_takes_what_is_compressed():
    """Without this gRPC out costs ten times as much; a new grpcio that ends it is noticed here."""
    assert takes_compressed()


@pytest.mark.parametrize("trick", [True, False])
def test_the_receiver_gets_the_plain_bytes(grpc_receiver, channel, monkeypatch, trick):
    """It inflates them by itself, as with any client that compresses."""
    monkeypatch.setattr(grpc_gzip, "takes_compressed", lambda: trick)
    call = gzip_call(channel.unary_unary(METHOD))
    for body in (b"x", b"hello " * 100_000):
        call(body, timeout=5.0, metadata=(("tenant", "a"),))
        assert grpc_receiver.bodies.pop() == body
    assert grpc_receiver.metadata[0]["tenant"] == "a"


def test_it_is_our_gzip_that_is_sent(grpc_receiver, channel, monkeypatch):
    """Bytes are compressed once, by us."""
    packed = []

    def pack(body):
        packed.append(body)
        return gzip_body(b"packed " + body)

    monkeypatch.setattr(grpc_gzip, "gzip_body", pack)
    gzip_call(channel.unary_unary(METHOD))(b"body", timeout=5.0)
    assert packed == [b"body"]
    assert grpc_receiver.bodies == [b"packed body"]


def test_a_grpcio_of_another_make_compresses_by_itself(monkeypatch):
    """When the private way is gone, it is noticed before anything is sent."""

    def gone(_call):
        raise AttributeError("_prepare")

    monkeypatch.setattr(grpc_gzip, "_send_as_compressed", gone)
    assert not takes_compressed.__wrapped__()
    monkeypatch.setattr(grpc_gzip, "_send_as_compressed", lambda _call: None)
    assert not takes_compressed.__wrapped__()

"""HTTP held to a deadline, a size and few headers; the rest is in tests/contract."""

import shutil
import socket
import ssl
import subprocess
import threading
import time

import httpcore2
import httpx2
import pytest

from otel_raglog.clock import ManualClock, SystemClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge import limited_transport
from otel_raglog.judge.limited_transport import LimitedTransport


def client_of(**changes):
    options = {"headers": {}, "max_reply_bytes": 1_000, "connections": 2, "clock": SystemClock()}
    return httpx2.Client(transport=LimitedTransport(**{**options, **changes}), timeout=5)


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(10)
        yield listening


def url_of(listening, scheme="http"):
    return f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/v1"


def test_a_reply_of_the_limit_comes_through_and_one_byte_more_does_not(httpserver):
    """The limit is exact."""
    client = client_of(max_reply_bytes=10)
    httpserver.expect_ordered_request("/").respond_with_data("x" * 10)
    httpserver.expect_ordered_request("/").respond_with_data("x" * 11)
    assert client.get(httpserver.url_for("/")).text == "x" * 10
    with pytest.raises(Rejected) as caught:
        client.get(httpserver.url_for("/"))
    assert caught.value.reason == "too_large"


def test_only_the_headers_that_an_api_needs_are_sent(httpserver):
    """Those that are given win over those of the SDK, whatever their case."""
    httpserver.expect_request("/").respond_with_data("")
    client = client_of(headers={"authorization": "Bearer right"})
    own = {"X-Stainless-OS": "Linux", "Cookie": "a=b", "Authorization": "Bearer wrong"}
    client.post(httpserver.url_for("/"), headers=own, json={})
    sent = httpserver.log[0][0].headers
    assert sent.get_all("authorization") == ["Bearer right"]
    assert not {"X-Stainless-OS", "Cookie"} & set(sent.keys())
    assert sent["accept-encoding"] == "identity"


def test_connections_are_kept(listener):
    """Two requests, one connection."""
    accepted = []

    def serve():
        connection, _ = listener.accept()
        accepted.append(connection)
        with connection, connection.makefile("rb") as lines:
            for _ in range(2):
                while lines.readline() != b"\r\n":
                    pass
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    client = client_of()
    assert [client.get(url_of(listener)).status_code for _ in range(2)] == [204, 204]
    thread.join()
    assert len(accepted) == 1


def test_a_server_that_reads_slowly_is_given_up(listener):
    """A little at a time, so that no single step takes long."""
    over = threading.Event()

    def serve():
        connection, _ = listener.accept()
        with connection:
            while not over.wait(0.02):
                connection.recv(10_000)

    thread = threading.Thread(target=serve)
    thread.start()
    began = time.monotonic()
    with pytest.raises(Unavailable, match="no whole reply"):
        client_of().post(url_of(listener), content=b"x" * 20_000_000, timeout=0.4)
    assert time.monotonic() - began < 3
    over.set()
    thread.join()


def test_what_is_no_http_is_a_failed_connection_whose_text_is_not_repeated(listener):
    """It may be anybody's."""

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(1_000)
            connection.sendall(b"SSH-2.0-secret\r\n\r\n")

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(Unavailable) as caught:
        client_of().get(url_of(listener))
    thread.join()
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_certificate_that_nobody_vouches_for_is_no_connection(listener, tmp_path):
    """Nothing is sent to who cannot be trusted."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
    ]
    names = ["-subj", "/CN=self", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-nodes", "-days", "2", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def serve():
        for _ in range(2):
            connection, _ = listener.accept()
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(10_000)
                    secure.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            except OSError:
                connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(Unavailable, match=r"no connection: .*certificate"):
        client_of().get(url_of(listener, "https"))
    trusting = client_of(context=ssl.create_default_context(cafile=certificate))
    assert trusting.get(url_of(listener, "https")).status_code == 204
    thread.join()


def test_a_handshake_that_never_ends_is_given_up(listener):
    """The deadline is for it too."""
    with pytest.raises(Unavailable):
        client_of().get(url_of(listener, "https"), timeout=0.3)


def test_each_address_of_a_name_has_its_share_of_the_time(monkeypatch):
    """One that swallows packets leaves some for the next, and all together are in time."""
    clock, shares = ManualClock(), []

    def swallow(self, host, port, timeout, *_):
        shares.append((host, timeout))
        clock.advance(timeout)
        raise httpcore2.ConnectTimeout

    addresses = [(0, 0, 0, "", (name, 443)) for name in ("2001:db8::1", "192.0.2.1", "192.0.2.1")]
    monkeypatch.setattr(limited_transport.socket, "getaddrinfo", lambda *_, **__: addresses)
    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", swallow)
    with pytest.raises(Unavailable, match="no whole reply within 6 s"):
        client_of(clock=clock).get("https://llm.invalid", timeout=6)
    assert shares == [("2001:db8::1", 3.0), ("192.0.2.1", 3.0)]


def test_closed_connections_are_not_used_again(httpserver):
    """A transport can be closed twice."""
    httpserver.expect_request("/").respond_with_data("")
    client = client_of()
    client.get(httpserver.url_for("/"))
    client.close()
    client.close()
    assert client.is_closed


def test_once_it_is_closed_no_connection_is_tried_any_more(monkeypatch):
    """A server that drops what it is sent does not keep a process from ending."""
    transport = LimitedTransport(
        headers={}, max_reply_bytes=1_000, connections=2, clock=SystemClock()
    )
    tries = []

    def silent(_address, _port, timeout, *_):
        tries.append(timeout)
        transport.close()
        raise httpcore2.ConnectTimeout

    monkeypatch.setattr(transport._backend._inner, "connect_tcp", silent)
    client = httpx2.Client(transport=transport, timeout=60)
    with pytest.raises(Unavailable, match="no connection"):
        client.get("http://127.0.0.1:9/")
    assert tries == [pytest.approx(3.0)]

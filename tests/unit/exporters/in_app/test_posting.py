"""Requests to the door, over real sockets: what is sent, what is tried again, what is not."""

import contextlib
import gzip
import shutil
import socket
import ssl
import subprocess
import threading

import pytest
from in_app_kit import FakeDoor, running_door
from ports import free_port

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog_exporters.in_app.posting import Door, is_too_large
from otel_raglog_exporters.in_app.settings import InAppConfig


@pytest.fixture
def fake():
    """Return a door that answers as told."""
    with running_door() as door:
        yield door


@pytest.fixture
def connect():
    """Return a maker of doors, which are closed afterwards."""
    doors = []

    def make(fake: FakeDoor | str, **options):
        endpoint = fake if isinstance(fake, str) else fake.endpoint
        doors.append(Door(InAppConfig(endpoint=endpoint, **options), ManualClock(1_000_000_000)))
        return doors[-1]

    yield make
    for door in doors:
        door.close()


def test_a_request_is_otlp_json_with_the_headers_given(fake, connect):
    """To this machine it is not compressed: that would cost the application's processor."""
    assert connect(fake, headers={"Authorization": "Bearer t"}).post(b"{}") == ""
    ((path, headers, body),) = fake.requests
    assert (path, body) == ("/v1/traces", b"{}")
    assert headers["content-type"] == "application/json"
    assert headers["authorization"] == "Bearer t"
    assert "content-encoding" not in headers


def test_a_request_is_compressed_where_that_is_asked_for(fake, connect):
    """The header says so, and the body is what was given."""
    connect(fake, compression="gzip").post(b"{}" * 100)
    ((_, headers, body),) = fake.requests
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(body) == b"{}" * 100


def test_a_connection_is_kept_and_its_loss_is_no_failure(fake, connect):
    """Servers close what is idle: the next request makes a new one, without being told off."""
    door = connect(fake)
    door.post(b"1")
    door.post(b"2")
    assert fake.connections == 1
    door._connection.sock.shutdown(socket.SHUT_RDWR)
    door.post(b"3")
    assert fake.connections == 2
    assert [body for _, _, body in fake.requests] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_localhost_is_either_address(connect, host, monkeypatch):
    """The name leads to IPv6 first on many systems; a sidecar listens on one of the two."""
    try:
        fake = FakeDoor(host)
    except OSError:
        pytest.skip(f"no {host} here")

    def addresses(name, port, *rest):
        assert name in {"localhost", host}
        kind = (socket.SOCK_STREAM, 6, "")
        six, four = (
            (socket.AF_INET6, *kind, ("::1", port, 0, 0)),
            (socket.AF_INET, *kind, ("127.0.0.1", port)),
        )
        return [six, four] if name == "localhost" else [six if ":" in host else four]

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    try:
        connect(fake).post(b"{}")
        connect(f"http://{f'[{host}]' if ':' in host else host}:{fake.port}").post(b"{}")
        assert len(fake.requests) == 2
    finally:
        fake.close()


def test_no_proxy_is_used(fake, connect, monkeypatch):
    """The sidecar is beside the application; HTTP_PROXY leads out of the house."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    connect(fake).post(b"{}")
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (503, {"retry-after": "7"}, 7.0),
        (429, {"retry-after": "Sun, 09 Sep 2001 01:47:10 GMT"}, 30.0),
        (502, {}, None),
        (504, {"retry-after": "soon"}, None),
        (503, {"retry-after": "Mon, 01 Jan 1990 00:00:00 GMT"}, 0.0),
    ],
)
def test_what_passes_is_unavailable_for_as_long_as_the_answer_says(
    fake, connect, status, headers, seconds
):
    """Retry-After is seconds or a date."""
    fake.answers.append((status, headers, b"busy"))
    with pytest.raises(Unavailable, match=f"answered {status}: busy") as failure:
        connect(fake).post(b"{}")
    assert failure.value.retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "odd"), (401, "OTEL_EXPORTER_RAGLOG_HEADERS"), (404, "otel-raglog's HTTP door"),
        (415, "OTLP/JSON"), (413, "odd"), (500, "odd"), (307, "odd"),
    ],
)  # fmt: skip
def test_what_does_not_pass_is_refused_and_says_what_to_do(fake, connect, status, words):
    """Also a redirect: spans follow none."""
    fake.answers.append((status, {}, b"odd"))
    with pytest.raises(Rejected, match=words) as refusal:
        connect(fake).post(b"{}")
    assert refusal.value.reason == f"http_{status}"
    assert is_too_large(refusal.value) == (status == 413)


def test_nobody_there_is_unavailable(connect):
    """A refused connection, named by its address."""
    port = free_port()
    with pytest.raises(Unavailable, match=f"localhost:{port}: ConnectionRefusedError"):
        connect(f"http://localhost:{port}").post(b"{}")


def test_a_door_that_hangs_is_unavailable_after_the_time_given(fake, connect):
    """And what it says later belongs to no other request."""
    fake.stuck = True
    door = connect(fake)
    with pytest.raises(Unavailable, match="TimeoutError"):
        door.post(b"1", 0.05)
    fake.stuck = False
    fake.answers.append((200, {}, b'{"partialSuccess": {"rejectedSpans": "2"}}'))
    door.post(b"2")
    assert fake.connections == 2


def test_an_answer_that_drips_is_given_up_in_time():
    """Each byte comes at once, and would begin a socket's own time-out anew."""

    class Hasty(ManualClock):
        def monotonic(self):
            return self.advance(0.3)

    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip():
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while True:
                    connection.sendall(b"x: " + b"y" * 30_000 + b"\r\n")

        threading.Thread(target=drip, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        door = Door(InAppConfig(endpoint=endpoint, timeout_seconds=2.0), Hasty())
        with pytest.raises(Unavailable, match="did not end in time"):
            door.post(b"{}")
        assert door._connection is None


def test_an_answer_that_ends_with_its_connection_is_read(fake, connect):
    """As of servers that keep none."""
    fake.answers.append((503, {"connection": "close"}, b"try later"))
    door = connect(fake)
    with pytest.raises(Unavailable, match="try later"):
        door.post(b"{}")
    assert door.post(b"{}") == ""


def test_a_request_that_waits_is_broken_off_by_closing(fake, connect):
    """Shutdown does not wait for a door that hangs."""
    fake.stuck = True
    door, failures = connect(fake, timeout_seconds=600), []

    def post():
        try:
            door.post(b"{}")
        except Unavailable as failure:
            failures.append(failure)

    thread = threading.Thread(target=post, daemon=True)
    thread.start()
    fake.wait()
    door.close()
    thread.join(20)
    assert len(failures) == 1


def test_a_grpc_port_is_unavailable_and_warned_of(connect, caplog):
    """What answers there is no HTTP/1.1; the usual number is known beforehand."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(10)
                connection.sendall(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80")

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(Unavailable):
            connect(f"http://127.0.0.1:{server.getsockname()[1]}").post(b"{}")
    assert not caplog.records
    connect("http://sidecar:4317")
    assert "speaks HTTP, whose is 4318" in caplog.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b'{"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}}', "3 spans were refused: too old"),
        (b'{"partialSuccess": {"errorMessage": "be nice"}}', ""),
        (b"{}", ""), (b"", ""), (b"ok", ""), (b"[1]", ""), (b'{"partialSuccess": 5}', ""),
        (b"[" * 20_000, ""), (b"\xff\xfe", ""),
    ],
)  # fmt: skip
def test_an_answer_tells_of_refused_spans_and_no_odd_one_fails(fake, connect, answer, said):
    """The request was taken whatever the answer's body looks like."""
    fake.answers.append((200, {}, answer))
    assert connect(fake).post(b"{}") == said


def test_an_answer_without_end_is_not_read_to_its_end(fake, connect):
    """The connection goes, the next request has another."""
    fake.answers.append((200, {}, b"x" * 1_000_000))
    door = connect(fake)
    assert door.post(b"1") == ""
    assert door.post(b"2") == ""
    assert fake.connections == 2


def test_a_web_page_is_no_otlp_receiver(fake, connect):
    """A login page answers 200: nobody took the spans."""
    fake.answers.append((200, {"content-type": "text/html"}, b"<h1>Log in</h1>"))
    with pytest.raises(Unavailable, match="Log in"):
        connect(fake).post(b"{}")


def test_tls_is_verified_by_the_file_given(connect, tmp_path):
    """The right authority lets us in and the connection is kept; without it nobody is trusted."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with")
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
    ]
    command += [
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-days",
        "2",
        "-addext",
        "subjectAltName=DNS:localhost",
    ]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with running_door(tls=context) as fake:
        endpoint = fake.endpoint.replace("http:", "https:")
        door = connect(endpoint, ca_file=str(certificate))
        door.post(b"1")
        door.post(b"2")
        assert fake.connections == 1
        door.close()
        with pytest.raises(Unavailable, match="CERTIFICATE_VERIFY_FAILED"):
            connect(endpoint).post(b"3")
    assert [body for _, _, body in fake.requests] == [b"1", b"2"]


def test_a_file_that_is_no_certificate_leaves_the_door_unavailable(connect, tmp_path):
    """It may be there later; nothing else is raised."""
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")
    with pytest.raises(Unavailable):
        connect(f"https://localhost:{free_port()}", ca_file=str(file)).post(b"{}")

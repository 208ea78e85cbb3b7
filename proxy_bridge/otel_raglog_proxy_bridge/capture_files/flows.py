"""mitmproxy's flow files to raw calls, without mitmproxy.

What is read of a flow has had the same names and places in every version since 7, so no version is
asked for. Bodies are as they went over the wire. Flows of TCP, UDP, DNS and WebSockets, and the
``CONNECT`` of a tunnel, are left out and counted. A comment may say anything and is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from otel_raglog_proxy_bridge.capture_files import tnetstrings
from otel_raglog_proxy_bridge.capture_files.raw_values import (
    DamagedItem,
    Note,
    clean,
    headers_of,
    mapping_at,
    method_of,
    nanoseconds,
    status_of,
    url_of,
)
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import Headers, RawCall

State = Mapping[str, object]

_SUFFIXES = frozenset({".mitm", ".flow", ".flows", ".dump"})
_BEGINNING = re.compile(rb"[0-9]{1,12}:[0-9]{1,3}:[a-z_]{1,40}[;,]")
_OTHER_KINDS = frozenset({"tcp", "udp", "dns", "websocket"})
_AUTHORITY = re.compile(r"[^\s/@?#\\]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def matches(suffix: str, content: bytes) -> bool:
    """Return whether ``content`` begins as a flow file, or is binary and named as one."""
    if _BEGINNING.match(content):
        return True
    return suffix in _SUFFIXES and content.lstrip()[:1] not in {b"{", b"["}


def read(content: bytes) -> Iterator[RawCall | str]:
    """Yield the calls of a flow file in its order, and sentences on what could not be read."""
    left_out: Counter[str] = Counter()
    for number, item in enumerate(tnetstrings.read_items(content), 1):
        if isinstance(item, tnetstrings.Damage):
            rest = "; nothing after it can be read" if item.rest_lost else ""
            yield f"flow {number} is damaged: {item.reason}{rest}"
        elif not isinstance(item, Mapping):
            yield f"flow {number} is damaged: it is no dictionary"
        elif reason := _why_left_out(item):
            left_out[reason] += 1
        else:
            try:
                yield call_of(item, number)
            except DamagedItem as error:
                yield f"flow {number} is damaged: {error}"
    for reason, count in sorted(left_out.items()):
        flows = "flow left out: it holds" if count == 1 else "flows left out: they hold"
        yield Note(f"{count} {reason} {flows} no HTTP call")


def call_of(state: State, number: int = 1) -> RawCall:
    """Return the call of an HTTP flow's state, as a flow file or ``flow.get_state()`` has it.

    ``number`` stands in for an id that is missing.

    Raises:
        DamagedItem: it has no request that can be told.
    """
    request = mapping_at(state, "request")
    response = state.get("response")
    answer: State = response if isinstance(response, Mapping) else {}
    failure = state.get("error")
    error: State = failure if isinstance(failure, Mapping) else {}
    connection = state.get("client_conn")
    client: State = connection if isinstance(connection, Mapping) else {}
    headers = headers_of(request.get("headers"))
    started = nanoseconds(request.get("timestamp_start"))
    ends = (answer.get("timestamp_end"), error.get("timestamp"), answer.get("timestamp_start"))
    return RawCall(
        id=_text(state, "id") or str(number),
        method=method_of(_text(request, "method")),
        url=url_of(_url(request, headers)),
        status=status_of(answer.get("status_code")),
        request_headers=headers,
        response_headers=headers_of(answer.get("headers")),
        request_body=_content(request),
        response_body=_content(answer),
        started_ns=started,
        ended_ns=next((found for end in ends if (found := nanoseconds(end))), started),
        side=_side(client),
        client=_client(client),
        error=_text(error, "msg"),
        cut=frozenset({"response"} if answer and error else ()),
    )


def _why_left_out(state: State) -> str:
    kind = _text(state, "type") or "http"
    if kind != "http":
        return kind if kind in _OTHER_KINDS else "unknown"
    if state.get("websocket"):
        return "websocket"
    request = state.get("request")
    tunnel = isinstance(request, Mapping) and _text(request, "method").upper() == "CONNECT"
    return "CONNECT" if tunnel else ""


def _side(client: State) -> Side:
    mode = _text(client, "proxy_mode")
    return Side.FRONT if mode.startswith("reverse:") else Side.OUTBOUND


def _client(client: State) -> str:
    """Return the client's address, as the live add-on tells it; versions before 10 name it so."""
    peer = client.get("peername") or client.get("address")
    if not isinstance(peer, list | tuple):
        return _text(client, "id")
    return ":".join(_text({"part": part}, "part") or str(part) for part in peer[:2])


def _url(request: State, headers: Headers) -> str:
    """Return the URL by the name that the client asked for: a transparent proxy sees addresses."""
    scheme = _text(request, "scheme").lower()
    path = _text(request, "path")
    named = next((value for name, value in headers if name.lower() == "host"), "")
    if not _text(request, "http_version").startswith("HTTP/1"):
        named = _text(request, "authority") or named
    if not _AUTHORITY.fullmatch(named):
        named = _address(request, scheme)
    return f"{scheme}://{named}{'' if path == '*' else path}"


def _address(request: State, scheme: str) -> str:
    host, port = _text(request, "host"), request.get("port")
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    if not isinstance(port, int) or port == _DEFAULT_PORTS.get(scheme):
        return host
    return f"{host}:{port}"


def _content(message: State) -> bytes:
    found = message.get("content")
    return found if isinstance(found, bytes) else b""


def _text(state: State, key: str) -> str:
    found = state.get(key)
    if isinstance(found, bytes):
        return found.decode("utf-8", "replace")
    return clean(found) if isinstance(found, str) else ""

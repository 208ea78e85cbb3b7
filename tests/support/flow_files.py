"""Hand-made flow files: the tnetstrings that mitmproxy writes, made without mitmproxy."""

from __future__ import annotations


def dumps(value) -> bytes:
    """Return ``value`` as a tnetstring."""
    if value is None:
        return b"0:~"
    if isinstance(value, bool):
        payload, kind = str(value).lower().encode(), b"!"
    elif isinstance(value, int):
        payload, kind = str(value).encode(), b"#"
    elif isinstance(value, float):
        payload, kind = repr(value).encode(), b"^"
    elif isinstance(value, bytes):
        payload, kind = value, b","
    elif isinstance(value, str):
        payload, kind = value.encode(), b";"
    elif isinstance(value, dict):
        payload, kind = b"".join(dumps(part) for pair in value.items() for part in pair), b"}"
    else:
        payload, kind = b"".join(dumps(part) for part in value), b"]"
    return b"%d:%s%s" % (len(payload), payload, kind)


def http_flow(**changes) -> dict:
    """Return the state of an HTTP flow, as version 21 has it; parts are merged one level deep."""
    state = {
        "websocket": None,
        "request": {
            "host": "10.0.0.7",
            "port": 443,
            "method": b"POST",
            "scheme": b"https",
            "authority": b"",
            "path": b"/v1/embeddings?x=1",
            "http_version": b"HTTP/1.1",
            "headers": [[b"Host", b"api.example.com"], [b"Content-Type", b"application/json"]],
            "content": b'{"input":"hi"}',
            "trailers": None,
            "timestamp_start": 1795982981.25,
            "timestamp_end": 1795982981.5,
        },
        "response": {
            "http_version": b"HTTP/1.1",
            "status_code": 200,
            "reason": b"OK",
            "headers": [[b"content-type", b"application/json"]],
            "content": b'{"data":[]}',
            "trailers": None,
            "timestamp_start": 1795982982.0,
            "timestamp_end": 1795982983.125,
        },
        "client_conn": {"id": "conn-1", "peername": ["127.0.0.1", 4001], "proxy_mode": "regular"},
        "server_conn": {"id": "server-1", "address": ["10.0.0.7", 443]},
        "error": None,
        "id": "flow-1",
        "comment": "stage=llm",
        "type": "http",
        "version": 21,
    }
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(state.get(key), dict)
        state[key] = {**state[key], **value} if both else value
    return state

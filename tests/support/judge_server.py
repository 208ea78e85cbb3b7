"""A scripted LLM over real sockets: the Anthropic Messages API and the OpenAI chat API.

::

    from judge_behaviours import after, fails, resets, says

    with JudgeServer() as server:
        client = ...(server.url_anthropic)  # or server.url_openai
        server.script(fails(429, retry_after="2"), resets())  # then `answer` again
        server.answer = lambda request: says({"any_fault": 90})  # or a str, or None: sound
        server.delays["graded_stage"] = 0.2  # seconds, by check
        server.refused_parameters.add("json_schema")  # 400, as older servers do
        server.logprobs = False
        server.key = "sk-1"  # 401 for any other
        ...
        assert server.count("graded_stage") == 1 and server.peak == 5

Without a script all five checks get answers by which the run is sound, and any other schema its
smallest value. What ``answer`` raises is raised again when the server ends.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import json
import math
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from judge_behaviours import Behaviour, check_of, sound_answer

_CHARS_PER_TOKEN = 4
_FEW_LOGPROBS = 5
_ANTHROPIC, _OPENAI = "anthropic", "openai"
_PROTOCOLS = {
    "/v1/messages": _ANTHROPIC,
    "/v1/chat/completions": _OPENAI,
    "/chat/completions": _OPENAI,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request that arrived. ``arrived`` is monotonic time; header names are in lower case."""

    arrived: float
    protocol: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    check: str | None

    @property
    def system(self) -> str:
        """The system prompt."""
        if self.protocol == _ANTHROPIC:
            system = self.body.get("system", "")
            return system if isinstance(system, str) else "".join(item["text"] for item in system)
        return "".join(_texts(self.body, "system"))

    @property
    def prompt(self) -> str:
        """The user's turns, joined."""
        return "".join(_texts(self.body, "user"))

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the API was told to enforce."""
        return _schema(self.protocol, self.body)


class JudgeServer:
    """Answers from its script first, then from ``answer``.

    ``refused_parameters`` may hold ``json_schema``, ``json_object``, ``max_tokens``,
    ``temperature``, ``reasoning_effort``, ``logprobs``, ``top_logprobs`` (more than five) and
    ``thinking`` (to do without): requests with them get 400. So do schemas that the APIs do not
    take.
    """

    def __init__(
        self,
        answer: Callable[[Recorded], str | Behaviour | None] = lambda _: None,
        *,
        port: int = 0,
    ) -> None:
        self.answer = answer
        self.delays: dict[str, float] = {}
        self.refused_parameters: set[str] = set()
        self.logprobs = True
        self.key: str | None = None
        self.requests: list[Recorded] = []
        self.errors: list[BaseException] = []
        self.peak = 0
        self._open = 0
        self._script: deque[Behaviour] = deque()
        self._systems: set[str] = set()
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.judge = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        if self.errors and kind is None:
            raise self.errors[0]

    @property
    def url(self) -> str:
        """``http://127.0.0.1:port``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url_anthropic(self) -> str:
        """The base URL for the Anthropic client."""
        return self.url

    @property
    def url_openai(self) -> str:
        """The base URL for OpenAI clients."""
        return f"{self.url}/v1"

    def script(self, *behaviours: Behaviour) -> None:
        """Give these to the next requests, one each."""
        with self._lock:
            self._script.extend(behaviours)

    def count(self, check: str | None = None) -> int:
        """Return how many requests came, of one check or of all."""
        with self._lock:
            return sum(check in {None, item.check} for item in self.requests)

    # ------------------------------------------------------------------- what handlers call

    @contextlib.contextmanager
    def received(self, request: Recorded) -> Iterator[Behaviour]:
        """Record a request, and yield what to do with it while it counts as open."""
        with self._lock:
            self.requests.append(request)
            self._open += 1
            self.peak = max(self.peak, self._open)
            scripted = self._script.popleft() if self._script else None
        try:
            yield scripted or self._behaviour(request)
        finally:
            with self._lock:
                self._open -= 1

    def wait(self, seconds: float) -> None:
        """Sleep, but not longer than the server lives."""
        if seconds > 0:
            self.closing.wait(seconds)

    def is_cached(self, system: str) -> bool:
        """Tell whether a system prompt came before; the first time it did not."""
        with self._lock:
            known = system in self._systems
            self._systems.add(system)
            return known

    def _behaviour(self, request: Recorded) -> Behaviour:
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return Behaviour(status=401)
        wrong = _wrong_schema(request)
        if wrong is not None:
            return Behaviour(status=400, message=wrong)
        for name in _parameters(request) & self.refused_parameters:
            parameter = "response_format" if name.startswith("json_") else name
            message = f"Unsupported parameter: '{parameter}' is not supported with this model."
            if name == "max_tokens":
                message += " Use 'max_completion_tokens' instead."
            return Behaviour(status=400, message=message, parameter=parameter)
        answer = self.answer(request)
        return answer if isinstance(answer, Behaviour) else Behaviour(answer)


def _parameters(request: Recorded) -> set[str]:
    body = request.body
    if request.protocol == _ANTHROPIC:
        return {"thinking"} if body.get("thinking") == {"type": "disabled"} else set()
    kind = body.get("response_format", {}).get("type")
    few = body.get("top_logprobs", 0) <= _FEW_LOGPROBS
    return {*body, *([kind] if kind else [])} - ({"top_logprobs"} if few else set())


def _wrong_schema(request: Recorded) -> str | None:
    """Return what the API would have against the schema: bounds, or objects that are not closed."""
    nodes = list(_nodes(request.schema or {}))
    if any(
        set(node.get("required", ())) != set(node["properties"])
        for node in nodes
        if "properties" in node
    ):
        return "Invalid schema: 'required' must hold every key of 'properties'"
    if any(node.get("additionalProperties") is not False for node in nodes if "properties" in node):
        return "Invalid schema: 'additionalProperties' must be false"
    bounds = {"minimum", "maximum", "maxItems", "minLength", "maxLength"}
    found = {key for node in nodes if "type" in node for key in node} & bounds
    if request.protocol == _ANTHROPIC and found:
        return f"output_config.format.schema: property '{min(found)}' is not supported"
    return None


def _nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, list):
        for item in schema:
            yield from _nodes(item)
    elif isinstance(schema, dict):
        yield schema
        for item in schema.values():
            yield from _nodes(item)


def _texts(body: Mapping[str, Any], role: str) -> Iterator[str]:
    for message in body.get("messages", ()):
        if message["role"] == role:
            content = message["content"]
            yield content if isinstance(content, str) else "".join(part["text"] for part in content)


def _schema(protocol: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if protocol == _ANTHROPIC:
        found = (body.get("output_config") or {}).get("format", {}).get("schema")
    else:
        found = body.get("response_format", {}).get("json_schema", {}).get("schema")
    return found if isinstance(found, dict) else None


def _tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARS_PER_TOKEN)


# -------------------------------------------------------------------------- bodies of the APIs


def _message(server: JudgeServer, request: Recorded, behaviour: Behaviour) -> dict[str, Any]:
    text = _text(request, behaviour)
    system, cached = _tokens(request.system), server.is_cached(request.system)
    marked = isinstance(request.body.get("system"), list)
    stop = "refusal" if behaviour.refused else "max_tokens" if behaviour.truncated else "end_turn"
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": request.body["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop, "stop_sequence": None,
        "usage": {
            "input_tokens": _tokens(request.prompt) + (0 if marked else system),
            "output_tokens": _tokens(text),
            "cache_read_input_tokens": system if marked and cached else 0,
            "cache_creation_input_tokens": system if marked and not cached else 0,
        },
    }  # fmt: skip


def _completion(server: JudgeServer, request: Recorded, behaviour: Behaviour) -> dict[str, Any]:
    probabilities = behaviour.first_tokens
    asked = bool(request.body.get("logprobs"))
    if asked and probabilities is None:
        probabilities = {"No": 0.9, "Yes": 0.1}
    text = max(probabilities, key=probabilities.__getitem__) if probabilities else None
    text = text or _text(request, behaviour)
    system, cached = _tokens(request.system), server.is_cached(request.system)
    message = {"role": "assistant", "content": text, "refusal": None}
    if behaviour.refused:
        message |= {"content": None, "refusal": text}
    choice: dict[str, Any] = {
        "index": 0, "message": message, "logprobs": None,
        "finish_reason": "length" if behaviour.truncated else "stop",
    }  # fmt: skip
    if asked and server.logprobs and probabilities:
        top = [_logprob(token, share) for token, share in probabilities.items()]
        top.sort(key=lambda item: -item["logprob"])
        choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}], "refusal": None}
    prompt, completion = system + _tokens(request.prompt), _tokens(text)
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": request.body["model"],
        "choices": [choice],
        "usage": {
            "prompt_tokens": prompt, "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": system if cached else 0},
        },
    }  # fmt: skip


def _logprob(token: str, share: float) -> dict[str, Any]:
    return {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}


def _text(request: Recorded, behaviour: Behaviour) -> str:
    if behaviour.text is not None:
        return behaviour.text
    return sound_answer(request.schema, request.check)


# ------------------------------------------------------------------------------------- HTTP


class _Server(http.server.ThreadingHTTPServer):
    judge: JudgeServer
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep what went wrong in a test's own ``answer``; broken connections are to be expected."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self.judge.errors.append(error)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        arrived = time.monotonic()
        length = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(length)
        if len(body) < length:  # whoever asked gave up
            self.close_connection = True
            return
        protocol = _PROTOCOLS.get(self.path)
        if protocol is None:
            self._send(Behaviour(status=404), b"{}")
            return
        judge = self.server.judge
        request = _recorded(arrived, protocol, self.path, self.headers, json.loads(body))
        with judge.received(request) as behaviour:
            delay = judge.delays.get(request.check or "", 0.0)
            judge.wait(max(behaviour.delay, delay))
            if behaviour.status != 200:
                answer: Any = behaviour.error(protocol)
            elif protocol == _ANTHROPIC:
                answer = _message(judge, request, behaviour)
            else:
                answer = _completion(judge, request, behaviour)
            raw = json.dumps(answer).encode() if behaviour.raw is None else behaviour.raw
            self._send(behaviour, raw)

    def _send(self, behaviour: Behaviour, body: bytes) -> None:
        headers = {"content-type": "application/json", **behaviour.headers}
        lines = [f"HTTP/1.1 {behaviour.status} Scripted"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([*lines, f"content-length: {len(body)}", "", ""]).encode()
        with contextlib.suppress(OSError):
            if behaviour.drip_headers:
                self._drip(head, behaviour.drip)
            else:
                self.wfile.write(head)
            if behaviour.reset:
                self.wfile.write(body[: len(body) // 2])
                self._reset()
            elif behaviour.drip:
                self._drip(body, behaviour.drip)
            else:
                self.wfile.write(body)

    def _drip(self, data: bytes, seconds: float) -> None:
        for number in data:
            if self.server.judge.closing.is_set():
                break
            self.wfile.write(bytes((number,)))
            self.server.judge.wait(seconds)

    def _reset(self) -> None:
        """Close so that the other side sees a reset rather than an end."""
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
        """Say nothing."""


def _recorded(
    arrived: float, protocol: str, path: str, headers: Mapping[str, str], body: dict[str, Any]
) -> Recorded:
    named = {name.lower(): value for name, value in headers.items()}
    schema = _schema(protocol, body)
    text = "".join([*_texts(body, "system"), *_texts(body, "user")])
    return Recorded(arrived, protocol, path, named, body, check_of(schema, text))


def main() -> None:
    """Serve sound answers until interrupted, to try commands by hand."""
    parser = argparse.ArgumentParser(description="A scripted LLM: sound answers to all checks.")
    parser.add_argument("--port", type=int, default=0)
    with (
        JudgeServer(port=parser.parse_args().port) as server,
        contextlib.suppress(KeyboardInterrupt),
    ):
        print(f"OTEL_RAGLOG_JUDGE__ENDPOINT={server.url_anthropic}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

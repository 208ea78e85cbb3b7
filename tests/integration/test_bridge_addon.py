"""A pipeline's calls through a real mitmdump with the add-on in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path

import pytest
from bridge_servers import listens, running_mitmdump
from bridge_traffic import (
    PATIENCE_SECONDS,
    Sidecar,
    answer,
    begin_chunks,
    exchanged,
    running_server,
    through,
    write_chunk,
)
from ports import free_port

pytestmark = pytest.mark.skipif(find_spec("mitmproxy") is None, reason="mitmproxy is not installed")

ADDON = (
    Path(__file__).resolve().parents[2] / "proxy_bridge" / "otel_raglog_proxy_bridge" / "addon.py"
)
QUESTION = "How many days of leave do employees in Norway get?"
CHUNK = "Employees in Norway get 25 working days of leave."
ANSWER = "They get 25 working days."
VECTOR = [0.25, -0.5, 0.125]


@dataclass(frozen=True)
class Bridge:
    """A running mitmdump: its ports, what it logs and the folder where it may write."""

    proxy: int
    front: int
    folder: Path

    @property
    def log(self) -> str:
        return (self.folder / "mitmdump.log").read_text()


@contextmanager
def running_bridge(
    folder: Path, sidecar: int, *arguments: str, front_of: int = 0, addon: Path = ADDON
) -> Iterator[Bridge]:
    front = free_port()
    options = ["-s", str(addon), "--set", f"raglog_endpoint=http://127.0.0.1:{sidecar}"]
    options += ["--set", "raglog_quiet_seconds=0.2", *arguments]
    if front_of:
        options += ["--mode", f"reverse:http://127.0.0.1:{front_of}@127.0.0.1:{front}"]
    with running_mitmdump(folder, *options) as proxy:
        while front_of and not listens(front):
            pass
        yield Bridge(proxy, front, folder)


def chat_answer(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    ).encode()


def chat_event(text: str) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [{"delta": {"content": text}}]}).encode()


def chat_request(text: str, **more: object) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def models(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    """Answer as a server of embeddings, a vector database and a chat model."""
    if handler.path.endswith("/embeddings"):
        answer(handler, json.dumps({"data": [{"index": 0, "embedding": VECTOR}]}).encode())
    elif handler.path.endswith("/points/search"):
        found = [{"id": 7, "score": 0.9, "payload": {"text": CHUNK}}]
        answer(handler, json.dumps({"result": found, "status": "ok"}).encode())
    else:
        answer(handler, chat_answer(ANSWER))


def attributes(span: dict) -> dict[str, object]:
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def of_kind(spans: list[dict], kind: str) -> list[dict[str, object]]:
    found = [attributes(span) for span in spans]
    return [each for each in found if each.get("openinference.span.kind") == kind]


def test_a_stream_passes_chunk_by_chunk(tmp_path):
    """Each chunk reaches the client before the server writes the next; the span has the whole answer."""
    seen = threading.Semaphore(0)
    pieces = ["They ", "get ", "25 ", "days."]

    def respond(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        begin_chunks(handler)
        for piece in pieces:
            write_chunk(handler, chat_event(piece))
            assert seen.acquire(timeout=PATIENCE_SECONDS)
        write_chunk(handler, b"data: [DONE]\n\n")
        write_chunk(handler, b"")

    sidecar = Sidecar()
    with (
        running_server(respond) as api,
        running_server(sidecar.respond) as port,
        running_bridge(tmp_path, port) as bridge,
    ):
        url = f"http://127.0.0.1:{api}/v1/chat/completions"
        body = json.dumps(chat_request(QUESTION, stream=True)).encode()
        connection, response = through(bridge.proxy, url, body)
        for piece in pieces:
            expected = chat_event(piece)
            assert response.read(len(expected)) == expected
            seen.release()
        assert response.read() == b"data: [DONE]\n\n"
        connection.close()
    (span,) = of_kind(sidecar.spans, "LLM")
    assert span["llm.output_messages.0.message.content"] == "They get 25 days."


def test_an_upload_passes_chunk_by_chunk(tmp_path):
    """The server gets the first chunk of a request before the client sends the second."""
    arrived = threading.Event()
    body = json.dumps(chat_request(QUESTION)).encode()

    def chunks() -> Iterator[bytes]:
        yield body[:10]
        assert arrived.wait(PATIENCE_SECONDS)
        yield body[10:]

    sidecar = Sidecar()
    with (
        running_server(models, first_bytes=arrived) as api,
        running_server(sidecar.respond) as port,
        running_bridge(tmp_path, port) as bridge,
    ):
        url = f"http://127.0.0.1:{api}/v1/chat/completions"
        connection, response = through(bridge.proxy, url, chunks())
        assert response.read() == chat_answer(ANSWER)
        connection.close()
    (span,) = of_kind(sidecar.spans, "LLM")
    assert span["llm.input_messages.0.message.content"] == QUESTION


def sidecar_down() -> Iterator[int]:
    yield free_port()


def sidecar_silent() -> Iterator[int]:
    sidecar = Sidecar()
    sidecar.hold.clear()
    with running_server(sidecar.respond) as port:
        yield port
        sidecar.hold.set()


def sidecar_failing() -> Iterator[int]:
    with running_server(Sidecar([500] * 1000).respond) as port:
        yield port


def sidecar_overloaded() -> Iterator[int]:
    with running_server(Sidecar([503] * 1000).respond) as port:
        yield port


@pytest.mark.parametrize(
    ("state", "logged"),
    [
        (sidecar_down, "no answer (ConnectionRefusedError)"),
        (sidecar_silent, "spans_dropped_shutdown 30"),
        (sidecar_failing, "status 500, for good"),
        (sidecar_overloaded, "status 503"),
    ],
)
def test_a_sidecar_in_trouble(tmp_path, state, logged):
    """Whatever the sidecar does, the pipeline's calls pass as ever; the trouble is logged once."""
    with running_server(models) as api, contextmanager(state)() as port:
        with running_bridge(tmp_path, port) as bridge:
            url = f"http://127.0.0.1:{api}/v1/chat/completions"
            for number in range(30):
                data = chat_request(f"{QUESTION} {number}")
                assert exchanged(bridge.proxy, url, data) == chat_answer(ANSWER)
        assert bridge.log.count(logged) == 1
    assert bridge.log.count("WARNING") + bridge.log.count("sending spans") <= 2


BREAKING = """
def _fail(*args, **kwargs):
    raise RuntimeError("planted-message")
{0} = _fail
"""


@pytest.mark.parametrize(
    ("module", "broken", "logged"),
    [
        ("line", "Line.add", "a call was left out: RuntimeError"),
        ("handover", "Handover.begin", "requestheaders failed: RuntimeError"),
        ("handover", "Handover.put", "response failed: RuntimeError"),
        ("capture_process", "main", "the capturing process ended"),
    ],
)
def test_a_broken_add_on(tmp_path, module, broken, logged):
    """An error inside the add-on passes traffic on, and is logged once, without its message."""
    copy = tmp_path / "otel_raglog_proxy_bridge"
    shutil.copytree(ADDON.parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / f"{module}.py").open("a") as source:
        source.write(BREAKING.format(broken))
    sidecar = Sidecar()
    with (
        running_server(models) as api,
        running_server(sidecar.respond) as port,
        running_bridge(tmp_path, port, addon=copy / "addon.py") as bridge,
    ):
        url = f"http://127.0.0.1:{api}/v1/chat/completions"
        for _ in range(5):
            assert exchanged(bridge.proxy, url, chat_request(QUESTION)) == chat_answer(ANSWER)
        while module == "capture_process" and logged not in bridge.log:
            exchanged(bridge.proxy, url, chat_request(QUESTION))
    assert bridge.log.count(logged) == 1
    assert "planted-message" not in bridge.log


def test_telemetry_is_not_captured(tmp_path):
    """Spans that the pipeline exports through the proxy arrive, and leave no span of ours."""
    sidecar = Sidecar()
    with (
        running_server(models) as api,
        running_server(sidecar.respond) as port,
        running_bridge(tmp_path, port) as bridge,
    ):
        for path in ("/v1/traces", "/api/public/ingestion", "/runs/batch"):
            assert exchanged(bridge.proxy, f"http://127.0.0.1:{api}{path}", {"resourceSpans": []})
        exchanged(bridge.proxy, f"http://127.0.0.1:{port}/v1/logs", {"resourceLogs": []})
        url = f"http://127.0.0.1:{api}/v1/chat/completions"
        exchanged(bridge.proxy, url, chat_request(QUESTION))
    sent = [body for path, _, body in sidecar.requests if path == "/v1/traces"]
    assert len(sent) == 1
    assert b"ingestion" not in sent[0]
    assert "telemetry 4" in bridge.log


def test_the_front_marks_a_question(tmp_path):
    """A question to the pipeline's own API is one trace: its calls, between question and answer."""
    got: list[str] = []
    ports: dict[str, int] = {}

    def application(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        got.append(handler.headers["traceparent"])
        question = json.loads(body)["question"]
        base = f"http://127.0.0.1:{ports['api']}"
        exchanged(ports["proxy"], f"{base}/v1/embeddings", {"model": "e", "input": question})
        search = {"vector": VECTOR, "limit": 1, "with_payload": True}
        exchanged(ports["proxy"], f"{base}/collections/docs/points/search", search)
        prompt = f"Context: {CHUNK}\n\nQuestion: {question}"
        exchanged(ports["proxy"], f"{base}/v1/chat/completions", chat_request(prompt))
        answer(handler, json.dumps({"answer": ANSWER}).encode())

    sidecar = Sidecar()
    with (
        running_server(models) as api,
        running_server(application) as app,
        running_server(sidecar.respond) as port,
        running_bridge(tmp_path, port, front_of=app) as bridge,
    ):
        ports.update(api=api, proxy=bridge.proxy)
        answered = exchanged(bridge.front, "/ask", {"question": QUESTION})
        assert json.loads(answered) == {"answer": ANSWER}
        sidecar.wait_for(lambda: sidecar.requests)
    spans = sidecar.spans
    assert {span["traceId"] for span in spans} == {got[0].split("-")[1]}
    kinds = [attributes(span)["openinference.span.kind"] for span in spans]
    assert sorted(kinds) == ["CHAIN", "EMBEDDING", "LLM", "RETRIEVER"]
    (root,) = of_kind(spans, "CHAIN")
    assert (root["input.value"], root["output.value"]) == (QUESTION, ANSWER)
    (top,) = [span for span in spans if attributes(span).get("input.value") == QUESTION and attributes(span)["openinference.span.kind"] == "CHAIN"]  # fmt: skip
    begins = [int(span["startTimeUnixNano"]) for span in spans]
    ends = [int(span["endTimeUnixNano"]) for span in spans]
    assert int(top["startTimeUnixNano"]) == min(begins)
    assert int(top["endTimeUnixNano"]) == max(ends)


def test_a_connection_that_breaks(tmp_path):
    """The client sees a stream break as it would without a proxy, and what had come is kept."""

    def respond(handler: BaseHTTPRequestHandler, body: bytes) -> None:
        begin_chunks(handler)
        write_chunk(handler, chat_event("They get"))
        handler.close_connection = True
        handler.connection.shutdown(2)

    sidecar = Sidecar()
    with (
        running_server(respond) as api,
        running_server(sidecar.respond) as port,
        running_bridge(tmp_path, port) as bridge,
    ):
        url = f"http://127.0.0.1:{api}/v1/chat/completions"
        body = json.dumps(chat_request(QUESTION, stream=True)).encode()
        connection, response = through(bridge.proxy, url, body)
        expected = chat_event("They get")
        assert response.read(len(expected)) == expected
        with pytest.raises(Exception, match=r"IncompleteRead|reset"):
            response.read()
        connection.close()
    (span,) = of_kind(sidecar.spans, "LLM")
    assert "They get" in json.dumps(span)


SECRETS = {
    "header": "planted-header-7Qx",
    "cookie": "planted-cookie-7Qx",
    "answer-cookie": "planted-setcookie-7Qx",
    "user": "planted-user-7Qx",
    "query": "planted-query-7Qx",
    "path": "sk-plantedpath0123456789",
    "field": "planted-field-7Qx",
    "nested": "planted-nested-7Qx",
    "prompt": "sk-ant-api03-plantedprompt012345",
    "response": "hf_plantedResponse0123456789",
    "response-field": "planted-token-field-7Qx",
    "jwt": "eyJwbGFudGVkIjoxfQ.eyJwbGFudGVkIjoyfQ.cGxhbnRlZHNpZ25hdHVyZQ",
    "stream": "ghp_plantedStream0123456789abcd",
    "employee": "EMP-4711",
    "pem": "MIIEplantedPEMplantedPEM",
}


def leaky(handler: BaseHTTPRequestHandler, body: bytes) -> None:
    if b'"stream": true' in body:
        begin_chunks(handler)
        whole = f"the token is {SECRETS['stream']} and {SECRETS['jwt']}"
        write_chunk(handler, chat_event(whole))
        for start in range(0, len(whole), 5):  # each piece for itself is harmless
            write_chunk(handler, chat_event(whole[start : start + 5]))
        write_chunk(handler, b"data: [DONE]\n\n")
        write_chunk(handler, b"")
        return
    leaked = json.loads(chat_answer(f"use {SECRETS['response']} of {SECRETS['employee']}"))
    leaked["access_token"] = SECRETS["response-field"]
    answer(handler, json.dumps(leaked).encode(), headers={"Set-Cookie": SECRETS["answer-cookie"]})


def test_no_secret_gets_out(tmp_path):
    """Of secrets in headers, URLs and bodies none is in a span, a line of the log or a file."""
    pem = f"-----BEGIN PRIVATE KEY-----\n{SECRETS['pem']}\n-----END PRIVATE KEY-----"
    database = f"postgres://me:{SECRETS['user']}@db/x"
    prompt = f"{QUESTION} {SECRETS['prompt']} {pem} {SECRETS['employee']} {database}"
    arguments = json.dumps({"password": SECRETS["nested"]})
    data = chat_request(prompt, api_key=SECRETS["field"], metadata={"arguments": arguments})
    headers = {
        "Authorization": f"Bearer {SECRETS['header']}",
        "X-Api-Key": SECRETS["header"],
        "Cookie": SECRETS["cookie"],
        "User-Agent": f"app {SECRETS['header']}",
    }
    sidecar = Sidecar()
    with running_server(leaky) as api, running_server(sidecar.respond) as port:
        redact = ["--set", r"raglog_redact=EMP-\d+", "--set", "raglog_redact=planted-header-[^ ]+"]
        with running_bridge(tmp_path, port, *redact) as bridge:
            host = f"127.0.0.1:{api}"
            url = f"/{SECRETS['path']}/v1/chat/completions?api_key={SECRETS['query']}&a=b"
            answers = [
                exchanged(bridge.proxy, f"http://{host}{url}", {**data, "stream": stream}, headers)
                for stream in (False, True)
            ]
    assert SECRETS["response"].encode() in answers[0]
    assert SECRETS["stream"].encode() in answers[1]
    written = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    sent = {f"request {at}": body for at, (_, _, body) in enumerate(sidecar.requests)}
    assert len(of_kind(sidecar.spans, "LLM")) == 2
    assert any(b"use *** of ***" in body for body in sent.values())
    assert str(tmp_path / "mitmdump.log") in written
    for name, secret in SECRETS.items():
        for place, content in {**sent, **written}.items():
            assert secret.encode() not in content, f"{name} in {place}"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["raglog_redact=("], "raglog_redact: '(' is no regular expression"),
        (["raglog_max_body_bytes=abc"], "raglog_max_body_bytes: 'abc' is no whole number"),
        (["raglog_inject_traceparent=maybe"], "raglog_inject_traceparent: 'maybe' is neither"),
        (["raglog_service=a", "raglog_service=b"], "raglog_service: given 2 times"),
        (["raglog_redct=x"], "raglog_redct: there is no such option; did you mean raglog_redact?"),
    ],
)
def test_wrong_options_stop_the_start(tmp_path, typed, said):
    """mitmdump does not start with a wrong value or name, and says in a sentence which it is."""
    command = [str(Path(sys.executable).parent / "mitmdump"), "--set", f"confdir={tmp_path}"]
    command += ["--mode", f"regular@127.0.0.1:{free_port()}", "-s", str(ADDON)]
    for each in typed:
        command += ["--set", each]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_misspelt_option_in_mitmproxy_s_file_stops_the_start(tmp_path):
    """Options may stand in config.yaml too."""
    (tmp_path / "config.yaml").write_text("raglog_redct:\n  - x\n")
    command = [str(Path(sys.executable).parent / "mitmdump"), "--set", f"confdir={tmp_path}"]
    command += ["--mode", f"regular@127.0.0.1:{free_port()}", "-s", str(ADDON)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "raglog_redct: there is no such option" in done.stdout + done.stderr


def test_the_start_is_told_when_calls_are_captured(tmp_path):
    """With the addresses that are bound by then, at a verbosity that leaves single calls out."""
    with (
        running_server(Sidecar().respond) as port,
        running_bridge(tmp_path, port, "--set", "termlog_verbosity=alert") as bridge,
    ):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "capturing" not in bridge.log and time.monotonic() < deadline:
            time.sleep(0.05)
        assert f"raglog: capturing: regular@127.0.0.1:{bridge.proxy}" in bridge.log


def test_the_package_need_not_be_installed(tmp_path):
    """The add-on loads its package from its own folder and leaves the path for imports alone."""
    folder = tmp_path / "otel_raglog_proxy_bridge"
    shutil.copytree(ADDON.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "before = list(sys.path)\n"
        "from mitmproxy.addons.script import load_script\n"
        f"script = load_script({str(folder / 'addon.py')!r})\n"
        "import otel_raglog_proxy_bridge.line as line\n"
        "assert sys.path == before, sys.path\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'otel_raglog']\n"
        "print(line.__file__, len(script.addons))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == [str(folder / "line.py"), "1"]

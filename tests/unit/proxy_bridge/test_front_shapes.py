"""What is read of the APIs that people put in front of pipelines: ``front_shapes.yaml`` lists them."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml

from otel_raglog_proxy_bridge.fronts import read_front
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.parsing import parse
from otel_raglog_proxy_bridge.safety import RawCall, safe_call

SHAPES = yaml.safe_load((Path(__file__).parent / "front_shapes.yaml").read_text(encoding="utf-8"))
QUESTION = "Leave?"
ANSWER = "27 days"
BOUNDARY = "x1"


def body_of(data):
    """Return a body of JSON, or of a text that is a body already."""
    return b"" if data is None else (data if isinstance(data, str) else json.dumps(data)).encode()


def multipart(fields, file):
    """Return a form as browsers send it, with a file before the fields."""
    sent = f'Content-Disposition: form-data; name="file"; filename="{file}"'
    parts = [f"{sent}\r\nContent-Type: text/plain\r\n\r\nquestion={file}"] * bool(file)
    parts += [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'
        for name, value in fields.items()
    ]
    return "".join(f"--{BOUNDARY}\r\n{part}\r\n" for part in parts) + f"--{BOUNDARY}--\r\n"


def request_of(shape):
    """Return a request's content type and body."""
    if "form" in shape:
        return "application/x-www-form-urlencoded", urlencode(shape["form"]).encode()
    if "multipart" in shape:
        form = multipart(shape["multipart"], shape.get("file"))
        return f"multipart/form-data; boundary={BOUNDARY}", form.encode()
    return shape.get("sent_as", "application/json"), body_of(shape.get("sends"))


def front_of(shape):
    """Return what is read of a call of the shape, captured and made safe as any other."""
    method, _, target = shape.get("call", "POST /ask").partition(" ")
    sent_as, body = request_of(shape)
    raw = RawCall(
        "f",
        method,
        f"http://app{target}",
        shape.get("status", 200),
        (("content-type", sent_as),),
        (("content-type", shape.get("got_as", "application/json")),),
        body,
        body_of(shape.get("gets")),
        side=Side.FRONT,
    )
    return read_front(parse(safe_call(raw)))


ASKING = [shape for shape in SHAPES if not shape.get("no_question")]
OTHERS = [shape for shape in SHAPES if shape.get("no_question")]


def test_every_shape_is_listed_once():
    """A name tells which shape is meant."""
    names = [shape["name"] for shape in SHAPES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("shape", ASKING, ids=lambda shape: shape["name"])
def test_a_question_and_its_answer_are_read(shape):
    """Both are what the user typed and saw; an answer that is not surely one is absent."""
    found = front_of(shape)
    assert found is not None
    assert (found.question, found.answer) == (
        shape.get("question", QUESTION),
        shape.get("answer", ANSWER),
    )


@pytest.mark.parametrize("shape", OTHERS, ids=lambda shape: shape["name"])
def test_a_call_that_asks_nothing_is_no_question(shape):
    """Or it would take the calls of the questions beside it."""
    assert front_of(shape) is None

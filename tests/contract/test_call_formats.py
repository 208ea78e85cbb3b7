"""What every API format of the proxy bridge promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from call_samples import call_of, check_sample, damaged

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import (
    Api,
    Call,
    CallStage,
    EmbedderReading,
    LlmReading,
    RerankerReading,
    RetrieverReading,
)
from otel_raglog_proxy_bridge.parsing import parse

KINDS = {
    CallStage.EMBEDDER: EmbedderReading,
    CallStage.RETRIEVER: RetrieverReading,
    CallStage.RERANKER: RerankerReading,
    CallStage.LLM: LlmReading,
}
SAMPLES = Path(__file__).parent.parent / "golden" / "call_formats"
ODD = ("", "null", "[]", "{}", '"text"', "7", "[[]]", "<html>", '{"data": 3}', "data: {}\n\n")


def samples_of(api: Api) -> list[Path]:
    return sorted(SAMPLES.glob(f"{api.name}.*.json"))


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_an_operation_is_named_once_and_says_its_rule(api):
    """Names are unique, lower-case, ``family.operation``; only irrelevant operations are not read."""
    assert [other.name for other in APIS].count(api.name) == 1
    assert "." in api.name
    assert api.name == api.name.lower()
    assert api.rule
    assert (api.read is None) == (api.stage is CallStage.IRRELEVANT)


@pytest.mark.parametrize("api", [api for api in APIS if api.read], ids=lambda api: api.name)
def test_an_operation_that_is_read_has_a_sample(api):
    """Each has a recorded or hand-made call and what is read off it, kept beside the tests."""
    assert samples_of(api)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_a_sample_is_told_and_read_as_expected(path):
    """The first operation that recognises the sample is the one it is named after."""
    check_sample(path)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_odd_bodies_never_raise(api):
    """Whatever comes at the right address, telling and reading do not raise."""
    urls = {json.loads(path.read_text())["call"]["url"] for path in samples_of(api)}
    for url in sorted(urls) or ["http://host/"]:
        for method in ("GET", "POST", "DELETE"):
            for request in ODD:
                for response in ODD:
                    call = Call("1", method, url, 200, {}, {}, request, response)
                    exchange = parse(call)
                    api.recognises(exchange)
                    if api.read is not None:
                        assert isinstance(api.read(exchange), KINDS[api.stage])


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_a_damaged_sample_never_raises(path):
    """Any value of a sample's bodies may be of another kind, or missing."""
    sample = json.loads(path.read_text())
    api = next(api for api in APIS if api.name == sample["api"])
    if api.read is None:
        return
    for call in damaged(call_of(sample["call"])):
        exchange = parse(call)
        api.recognises(exchange)
        assert isinstance(api.read(exchange), KINDS[api.stage])

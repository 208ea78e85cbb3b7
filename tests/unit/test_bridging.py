"""The LLM of ``judge`` asked about calls: both APIs over real sockets, limits, redaction, failures."""

import json

import pytest
from judge_behaviours import breaks_json, fails, refuses, says, truncates
from judge_server import JudgeServer
from unknown_calls import QUESTION, SEARCH_EXPRESSIONS, search_call

from otel_raglog.bridging import build_asker
from otel_raglog.config import load_config
from otel_raglog.errors import ConfigError
from otel_raglog_proxy_bridge.asking import Asker, TemplateAsker
from otel_raglog_proxy_bridge.mapped_reading import FIELDS
from otel_raglog_proxy_bridge.model import CallStage

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture
def server():
    with JudgeServer() as running:
        yield running


@pytest.fixture
def asker_with(server):
    """Make askers of the server, and close them afterwards."""
    made = []

    def make(provider="openai", **judge):
        endpoint = server.url_anthropic if provider == "anthropic" else server.url_openai
        options = {"provider": provider, "endpoint": endpoint, "model": "claude-haiku-5-5", **judge}
        budget = {"path": None, **options.get("budget", {})}
        config = load_config(
            overrides={"judge": {**options, "budget": budget}, "journal": {"enabled": False}},
            environ={},
        )
        made.append(build_asker(config.judge))
        return made[-1]

    yield make
    for asker in made:
        if asker is not None:
            asker.close()


def reply_to(request):
    """Say yes to the question about passages, and how they are found."""
    properties = request.schema["properties"]
    if "answer" in properties:
        asked = request.prompt.rpartition("## Your question")[2]
        return json.dumps({"answer": "yes" if "passages" in asked else "no"})
    return json.dumps({**dict.fromkeys(FIELDS[CallStage.RETRIEVER], ""), **SEARCH_EXPRESSIONS})


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_call_is_classified_and_mapped_through_either_api(server, asker_with, provider):
    """From the options to a mapping that reads the call."""
    server.answer = reply_to
    asker: Asker = asker_with(provider)
    asking = TemplateAsker(asker)
    exchange = search_call()
    decision = asking.decide(exchange, CallStage.EMBEDDER)
    assert decision.stage is CallStage.RETRIEVER
    mapping = asking.map(exchange, decision.stage, created="")
    assert mapping.read(exchange).searches[0].query == QUESTION
    assert [request.protocol for request in server.requests] == [provider] * 3
    assert "not to be trusted" in server.requests[0].system


def test_nobody_is_asked_without_a_key_or_when_it_is_off(asker_with, monkeypatch):
    """As the judge's own checks: a key or an address turns it on, never turns it off."""
    monkeypatch.delenv("OTEL_RAGLOG_JUDGE_KEY", raising=False)
    assert asker_with(endpoint=None) is None
    assert asker_with(when="never") is None


def test_an_llm_that_cannot_be_asked_is_an_error_of_the_configuration(asker_with):
    """At start, not with the first call."""
    with pytest.raises(ConfigError, match="does not begin with http"):
        asker_with(endpoint="ftp://a.test")


def test_what_is_to_be_redacted_is_not_sent(server, asker_with):
    """The judge's patterns hold for calls too."""
    asker = asker_with(redact=["4711", "vacation \\w+"])
    TemplateAsker(asker).decide(search_call(), None)
    prompts = "".join(request.prompt for request in server.requests)
    assert "[redacted]" in prompts
    assert "vacation days" not in prompts
    assert "4711" not in prompts


@pytest.mark.parametrize("behaviour", [breaks_json(), refuses(), truncates(), says('["yes"]')])
def test_no_whole_answer_is_none(server, asker_with, behaviour):
    """The model declined, was cut off, or spoke no JSON object."""
    server.script(behaviour)
    assert asker_with().ask("s", "p", SCHEMA) is None


def test_a_failure_that_may_pass_is_tried_again(server, asker_with):
    """As often as the judge does."""
    server.script(fails(503, retry_after="0"), says({"answer": "yes"}))
    assert asker_with().ask("s", "p", SCHEMA) == {"answer": "yes"}
    assert server.count() == 2


def test_a_provider_that_fails_is_left_alone_for_a_while(server, asker_with):
    """A refused key is not sent with every call."""
    server.key = "right"
    asker = asker_with()
    assert [asker.ask("s", "p", SCHEMA) for _ in range(4)] == [None] * 4
    assert server.count() == 1


def test_no_more_is_spent_than_the_budget_allows(server, asker_with):
    """In money or in tokens."""
    server.answer = lambda _: says({"answer": "yes"})
    assert asker_with(budget={"usd_per_hour": 0}).ask("s", "p", SCHEMA) is None
    few = asker_with(budget={"tokens_per_minute": 900})
    assert few.ask("s", "p" * 1_000, SCHEMA) == {"answer": "yes"}
    assert few.ask("s", "p" * 3_000, SCHEMA) is None
    assert server.count() == 1


def test_a_budget_in_a_file_is_shared(server, asker_with, tmp_path):
    """With the service that judges, and with the next process."""
    budget = {"path": tmp_path / "spent.json", "tokens_per_minute": 100_000}
    asker_with(budget=budget).ask("s", "p", SCHEMA)
    spent = json.loads((tmp_path / "spent.json").read_text())
    assert sum(spent["tokens"].values()) > 0


def test_a_closed_asker_asks_nobody(server, asker_with):
    """The bridge ends while calls still come."""
    asker = asker_with()
    asker.close()
    assert asker.ask("s", "p", SCHEMA) is None
    assert server.count() == 0

"""Who decides what a call is."""

from __future__ import annotations

from otel_raglog_proxy_bridge.classifying import Classifier, Told, by_known_api
from otel_raglog_proxy_bridge.model import Call, CallStage, Decider, Decision, LlmReading
from otel_raglog_proxy_bridge.parsing import parse

CHAT = parse(
    Call(
        "1",
        "POST",
        "http://h/v1/chat/completions",
        200,
        request_body='{"model": "m", "messages": []}',
    )
)


def test_a_known_api_is_told_by_rule_and_read():
    """The decision names the API."""
    read = Classifier((by_known_api(),)).classify(CHAT)
    assert read.decision.stage is CallStage.LLM
    assert read.decision.by is Decider.RULE
    assert read.decision.rule == "openai.chat"
    assert isinstance(read.reading, LlmReading)


def test_the_first_that_can_tell_decides():
    """Those after it are not asked."""
    mine = Told(Decision(CallStage.IRRELEVANT, Decider.MAPPING, "mine", "I say so"))
    read = Classifier((lambda *_: None, lambda *_: mine, by_known_api())).classify(CHAT)
    assert read.decision == mine.decision


def test_what_nobody_knows_is_irrelevant_and_says_so():
    """It is counted apart."""
    read = Classifier(()).classify(CHAT)
    assert (read.decision.stage, read.decision.by) == (CallStage.IRRELEVANT, Decider.NONE)
    assert read.reading is None


def test_tellers_are_told_the_stage_before():
    """An LLM is asked with it."""
    heard = []
    Classifier((lambda _, before: heard.append(before),)).classify(CHAT, CallStage.RETRIEVER)
    assert heard == [CallStage.RETRIEVER]

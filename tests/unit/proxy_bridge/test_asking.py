"""Asking an LLM about calls: stage by stage, mappings proved on the call itself, few questions."""

import re
import threading

import pytest
from unknown_calls import QUESTION, SEARCH_EXPRESSIONS, exchange_of, search_call

from otel_raglog_proxy_bridge.asking import TemplateAsker, classify_by_llm, map_by_llm
from otel_raglog_proxy_bridge.mapped_reading import FIELDS
from otel_raglog_proxy_bridge.mappings import Origin
from otel_raglog_proxy_bridge.model import CallStage, Decider

NOW = "2026-01-02T03:04:05+00:00"
OTHERS = dict.fromkeys(FIELDS[CallStage.RETRIEVER], "")
RIGHT = {**OTHERS, **SEARCH_EXPRESSIONS}


class Scripted:
    """Answers from a list, then nothing; or by the stage that is asked about."""

    def __init__(self, *replies, yes=None):
        self.replies = list(replies)
        self.yes = yes
        self.asked = []

    def ask(self, system, prompt, schema):
        self.asked.append((system, prompt, schema))
        if self.yes is not None and "answer" in schema["properties"]:
            return {
                "answer": "yes" if self.yes in prompt.rpartition("## Your question")[2] else "no"
            }
        return self.replies.pop(0) if self.replies else None


def test_stages_are_asked_about_in_turn_until_one_is_right():
    """In the order of a pipeline; those before it were denied."""
    asker = Scripted({"answer": "no"}, {"answer": "no"}, {"answer": "yes"})
    decision = classify_by_llm(asker, search_call(), CallStage.EMBEDDER)
    assert (decision.stage, decision.by, decision.rule) == (
        CallStage.RERANKER,
        Decider.LLM,
        "llm.reranker",
    )
    assert decision.reason == "an LLM says that it is a reranker, and no embedder, retriever"
    questions = [prompt.rpartition("## Your question")[2] for _, prompt, _ in asker.asked]
    assert [
        word in question
        for word, question in zip(("embeddings", "passages", "order"), questions, strict=True)
    ] == [True, True, True]


def test_a_call_of_which_all_is_denied_is_irrelevant():
    """Four questions, then it is known."""
    asker = Scripted(*[{"answer": "no"}] * 4)
    decision = classify_by_llm(asker, search_call(), None)
    assert (decision.stage, decision.rule) == (CallStage.IRRELEVANT, "llm.none")
    assert len(asker.asked) == 4


def test_each_question_tells_the_stage_of_the_call_before():
    """What follows an embedding is often a search."""
    asker = Scripted({"answer": "yes"})
    classify_by_llm(asker, search_call(), CallStage.EMBEDDER)
    classify_by_llm(asker, search_call(), None)
    assert "before this one was: embedder." in asker.asked[0][1]
    assert "before this one was: not known." in asker.asked[1][1]


@pytest.mark.parametrize("reply", [None, {}, {"answer": "perhaps"}, {"answer": True}])
def test_without_an_answer_nothing_is_decided(reply):
    """Another time, another LLM."""
    assert classify_by_llm(Scripted({"answer": "no"}, reply), search_call(), None) is None


def test_what_a_call_says_stands_between_random_delimiters():
    """The system prompt says that it is not to be trusted; each question has a word of its own."""
    asker = Scripted({"answer": "no"}, {"answer": "yes"})
    classify_by_llm(asker, search_call(), None)
    nonces = [
        re.search(r"<<<untrusted (\w+) request>>>", prompt)[1] for _, prompt, _ in asker.asked
    ]
    assert len(set(nonces)) == 2
    for (system, prompt, schema), nonce in zip(asker.asked, nonces, strict=True):
        assert "not to be trusted" in system
        assert QUESTION not in system
        inside = prompt.partition(f"<<<untrusted {nonce} request>>>")[2]
        assert QUESTION in inside.partition(f"<<<end {nonce} request>>>")[0]
        assert schema["required"] == ["answer"]
        assert schema["additionalProperties"] is False


def test_a_mapping_that_reads_the_call_is_accepted():
    """Empty texts are parts that the call does not have."""
    asker = Scripted(RIGHT)
    mapping = map_by_llm(asker, search_call(), CallStage.RETRIEVER, created=NOW)
    assert dict(mapping.expressions) == SEARCH_EXPRESSIONS
    assert (mapping.origin, mapping.created) == (Origin.LLM, NOW)
    assert mapping.name == "POST search.acme.test/tenants/{id}/lookup"
    assert mapping.lacks(search_call()) is None
    assert asker.asked[0][2]["required"] == list(FIELDS[CallStage.RETRIEVER])


WRONG = {
    "finds nothing": ({**RIGHT, "documents": "response.hits[]"}, "documents found no list"),
    "no JMESPath": ({**RIGHT, "query": "request.["}, "expressions.query: is no JMESPath"),
    "a literal": ({**RIGHT, "query": "request.x || 'Which days are free?'"}, "holds a text"),
    "an unknown part": ({**RIGHT, "answer": "response"}, "unknown key 'answer'"),
    "a needed part missing": ({**RIGHT, "documents": ""}, "needs documents"),
    "no text": ({**RIGHT, "query": 7}, "is int, not a text"),
}


@pytest.mark.parametrize(("reply", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_mapping_is_told_once_and_then_given_up(reply, problem):
    """The second answer may be right."""
    asker = Scripted(reply, RIGHT)
    assert map_by_llm(asker, search_call(), CallStage.RETRIEVER, created=NOW) is not None
    assert problem in asker.asked[1][1]
    assert (
        map_by_llm(Scripted(reply, reply), search_call(), CallStage.RETRIEVER, created=NOW) is None
    )
    assert map_by_llm(Scripted(), search_call(), CallStage.RETRIEVER, created=NOW) is None


def test_as_many_vectors_as_texts_must_be_found():
    """Else the mapping is wrong, though both are there."""
    exchange = exchange_of({"texts": ["a", "b"]}, {"v": [[0.1, 0.2], [0.3, 0.4]]})
    empty = dict.fromkeys(FIELDS[CallStage.EMBEDDER], "")
    wrong = {**empty, "inputs": "request.texts", "vectors": "response.v[0]"}
    right = {**wrong, "vectors": "response.v"}
    asker = Scripted(wrong, right)
    mapping = map_by_llm(asker, exchange, CallStage.EMBEDDER, created=NOW)
    assert mapping.expressions["vectors"] == "response.v"
    assert "1 vectors for 2 inputs" in asker.asked[1][1]


def test_of_an_irrelevant_call_nobody_asks_how_it_is_read():
    """It can be stored as such."""
    asker = Scripted()
    mapping = map_by_llm(asker, search_call(), CallStage.IRRELEVANT, created=NOW)
    assert (mapping.stage, mapping.expressions, asker.asked) == (CallStage.IRRELEVANT, {}, [])


@pytest.mark.parametrize("stage", [s for s in CallStage if s is not CallStage.IRRELEVANT])
def test_every_stage_has_its_prompts_with_all_of_its_parts(stage):
    """What the schema asks for is explained."""
    asker = Scripted({"answer": "no"})
    map_by_llm(asker, search_call(), stage, created=NOW)
    system = asker.asked[0][0]
    assert all(f"`{field}`" in system for field in FIELDS[stage])


def other_search(**more):
    return search_call(url="https://search.acme.test/tenants/815/lookup", **more)


def test_calls_of_one_operation_are_asked_about_once():
    """A chatty API costs nothing."""
    asker = Scripted(yes="passages")
    asking = TemplateAsker(asker)
    first = asking.decide(search_call(), None)
    assert first.stage is CallStage.RETRIEVER
    assert asking.decide(other_search(), CallStage.EMBEDDER) == first
    assert len(asker.asked) == 2
    asking.decide(search_call(url="https://search.acme.test/tenants/815/forget"), None)
    assert len(asker.asked) == 4


def test_a_request_of_other_keys_is_another_question_within_the_same_limit():
    """One address may search and store."""
    asker = Scripted(yes="nothing of the kind")
    asking = TemplateAsker(asker, most_asks=8)
    for key in "abcdef":
        asking.decide(other_search(request={key: "x"}), None)
    assert len(asker.asked) == 8


def test_no_operation_is_asked_about_more_than_so_often():
    """Also when there is no answer, and for mappings too."""
    asker = Scripted()
    asking = TemplateAsker(asker, most_asks=3)
    for _ in range(10):
        assert asking.decide(search_call(), None) is None
        assert asking.map(search_call(), CallStage.RETRIEVER, created=NOW) is None
    assert len(asker.asked) == 3


def test_so_many_operations_are_remembered():
    """A crawler of the web does not fill the memory."""
    asking = TemplateAsker(Scripted(yes="passages"), most_templates=5)
    for number in range(50):
        asking.decide(exchange_of({}, {}, url=f"https://host{number}.test/a"), None)
    assert len(asking._known) == 5


def test_many_threads_keep_the_limit():
    """Calls come at once."""
    asker = Scripted()
    asking = TemplateAsker(asker, most_asks=5)
    threads = [
        threading.Thread(target=asking.decide, args=(search_call(), None)) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asker.asked) == 5

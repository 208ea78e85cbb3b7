"""What a user's rules read from spans, and that they go before everything built in."""

import json

import pytest
from own_rules import rules
from span_trees import documents, llm, oi, span, spans_of

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind, SpanEvent, TokenUsage

HITS = json.dumps({"hits": [{"key": "a", "body": "one", "rank": 0.2}, {"key": "b", "body": "two"}]})
FOUND = {"attribute": "app.hits", "path": "hits[].{id: key, text: body, score: rank}"}


def read(rule, attributes, *others, **options):
    name = options.pop("name", "x")
    (one,) = spans_of(span(name, attributes=attributes, **options))
    return rules(rule, *others).read(one)


def step(stage, **attributes):
    return {"app.step": stage, **{f"app.{key}": value for key, value in attributes.items()}}


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ({"span_name": "kb.*"}, True),
        ({"span_name": "kb.look"}, False),
        ({"span_name": "KB.*"}, False),
        ({"span_name": "k?.lookup"}, True),
        ({"span_name": "kb.*", "scope": "app.*"}, True),
        ({"span_name": "kb.*", "scope": "other"}, False),
        ({"attributes": {"app.step": "search"}}, True),
        ({"attributes": {"app.step": "sea*"}}, True),
        ({"attributes": {"app.step": "*"}}, True),
        ({"attributes": {"app.step": "rank"}}, False),
        ({"attributes": {"app.no": "*"}}, False),
        ({"attributes": {"app.step": "search", "app.ok": True}}, True),
        ({"attributes": {"app.step": "search", "app.ok": False}}, False),
        ({"attributes": {"app.n": 3}}, True),
        ({"attributes": {"app.tags": "search"}}, True),
        ({"attributes": {"app.tags": "other"}}, False),
        ({"attributes": {"app.map": "*"}}, True),
        ({"attributes": {"app.map": "x"}}, False),
    ],
)
def test_all_that_a_match_says_must_hold(match, matches):
    """Globs on names and values; a list matches by one of its elements."""
    attributes = {
        "app.step": "search",
        "app.ok": True,
        "app.n": 3,
        "app.tags": ("search", "slow"),
        "app.map": {"a": "x"},
    }
    rule = {"match": match, "stage": "retriever"}
    found = read(rule, attributes, name="kb.lookup", scope="app.tracing")
    assert (found is not None) is matches


def test_what_marks_its_spans():
    """Of each rule one key, the longest; else the beginning of the name."""
    custom = rules(
        {"match": {"attributes": {"app.step": "a", "env": "b"}, "span_name": "kb*"}, "query": "q"},
        {"match": {"span_name": "kb.*"}, "query": "q"},
    )
    assert (custom.marker_prefixes, custom.marker_names) == (("app.step",), ("kb.",))


def test_a_search():
    """Query, number of results, and documents with scores of the direction that is said."""
    rule = {"stage": "retriever", "query": "app.q", "top_k": "app.k", "documents": FOUND}
    facts = read({**rule, "score_kind": "distance"}, step("retriever", q="Q", k=3, hits=HITS))
    assert (facts.role, facts.settled, facts.convention) == (Role.RETRIEVER, True, "custom")
    assert (facts.query.value, facts.input.value, facts.top_k) == ("Q", "Q", 3)
    first, second = facts.documents.value
    assert (first.id, first.text, first.score, first.score_kind) == ("a", "one", 0.2, "distance")
    assert (second.score, second.score_kind) == (None, ScoreKind.UNKNOWN)
    assert facts.structured_documents
    source = facts.documents.source
    assert (source.key, source.convention) == ("app.hits", "custom:rule-1")


def test_a_reranker():
    """Candidates from events; its scores are similarities."""
    rule = {
        "stage": "reranker",
        "candidates": {"event": "candidate", "path": "{id: key, text: body}"},
        "documents": {"attribute": "app.kept", "path": "[].{text: body, score: w}"},
        "model": "app.model",
    }
    events = tuple(SpanEvent("candidate", n, {"key": str(n), "body": "t"}) for n in range(3))
    kept = ({"body": "t", "w": 0.9},)
    facts = read(rule, step("reranker", kept=kept, model="m"), events=events)
    assert [chunk.id for chunk in facts.input_documents.value] == ["0", "1", "2"]
    assert facts.documents.value[0].score_kind is ScoreKind.SIMILARITY
    assert facts.model == "m"


def test_a_model_call():
    """Instructions and prompt are messages; tokens and the reason to stop come from where it is."""
    rule = {
        "stage": "generator",
        "system": "app.system",
        "prompt": "app.prompt",
        "answer": "app.reply",
        "finish_reason": {"attribute": "app.meta", "path": "stop"},
        "tokens": {
            "prompt": {"attribute": "app.meta", "path": "usage.in"},
            "completion": {"attribute": "app.meta", "path": "usage.out"},
        },
    }
    meta = json.dumps({"stop": "length", "usage": {"in": 7, "out": "2"}})
    facts = read(rule, step("generator", system="S", prompt="P", reply="A", meta=meta))
    assert facts.messages.value == (Message("system", "S"), Message("user", "P"))
    assert [message.key for message in facts.messages.value] == ["app.system", ""]
    assert facts.messages.source.key == "app.prompt"
    assert facts.output_messages.value == (Message("assistant", "A"),)
    assert (facts.finish_reason, facts.tokens) == ("length", TokenUsage(7, 2, None))


def test_a_whole_run():
    """Question, the talk before it, and answer; whose it is."""
    rule = {
        "stage": "chain",
        "question": {"attribute": "app.body", "path": "q"},
        "history": {"attribute": "app.body", "path": "thread[].{role: who, content: say}"},
        "answer": "app.reply",
        "session": "app.chat",
        "user": "app.user",
    }
    body = json.dumps({"q": "Q", "thread": [{"who": "bot", "say": "hello"}]})
    facts = read(rule, step("chain", body=body, reply="A", chat="c", user=7))
    assert (facts.input.value, facts.output.value) == ("Q", "A")
    assert facts.input_data["chat_history"] == [{"role": "assistant", "content": "hello"}]
    assert (facts.session_id, facts.user_id) == ("c", "7")


def test_a_rewriter():
    """Its queries are its output, the question and the talk before it what it was told."""
    rule = {
        "stage": "rewriter",
        "question": "app.q",
        "history": {"attribute": "app.talk", "path": "@"},
        "rewrites": "app.queries",
    }
    talk = json.dumps([{"role": "user", "content": "q0"}, {"role": "assistant", "content": "a0"}])
    facts = read(rule, step("rewriter", q="Q", talk=talk, queries=("one", "two")))
    assert facts.role is Role.REWRITER
    assert facts.query.value == "Q"
    assert [m.content for m in facts.messages.value] == ["q0", "a0", "Q"]
    assert facts.output_data == {"queries": ["one", "two"]}
    assert facts.output_messages.value[0].content == "one\ntwo"


def test_the_making_of_a_prompt():
    """The prompt it made, what it put in, and the part that is context."""
    rule = {"stage": "assembly", "prompt": "app.p", "context": "app.c", "documents": "app.d"}
    facts = read(rule, step("assembly", p="P c", c="c", d=("c",)))
    assert (facts.role, facts.output.value) == (Role.PROMPT, "P c")
    assert facts.prompt_variables == {"context": "c"}
    assert facts.documents.value[0].text == "c"


def test_embedded_texts_and_tools():
    """The rest of the stages."""
    facts = read({"stage": "embedder", "texts": "app.t"}, step("embedder", t='["a", "b"]'))
    assert facts.embedding_texts.value == ("a", "b")
    facts = read({"stage": "tool", "tool": "app.t", "query": "app.q"}, step("tool", t="T", q="Q"))
    assert (facts.role, facts.tool_name, facts.query.value) == (Role.TOOL, "T", "Q")
    assert read({"stage": "ignore"}, step("ignore")).role is Role.IGNORED


def test_a_fact_that_is_not_there_costs_itself_alone():
    """Not captured, masked or cut: said of that fact, and nothing is raised."""
    rule = {"stage": "retriever", "query": "app.q", "documents": FOUND, "top_k": "app.k"}
    facts = read(rule, step("retriever", q="__REDACTED__", hits=HITS[:-5], k="many"))
    assert facts.query.status is FieldStatus.REDACTED
    assert facts.documents.status is FieldStatus.TRUNCATED
    assert facts.top_k is None
    wrong = {**FOUND, "path": "hits[].{text: to_number(body) > abs(body)}"}
    facts = read({**rule, "documents": wrong}, step("retriever", q="Q", hits=HITS))
    assert facts.documents.status is FieldStatus.NOT_CAPTURED
    assert facts.query.value == "Q"


def test_what_is_looked_for_is_said():
    """With keys and paths, for `explain`."""
    custom = rules(
        {"stage": "retriever", "query": ["app.q", {"event": "e", "path": "q"}], "documents": FOUND},
        {"match": {"span_name": "a"}, "stage": "retriever", "query": "app.text"},
    )
    wanted = {item.fact: item for item in custom.wanted[Role.RETRIEVER]}
    assert wanted["query"].keys == ("app.q", "e/*", "app.text")
    assert wanted["documents"].note == f"path {FOUND['path']}"


def test_several_rules_about_one_span():
    """The first that gives a stage wins; one without a stage only adds."""
    session = {"match": {"attributes": {"app.chat": "*"}}, "session": "app.chat"}
    first = {"stage": "retriever", "query": "app.q"}
    other = {"match": {"attributes": {"app.step": "*"}}, "stage": "generator", "answer": "app.q"}
    facts = read(session, step("retriever", q="Q", chat="c"), first, other)
    assert (facts.role, facts.settled, facts.session_id) == (Role.RETRIEVER, True, "c")
    assert facts.query.value == "Q"
    assert facts.output_messages.status is FieldStatus.NOT_CAPTURED


# ------------------------------------------------------- beside what is built in


def beside(rule, node):
    (one,) = spans_of(node)
    return ConventionSet((rules(rule), OpenInference())).read(one)


def test_a_stage_alone_is_enough():
    """A chain that the user calls a search is read as one, from where its vocabulary has it."""
    found = [{"page_content": "p", "metadata": {}}]
    node = oi("CHAIN", "kb_node", given="Q", said=found)
    facts = beside({"match": {"span_name": "kb_*"}, "stage": "retriever"}, node)
    assert (facts.role, facts.settled) == (Role.RETRIEVER, True)
    assert facts.query.value == "Q"
    assert [chunk.text for chunk in facts.documents.value] == ["p"]
    assert facts.documents.source.convention == "openinference"


def test_what_a_rule_says_goes_before_what_the_vocabulary_says():
    """And what it does not say is filled in."""
    attributes = {**documents(("1", "old", 0.5)), "app.hits": HITS}
    node = oi("RETRIEVER", "kb_node", given="Q", attributes=attributes)
    facts = beside({"match": {"span_name": "kb_*"}, "documents": FOUND}, node)
    assert [chunk.text for chunk in facts.documents.value] == ["one", "two"]
    assert (facts.role, facts.query.value, facts.settled) == (Role.RETRIEVER, "Q", False)


def test_a_model_call_may_be_called_a_rewriter():
    """Its prompt and its response stay what they are."""
    facts = beside({"match": {"span_name": "call*"}, "stage": "rewriter"}, llm("call", "P", "R"))
    assert facts.role is Role.REWRITER
    assert facts.messages.value == (Message("user", "P"),)
    assert facts.output_messages.value[0].content == "R"
    assert facts.query.status is FieldStatus.NOT_CAPTURED

"""What a rule of a user's own may say, and how a wrong one is refused."""

import pytest
from pydantic import ValidationError

from otel_raglog.config import load_config
from otel_raglog.custom_rules import CustomRule, Match, Place
from otel_raglog.errors import ConfigError


def rule(**fields):
    return CustomRule.model_validate({"name": "mine", "match": {"span_name": "kb"}, **fields})


def test_a_place_may_be_a_key_alone_one_place_or_several():
    """The short forms mean the long one."""
    long = (Place(attribute="app.query"),)
    assert rule(stage="retriever", query="app.query").query == long
    assert rule(stage="retriever", query={"attribute": "app.query"}).query == long
    several = rule(stage="retriever", query=["a", {"event": "e", "attribute": "b"}]).query
    assert several == (Place(attribute="a"), Place(event="e", attribute="b"))


def test_numbers_and_truths_are_compared_as_text():
    """YAML reads `true` and `3` as what they are; attributes are compared as text."""
    match = Match.model_validate({"attributes": {"a": True, "b": 3, "c": "x*"}})
    assert match.attributes == {"a": "true", "b": "3", "c": "x*"}


@pytest.mark.parametrize(
    ("name", "beginning"), [("kb.*", "kb."), ("kb", "kb"), ("k[ab]*", "k"), ("a?c*", "a")]
)
def test_the_beginning_of_a_glob(name, beginning):
    """By it a span is held."""
    assert Match(span_name=name).beginning == beginning


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"match": {}}, "would match every span"),
        ({"match": {"span_name": "*kb"}}, "begins with a wildcard .* give an attribute"),
        ({"match": {"scope": "a"}}, "a scope alone"),
        ({"match": {"attributes": {"": "a"}}}, "an attribute has a name"),
        ({"match": {"attributes": {"*": "a"}}}, r"attributes\n.*'\*' can never match"),
        ({"match": {"attributes": {"app.?d": "a"}}}, r"'app\.\?d' can never match"),
        ({"query": "app.*.text"}, r"attribute\n.*'app\.\*\.text' can never match"),
        ({"stage": "retriever", "score_kind": "distance"}, "score_kind says nothing here"),
        ({"stage": "retreiver"}, "'rewriter', 'embedder', 'retriever'"),
        ({"stage": "embedder", "query": "a"}, "query is nothing that a span of stage embedder"),
        ({"stage": "ignore", "query": "a"}, "that is: nothing"),
        ({}, "neither a stage nor a fact"),
        ({"query": {"path": "a"}}, "neither attribute nor event"),
        ({"query": {"event": "a"}}, "needs the attribute that holds it, or a path"),
        ({"query": {"attribute": "a", "path": "b[.c"}}, "'b.*c' is no JMESPath, at character 3: "),
        ({"query": {"attribute": "a", "path": "b["}}, "at character 3: .*Incomplete expression"),
        ({"query": {"attribute": "a", "path": '"b'}}, "at character 1: "),
        ({"query": {"attribute": "a", "path": ""}}, "cannot be empty"),
        ({"query": {"attribute": "a", "path": "b | c(@)"}}, "character 5: c.* is no function"),
        ({"query": {"attribute": "a", "path": "length(a, b)"}}, "takes 1 arguments, not 2"),
        ({"query": {"attribute": "a", "path": "not_null()"}}, "takes 1 arguments, not 0"),
        ({"query": {"attribute": "a", "path": "b[::0]"}}, "the step of a slice is not 0"),
        ({"query": {"attribute": "a", "path": "(" * 3_000 + "a" + ")" * 3_000}}, "too deep"),
    ],
)
def test_a_wrong_rule_is_refused(fields, said):
    """At load, with what is wrong, and in a path where."""
    with pytest.raises(ValidationError, match=said):
        rule(**fields)


def test_functions_of_jmespath_are_known():
    """With any number of arguments where they take any."""
    path = "sort_by(hits, &rank)[].{id: key, text: not_null(body, title, 'none')}"
    assert rule(documents={"attribute": "a", "path": path}).documents[0].path == path


def test_the_error_names_the_option(tmp_path):
    """The path of the option in the file, down to the place."""
    path = tmp_path / "raglog.yaml"
    path.write_text(
        "conventions: {custom: [{name: a, match: {span_name: a}, query: b}, "
        "{name: b, match: {span_name: b}, query: [c, {attribute: d, path: 'e['}]}]}"
    )
    with pytest.raises(ConfigError, match=r"conventions\.custom\.1\.query\.1\.path: 'e\['"):
        load_config(path, environ={})


def test_names_of_rules_are_unique(tmp_path):
    """Provenance names the rule."""
    path = tmp_path / "raglog.yaml"
    one = "{name: a, match: {span_name: a}, query: b}"
    path.write_text(f"conventions: {{custom: [{one}, {one}]}}")
    with pytest.raises(ConfigError, match="several rules have the name a"):
        load_config(path, environ={})


def test_rules_may_come_from_a_variable():
    """As every option."""
    variable = "[{name: a, match: {span_name: a}, session: app.chat}]"
    config = load_config(environ={"OTEL_RAGLOG_CONVENTIONS__CUSTOM": variable})
    assert config.conventions.custom[0].session == (Place(attribute="app.chat"),)


def test_places_are_listed_by_fact():
    """Tokens by their kind."""
    places = dict(
        rule(stage="generator", answer="a", tokens={"prompt": "b", "total": "c"}).places()
    )
    assert {name: place[0].attribute for name, place in places.items()} == {
        "answer": "a",
        "tokens.prompt": "b",
        "tokens.total": "c",
    }


def test_a_question_mark_may_end_a_key():
    """As in Ruby."""
    assert rule(match={"attributes": {"app.found?": "*"}}, query="app.found?").query


STEP = {"attributes": {"app.step": "search"}}
IDLE = {
    "another stage of the same spans": (
        {"match": STEP, "stage": "tool"},
        {"match": STEP, "stage": "retriever"},
        "of stage tool: put the narrower rule first",
    ),
    "another stage of some of these spans": (
        {"match": {"span_name": "kb.*"}, "stage": "tool"},
        {"match": {"span_name": "kb.find", **STEP}, "stage": "retriever"},
        "of stage tool",
    ),
    "another stage under any value": (
        {"match": {"attributes": {"app.step": "*"}}, "stage": "tool"},
        {"match": STEP, "stage": "retriever"},
        "of stage tool",
    ),
    "spans that are left out": (
        {"match": {"span_name": "kb.*"}, "stage": "ignore"},
        {"match": {"span_name": "kb.find"}, "session": "app.chat"},
        "leaves these spans out",
    ),
    "the same again": (
        {"match": STEP, "stage": "retriever", "query": "q", "top_k": "k"},
        {"match": STEP, "query": "q"},
        "which says the same",
    ),
}


def config_of(*rules):
    return {
        "conventions": {"custom": [{"name": f"r{at}", **rule} for at, rule in enumerate(rules)]}
    }


@pytest.mark.parametrize("name", IDLE)
def test_a_rule_that_can_never_count_is_refused(name):
    """An earlier one is about all of its spans, and wins."""
    earlier, later, why = IDLE[name]
    said = rf"rule 1 \(r1\) never counts: every span .* by r0 before it.*{why}"
    with pytest.raises(ConfigError, match=said):
        load_config(overrides=config_of(earlier, later), environ={})


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"match": {"span_name": "kb.find"}, "stage": "tool"}, {"match": {"span_name": "kb.*"}, "stage": "retriever"}),
        ({"match": STEP, "stage": "tool"}, {"match": {"attributes": {"app.step": "s*"}}, "stage": "retriever"}),
        ({"match": {"span_name": "kb", **STEP}, "stage": "tool"}, {"match": STEP, "stage": "retriever"}),
        ({"match": STEP, "query": "a"}, {"match": STEP, "query": "b"}),
        ({"match": STEP, "query": "a"}, {"match": STEP, "query": "a", "stage": "retriever"}),
        ({"match": STEP, "stage": "retriever"}, {"match": STEP, "session": "app.chat"}),
        ({"match": STEP, "stage": "tool"}, {"match": STEP, "stage": "chain", "session": "app.chat"}),
    ],
)  # fmt: skip
def test_a_rule_that_adds_something_is_kept(earlier, later):
    """Of wider spans, another place, a stage, or another fact; who asked counts in any stage."""
    assert load_config(overrides=config_of(earlier, later), environ={}).conventions.custom[1]

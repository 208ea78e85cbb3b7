"""The text of a GraphQL query."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.formats.graphql_fields import Field, fields_of


def test_fields_have_aliases_arguments_and_fields():
    """All kinds of values are read; commas and comments are none."""
    query = """
    query Ask($v: [Float] = [1], $q: String!) @live(if: true) {
      Get {  # the search
        mine: Doc(near: {vector: $v, text: "a \\"b\\"\\n{", certainty: -1.5e-1}, list: [1, X, null]
                  yes: true, block: \"\"\"say "it" \"\"\") @include(if: $q) { text _more { id } }
      }
    }"""
    arguments = {
        "near": {"vector": [0.5], "text": 'a "b"\n{', "certainty": -0.15},
        "list": [1, "X", None],
        "yes": True,
        "block": 'say "it" ',
    }
    inner = (Field("text", "text"), Field("_more", "_more", {}, (Field("id", "id"),)))
    (get,) = fields_of(query, {"v": [0.5]})
    assert (get.name, list(get.named("Doc"))) == ("Get", [Field("Doc", "mine", arguments, inner)])
    assert list(get.named("mine")) == []


def test_fragments_on_a_type_are_laid_open():
    """A fragment that is only named is left out, as its fields stand elsewhere."""
    assert fields_of("{ a ... on T @x(y: 1) { b } ...Named c }", {}) == (
        Field("a", "a"),
        Field("b", "b"),
        Field("c", "c"),
    )


@pytest.mark.parametrize(
    "query",
    [
        "",
        "{",
        "{ a(",
        "{ a(b: ",
        "{ a(b: ]) }",
        "{ a(b 1) }",
        "{ a(b: [1, }",
        '{ a(b: "',
        "{ 7 }",
        "query (",
        "{" + "a{" * 5000 + "}" * 5001,
        "{ a(b: " + "[" * 5000 + "]" * 5000 + ") }",
    ],
)
def test_what_is_malformed_or_too_deep_is_nothing(query):
    """Never an error: the query may be anybody's."""
    assert fields_of(query, {}) == ()


def test_an_unknown_variable_is_null():
    """As a server takes one that is not given; long numbers are numbers, too."""
    (field,) = fields_of("{ a(b: $c, d: " + "9" * 5000 + ") }", {})
    assert field.arguments == {"b": None, "d": float("inf")}

"""Rewriters: a question and its history to queries."""

from random import Random

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking
from otel_raglog.lab.follow_ups import Asked
from otel_raglog.lab.llm import Reply
from otel_raglog.lab.pipelines.rewriters import Condense, Expand, Keywords, ModelRewriter, Polish


@pytest.fixture
def bench():
    """The small corpus."""
    return Bench(small_corpus(), Chunking(), WordVectors())


def _asked(text, *history):
    return Asked(text, text, history)


class _Model:
    def __init__(self, text):
        self.text = text
        self.asked = []

    def chat(self, system, user):
        self.asked.append((system, user))
        return Reply(self.text)


def test_polishing_keeps_every_name_and_number(bench):
    """Only common words and the opener change."""
    text = "please who wrote the movie about Alvar Bridge in 1931"
    (found,) = Polish(1.0).rewrite(_asked(text), bench, Random(0))
    assert found == "Which person authored the film about Alvar Bridge in 1931?"
    assert Polish(0.0).rewrite(_asked("Who ran?"), bench, Random(0)) == ("Who ran?",)


def test_keywords_are_the_rarest_words_in_their_order(bench):
    """Each query is another one; what is common is lost."""
    asked = _asked("Which town has a castle that Duke Harald built above Orvik?")
    found = Keywords(queries=3, most=4).rewrite(asked, bench, Random(0))
    assert len(set(found)) == len(found) == 3
    assert all(set(query.split()) <= set(found[0].split()) for query in found)
    assert len(found[0].split()) == 4
    assert "harald" in found[0]


def test_a_question_without_content_words_is_its_own_query(bench):
    """There is always a query."""
    assert Keywords().rewrite(_asked("Who is it?"), bench, Random(0)) == ("Who is it?",)


def test_expansion_adds_words_of_the_first_passages_but_no_names_or_numbers(bench):
    """They would narrow the search."""
    (found,) = Expand().rewrite(_asked("Fenwick Theatre seats?"), bench, Random(0))
    added = found.removeprefix("Fenwick Theatre seats ").split()
    assert added
    assert not {"lena", "krall", "820", "fenwick"} & set(added)


@pytest.mark.parametrize(
    ("text", "history", "condensed"),
    [
        ("When was it opened?", [("user", "Tell me about Alvar Bridge.")], "When was Alvar Bridge opened?"),
        ("What is its span?", [("user", "Tell me about Alvar Bridge.")], "What is Alvar Bridge's span?"),
        ("When was it opened?", [("user", "tell me about the old bridge")], "When was the old bridge opened?"),
        ("When was it opened?", [("user", "go on"), ("assistant", "We met Queen Ida there.")], "When was Queen Ida opened?"),
        ("Who is Ida?", [("user", "Tell me about Alvar Bridge.")], "Who is Ida?"),
    ],
)  # fmt: skip
def test_condensing_puts_the_name_of_the_conversation_for_the_pronoun(
    text, history, condensed, bench
):
    """Of the user's turn first; a reply's name can mislead it."""
    assert Condense().rewrite(_asked(text, *history), bench, Random(0)) == (condensed,)


def test_a_models_lines_are_the_queries(bench):
    """List marks and quotes go; an empty reply leaves the question."""
    model = _Model('1. alvar bridge\n- "opening year"\n\nsenn\nfourth')
    asked = _asked("When was it opened?", ("user", "Alvar Bridge?"))
    found = ModelRewriter(model, "keywords").rewrite(asked, bench, Random(0))
    assert found == ("alvar bridge", "opening year", "senn")
    assert model.asked[0][1] == "user: Alvar Bridge?\nQuestion: When was it opened?"
    assert ModelRewriter(_Model(" "), "rewrite").rewrite(asked, bench, Random(0)) == (asked.text,)

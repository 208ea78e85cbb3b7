"""Generators: prompts to answers."""

from random import Random

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.checks.text.refusals import refuses
from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking
from otel_raglog.lab.labelling.answers import declined
from otel_raglog.lab.llm import Reply
from otel_raglog.lab.pipelines.generators import (
    REFUSALS,
    Extractive,
    ModelGenerator,
    Prompt,
    span_answer,
)
from otel_raglog.lab.pipelines.templates import Slot

BENCH = Bench(small_corpus(), Chunking(), WordVectors())
RESTATED = "Lena Krall designed the theatre."
SLOTS = tuple(Slot(p.id, p.title, p.text) for p in BENCH.passages[4:7])


def _prompt(question, slots=SLOTS):
    return Prompt("system", "text", question, slots)


def test_the_likeliest_sentence_of_the_prompt_is_the_answer():
    """Word for word, in the shape of a whole sentence."""
    generator = Extractive(0.2, 0.0, (1, 0, 0, 0))
    reply = generator.answer(_prompt("Who designed the Fenwick Theatre?"), BENCH, Random(1))
    assert reply.text == "The Fenwick Theatre was designed by Lena Krall."
    assert reply.finish_reason == "stop"


@pytest.mark.parametrize("shape", range(4))
def test_every_shape_is_made_of_the_prompts_words(shape):
    """But for lead-ins and the question's own words."""
    shapes = tuple(float(n == shape) for n in range(4))
    for seed in range(8):
        generator = Extractive(0.2, 0.0, shapes)
        text = generator.answer(
            _prompt("Who designed the Fenwick Theatre?"), BENCH, Random(seed)
        ).text
        assert "Lena Krall" in text


def test_it_refuses_where_nothing_comes_near():
    """Also where there is nothing at all."""
    for slots in (SLOTS, ()):
        reply = Extractive(0.7, 0.0).answer(_prompt("What do bees eat?", slots), BENCH, Random(1))
        assert reply.text in REFUSALS


def test_its_refusals_are_refusals():
    """To the labels; the checks may miss a wording, as they may with a real LLM's."""
    assert all(declined(text) for text in REFUSALS)
    assert sum(map(refuses, REFUSALS)) >= 10


def test_slips_pick_other_sentences_sometimes():
    """Natural faults, decided by the randomness alone."""
    careless = Extractive(0.0, 0.4, (1, 0, 0, 0))
    found = [
        careless.answer(_prompt("Who designed the Fenwick Theatre?"), BENCH, Random(seed)).text
        for seed in range(12)
    ]
    assert len(set(found)) > 1
    again = careless.answer(_prompt("Who designed the Fenwick Theatre?"), BENCH, Random(3)).text
    assert again == found[3]


@pytest.mark.parametrize(
    ("question", "sentence", "span"),
    [
        ("When did it open?", "It opened on 3 May 1931 in Orvik.", "3 May 1931"),
        ("who designed the theatre", "The theatre was designed by Lena Krall.", RESTATED),
        ("How many coins are there?", "There are 3,400 coins.", "3,400"),
        ("Why did it close?", "It closed because of Otto Weil.", None),
        ("Who is Otto Weil?", "We met Otto Weil.", None),
    ],
)  # fmt: skip
def test_a_span_is_of_the_kind_that_the_question_asks_for(question, sentence, span):
    """Never what the question says itself; none for reasons."""
    assert span_answer(question, sentence, 0.7 if span != RESTATED else 0.3) == span


def test_a_model_gets_system_prompt_and_prompt():
    """What it replies is the answer."""

    class Model:
        def chat(self, system, user):
            return Reply(f"{system}|{user}")

    assert ModelGenerator(Model()).answer(_prompt("?"), BENCH, Random(1)).text == "system|text"

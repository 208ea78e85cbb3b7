"""Laboratory: what is run, in which order, and which clean runs get a fault."""

from collections import Counter
from itertools import islice

import pytest
from lab_kit import WordVectors, small_corpus, small_lab

from otel_raglog.errors import BadInput
from otel_raglog.lab.corpus import Corpus, Question
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.inject.registry import faults_named
from otel_raglog.lab.laboratory import Lab, absorbed, suits
from otel_raglog.lab.pipelines.registry import PIPELINES
from otel_raglog.lab.splits import Part, part_of


@pytest.fixture(scope="module")
def lab():
    """Two pipelines over the small corpora."""
    return small_lab("dense", "rewrite_dense")


@pytest.fixture(scope="module")
def natural(lab):
    """All runs of it."""
    found = (lab.run(*item) for item in lab.plan())
    return [record for record in found if record is not None]


def test_the_plan_takes_corpora_and_pipelines_in_turn_and_nothing_twice():
    """Any beginning of it is spread evenly, by the seed alone."""
    lab = Lab((small_corpus("one"), small_corpus("two")), PIPELINES, WordVectors(), seed=4)
    plan = [(c.name, q.id, p.name) for c, q, p in lab.plan()]
    assert len(plan) == len(set(plan)) == 2 * 10 * len(PIPELINES)
    assert Counter(corpus for corpus, _, _ in plan[:16]) == {"one": 8, "two": 8}
    assert max(Counter(pipeline for _, _, pipeline in plan[:16]).values()) <= 4
    assert plan == [(c.name, q.id, p.name) for c, q, p in lab.plan()]
    assert plan != [(c.name, q.id, p.name) for c, q, p in small_lab(seed=5).plan()]


@pytest.mark.parametrize("part", list(Part))
def test_a_part_of_the_plan_is_what_the_split_says(part):
    """Nothing that is kept is run."""
    questions = tuple(Question(f"q{n}", "Who?", (), ()) for n in range(30))
    corpora = tuple(Corpus(name, (), questions) for name in ("nq_oracle", "covidqa"))
    lab = Lab(corpora, PIPELINES, WordVectors())
    found = [part_of(f"{c.name}:{q.id}", p.name) for c, q, p in lab.plan(part)]
    assert set(found) == {part}


def test_a_run_is_the_same_twice(natural):
    """In a lab of its own too."""
    again = small_lab("dense", "rewrite_dense")
    first = natural[0]
    assert again.run(*again.parts(first)) == first


def test_questions_that_ask_of_nothing_are_not_run(lab):
    """All their words are everywhere; or their documents do not speak of them."""
    corpus = lab.corpora[0]
    vague = Question("v", "What is the one?", ("1931",), ("towns-d0",))
    beside = Question("b", "Which xylophone did the admiral play?", (), ("towns-d0",))
    assert lab.run(corpus, vague, lab.pipelines[0]) is None
    assert lab.run(corpus, beside, lab.pipelines[0]) is None


def test_injections_take_faults_in_turn_and_only_faultless_twins(lab, natural):
    """Each clean run serves a fault once; the most is the most."""
    faults = faults_named(("year_added", "cut_to_half", "wrong_refusal"))
    found = list(lab.injections(natural, faults, 9))
    counts = Counter(record["injected"]["type"] for record in found)
    assert set(counts) == {fault.name for fault in faults}
    assert max(counts.values()) - min(counts.values()) <= 2
    assert len({record["id"] for record in found}) == 9
    clean = {record["id"] for record in natural if suits(record, Twin.FAULTLESS)}
    assert {record["injected"]["twin"] for record in found} <= clean


def test_injections_go_on_where_they_stopped(lab, natural):
    """Two calls make what one makes."""
    faults = faults_named(("year_added", "wrong_refusal"))
    whole = list(lab.injections(natural, faults, 6))
    first = list(islice(lab.injections(natural, faults, 6), 3))
    rest = list(lab.injections(natural, faults, 6, first))
    assert sorted(r["id"] for r in [*first, *rest]) == sorted(r["id"] for r in whole)


def test_injections_end_when_no_twin_is_left(lab, natural):
    """However many are asked for."""
    found = list(lab.injections(natural, faults_named(("history_misread",)), 50))
    assert found == []


def test_a_twin_must_be_labelled_through_and_without_fault():
    """Or, for the one fault that needs it, refuse rightly."""
    clean = {
        "answer": "1931",
        "labels": {"generator": {"faulty": False}, "retriever": {"faulty": False}},
    }
    assert suits(clean, Twin.FAULTLESS)
    assert not suits({**clean, "injected": {"stage": "generator"}}, Twin.FAULTLESS)
    assert not suits({**clean, "unlabelled": {"retriever": "doubt"}}, Twin.FAULTLESS)
    assert not suits({**clean, "labels": {"retriever": {"faulty": False}}}, Twin.FAULTLESS)
    refusal = {
        "answer": "I don't know.",
        "labels": {"generator": {"faulty": False}, "retriever": {"faulty": True}},
    }
    assert not suits(refusal, Twin.FAULTLESS)
    assert suits(refusal, Twin.RIGHT_REFUSAL)
    assert not suits(clean, Twin.RIGHT_REFUSAL)


def test_an_injection_that_changed_nothing_by_the_rules_is_absorbed():
    """One that cannot be judged is neither."""
    record = {"injected": {"stage": "assembly"}, "labels": {"assembly": {"faulty": False}}}
    assert absorbed(record)
    assert not absorbed({**record, "labels": {"assembly": {"faulty": True}}})
    assert not absorbed({**record, "labels": {}})


def test_a_record_of_something_else_is_named(lab):
    """Neither corpus, question nor pipeline is guessed."""
    with pytest.raises(BadInput, match="record r: no corpus has its group 'towns:zz'"):
        lab.parts({"id": "r", "group": "towns:zz", "pipeline": "dense"})
    with pytest.raises(BadInput, match="no pipeline 'bm25' was given"):
        lab.parts({"id": "r", "group": "towns:q0", "pipeline": "bm25"})

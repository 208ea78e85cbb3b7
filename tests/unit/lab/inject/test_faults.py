"""Faults: each put into clean runs of the small corpus, and what the label rules say of them."""

from dataclasses import replace
from random import Random

import pytest
from lab_kit import small_lab

from otel_raglog.lab.follow_ups import as_asked
from otel_raglog.lab.inject.edits import entities, replaced, without
from otel_raglog.lab.inject.encoding_garbage import corrupted
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.inject.last_chunks_dropped import LastChunksDropped
from otel_raglog.lab.inject.misspelled_entity import misspelled
from otel_raglog.lab.inject.number_swapped import changed
from otel_raglog.lab.inject.registry import FAULTS
from otel_raglog.lab.laboratory import suits
from otel_raglog.lab.pipelines.execution import Setting, execute
from otel_raglog.lab.pipelines.templates import Slot
from otel_raglog.lab.vocabulary import Vocabulary
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage

OWN = {
    Stage.REWRITER: ("rewrites",), Stage.EMBEDDER: ("embedder_input",),
    Stage.RETRIEVER: ("retrieved",), Stage.RERANKER: ("reranked", "passed"),
    Stage.ASSEMBLY: ("prompt",), Stage.GENERATOR: ("answer", "prompt", "finish_reason"),
}  # fmt: skip
ORDER = list(OWN)
ABSORBED = {"one_of_several", "last_chunks_dropped", "evidence_in_middle"}
"""What the small corpus mostly absorbs: its evidence comes first, and answers stay right."""
BEFORE = {
    "rewrites": Stage.REWRITER, "embedder_input": Stage.EMBEDDER, "retrieved": Stage.RETRIEVER,
    "reranked": Stage.RERANKER,
}  # fmt: skip


@pytest.fixture(scope="module")
def lab():
    """All pipelines over the small corpora."""
    return small_lab()


@pytest.fixture(scope="module")
def natural(lab):
    """A clean run of every question on every pipeline."""
    found = (lab.run(*item) for item in lab.plan())
    return [record for record in found if record is not None]


@pytest.fixture(scope="module")
def injected(lab, natural):
    """By fault: every run that could be made with it, and its clean twin."""
    pairs = {fault.name: [] for fault in FAULTS}
    for fault in FAULTS:
        for twin in natural:
            if twin["group"].startswith("towns") and suits(twin, fault.twin):
                record = lab.run(*lab.parts(twin), fault)
                if record is not None:
                    pairs[fault.name].append((twin, record))
    return pairs


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_fault_can_be_put_into_runs_and_mostly_takes_hold(fault, injected):
    """The labels name one of the types that it is meant to make; none is never absorbed wrongly."""
    found = [record for _, record in injected[fault.name]]
    assert found
    if fault.name in ABSORBED:
        return
    labels = [r["labels"].get(fault.stage.value) for r in found]
    faulty = [label for label in labels if label and label["faulty"]]
    assert faulty
    made = {kind for label in faulty for kind in label["types"]}
    assert set(fault.types) & made
    assert all(label["why"] for label in faulty)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_what_stages_did_before_the_fault_is_as_in_the_clean_twin(fault, injected):
    """Only the fault's stage and later ones differ."""
    for twin, record in injected[fault.name]:
        assert record["injected"]["twin"] == twin["id"]
        if fault.name == "evidence_in_middle":
            continue  # it brings its neighbours along
        for key, stage in BEFORE.items():
            if ORDER.index(stage) < ORDER.index(fault.stage):
                assert record.get(key) == twin.get(key)
        assert any(record.get(key) != twin.get(key) for key in OWN[fault.stage])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_its_runs_are_run_records(fault, injected):
    """The mapping reads them; absorbed ones have no fault in the stage."""
    for _, record in injected[fault.name][:5]:
        assert run_from_record(record).run_id == record["id"]
        if record["injected"]["absorbed"]:
            assert not record["labels"][fault.stage.value]["faulty"]


def test_every_stage_has_faults_with_names_of_their_own():
    """All that the design lists."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) == 29
    assert {fault.stage for fault in FAULTS} == set(OWN)
    assert [f.name for f in FAULTS if f.twin is Twin.RIGHT_REFUSAL] == ["answer_without_evidence"]


def test_a_word_is_dropped_with_what_led_up_to_it():
    """And only as a word of its own."""
    assert without("who won the cup in 1998?", "1998") == "who won the cup?"
    assert without("the first firstborn", "first") == "firstborn"
    assert (
        replaced("when was Senn's bridge built", "senn", "Varga") == "when was Varga's bridge built"
    )


def test_entities_of_lower_case_questions_are_found_by_the_corpus():
    """By how it writes them, else by rarity."""
    told = Vocabulary(["We saw Queen Ida there.", "Bees feed on heather."])
    assert entities("who was queen ida", told) == ["queen ida"]
    assert entities("what is heather", told) == ["heather"]
    assert entities("Who was Moira Teague then?", told) == ["Moira Teague"]


@pytest.mark.parametrize("seed", range(20))
def test_slips_change_what_they_touch(seed):
    """A misspelling keeps the first letter, a number its length."""
    rng = Random(seed)
    assert misspelled("bridge", rng)[0] == "b"
    assert changed("3,400", rng) != "3,400"
    assert len(changed("3,400", rng)) == 5
    assert changed("1931", rng) != "1931"
    assert all(corrupted("bridge", kind, rng) for kind in ("marks", "wide", "escapes", "mojibake"))


@pytest.mark.parametrize("seed", range(6))
def test_dropped_passages_are_the_last_and_the_first_stays(seed, lab):
    """In most runs the evidence goes with them."""
    corpus, question, pipeline = next(item for item in lab.plan() if item[2].name == "bm25")
    run = execute(as_asked(question), setting_of(lab, corpus, question, pipeline)).execution
    evidence = Slot("e", "", corpus.documents[0].text)
    slots = (*(Slot(f"s{n}", "", "Bees feed on heather.") for n in range(3)), evidence)
    found = LastChunksDropped().inject(
        replace(run, slots=slots),
        setting_of(lab, corpus, corpus.questions[0], pipeline),
        Random(seed),
    )
    kept = found.execution.slots
    assert kept == slots[: len(kept)]
    assert 1 <= len(kept) < 4


def setting_of(lab, corpus, question, pipeline):
    """Return the surroundings of a run of ``lab``."""
    bench = lab.bench(corpus, pipeline.chunking)
    return Setting(pipeline, bench, lab.evidence(corpus, question), "key")

"""Labels: the rules of the design, one by one, on minimal pairs."""

import pytest

from otel_raglog.lab.corpus import Document, Question
from otel_raglog.lab.evidence import Evidence
from otel_raglog.lab.labels import label
from otel_raglog.lab.vocabulary import Vocabulary
from otel_raglog.model import Stage

RIGHT = "The bridge over the river Senn was opened in 1931 by Queen Ida. It is made of steel and has two towers."
WRONG = "The Corran Lighthouse guides ships past the reef. It was painted in 1950."
PERHAPS = "Some say that the Senn bridge was opened in 1931 after all."
DOCUMENTS = {"d": Document("d", "Alvar Bridge", RIGHT)}
QUESTION = "When was the first bridge over the Senn opened?"
EVIDENCE = Evidence(Question("q", QUESTION, ("1931",), ("d",)), DOCUMENTS)
VOCABULARY = Vocabulary(
    [RIGHT, WRONG, *(f"When was number {n} opened and how far is it?" for n in range(90))]
)


def _record(**more):
    texts = {"d": RIGHT, "x": WRONG, "p": PERHAPS}
    found = more.pop("found", ["x", "d"])
    passed = more.pop("passed", found)
    return {
        "question": QUESTION,
        "retrieved": [{"id": name, "text": texts[name]} for name in found],
        "passed": passed,
        "prompt": "\n".join(texts[name] for name in passed) + f"\n{QUESTION}",
        "answer": "It was opened in 1931.",
        "finish_reason": "stop",
        **more,
    }


def _label(stage, **more):
    return label(_record(**more), EVIDENCE, VOCABULARY).labels[stage]


def _types(stage, **more):
    """Return the fault types; ``None`` when the rules cannot tell, empty when there is no fault."""
    found = _label(stage, **more)
    assert found.why
    assert bool(found.types) is bool(found.faulty)
    return None if found.faulty is None else found.types


@pytest.mark.parametrize(
    ("rewrites", "types"),
    [
        (["When was the first bridge over the Senn opened?"], ()),
        (["first Senn bridge opening"], ()),
        (["first bridge opened", "Senn bridge"], ()),
        (["first bridge over the Senn opened, steel towers construction"], ()),
        (["When was the bridge over the Senn opened?"], ("drops_constraint",)),
        (["When was the first bridge opened?"], ("drops_constraint",)),
        (["When was the first bridge over the Senn opened in 2009?"], ("adds_constraint",)),
        (["When was the first bridge over the Corran opened?"], ("changes_entity",)),
        (["When did the first river crossing on the Senn open?"], None),
        (["first Senn"], ("drops_constraint",)),
        (["When was the first bridge over the Senn not opened?"], ("changes_intent",)),
        (["Why was the first bridge over the Senn opened?"], ("changes_intent",)),
    ],
)
def test_a_rewriter_is_faulty_when_a_constraint_entity_or_intent_changed(rewrites, types):
    """Keyword form, several queries and expansion are no faults."""
    assert _types(Stage.REWRITER, rewrites=rewrites) == types


def test_a_follow_up_is_compared_as_it_reads_standalone():
    """What the history gave is no addition; what it did not give back is lost."""
    told = {
        "question": "When was it opened?",
        "history": [["user", "Tell me about the first bridge over the Senn."]],
        "reference": {"standalone": QUESTION},
    }
    assert _types(Stage.REWRITER, rewrites=[QUESTION], **told) == ()
    assert _types(Stage.REWRITER, rewrites=["When was it opened?"], **told) == ("drops_constraint",)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (QUESTION, ()),
        ("when was the first bridge over the senn opened", ()),
        ("When was the first bridge", ("truncated_input",)),
        ("When was the first bridge over the Snen opened?", ("misspelled_input",)),
        (f"{QUESTION} Bees feed on heather", ("altered_input",)),
        ("When was the first br\ufffd\ufffdge over the Senn opened?", ("corrupted_input",)),
    ],
)
def test_an_embedder_is_faulty_when_its_text_alters_the_query(text, types):
    """Case and marks are no alteration."""
    assert _types(Stage.EMBEDDER, embedder_input=text) == types


def test_a_surname_alone_leaves_the_label_open():
    """It may do; the whole name gone does not."""
    told = {"question": "Which lighthouse did Moira Teague keep?"}
    assert _types(Stage.REWRITER, rewrites=["lighthouse teague keep"], **told) is None
    assert _types(Stage.REWRITER, rewrites=["lighthouse keep"], **told) == ("drops_constraint",)


def test_an_answer_with_a_part_of_the_known_one_leaves_the_label_open():
    """A party may be named in two words or in three; words of the question say nothing."""
    text = "Labor is strongest in the west. The Australian Labor Party won in Melbourne."
    question = Question("q", "Which party won in Melbourne?", ("Australian Labor Party",), ("d",))
    evidence = Evidence(question, {"d": Document("d", "", text)})
    for answer, faulty in (("It was Labor.", None), ("A party in Melbourne.", True)):
        record = {
            "question": question.text, "retrieved": [{"id": "d", "text": text}], "passed": ["d"],
            "prompt": text, "answer": answer,
        }  # fmt: skip
        assert label(record, evidence, VOCABULARY).labels[Stage.GENERATOR].faulty is faulty


def test_an_embedder_is_held_against_the_rewrite():
    """The rewriter's faults stay the rewriter's."""
    told = {
        "rewrites": ["Corran reef", "Senn bridge"],
        "embedder_input": ["Corran reef", "Senn bridge"],
    }
    assert _types(Stage.EMBEDDER, **told) == ()


@pytest.mark.parametrize(
    ("found", "types"),
    [
        (["x", "d"], ()),
        (["x"], ("no_relevant_chunk",)),
        ([], ("empty_result",)),
        (["x", "p"], None),
    ],
)
def test_a_retriever_is_faulty_when_no_passage_holds_evidence(found, types):
    """Where one might, nothing is said."""
    assert _types(Stage.RETRIEVER, found=found) == types


@pytest.mark.parametrize(
    ("found", "passed", "types"),
    [
        (["x", "d"], ["d"], ()),
        (["x", "d"], ["x"], ("evidence_excluded",)),
        (["x"], ["x"], ()),
        (["x", "d", "p"], ["p"], None),
    ],
)
def test_a_reranker_is_faulty_when_it_excludes_evidence(found, passed, types):
    """Only what was retrieved can be excluded; the order alone is no fault."""
    assert _types(Stage.RERANKER, found=found, passed=passed, reranked=[]) == types


@pytest.mark.parametrize(
    ("prompt", "types"),
    [
        (RIGHT, ()),
        (WRONG, ("evidence_dropped",)),
        ("The bridge over the river Senn was opened in 1931 by Queen", ()),
        ("The bridge over the river Senn was", ("evidence_truncated",)),
    ],
)
def test_assembly_is_faulty_when_selected_evidence_is_not_in_the_prompt(prompt, types):
    """A cut passage that still states the answer is none."""
    assert _types(Stage.ASSEMBLY, prompt=f"{prompt}\n\n{QUESTION}") == types


def test_blank_slots_are_faults_and_lost_passages_without_evidence_none():
    """Whatever stands in the other slots."""
    assert _types(Stage.ASSEMBLY, reference={"blank_slots": 1}) == ("blank_context",)
    assert _types(Stage.ASSEMBLY, found=["x"], prompt=QUESTION) == ()


@pytest.mark.parametrize(
    ("answer", "types"),
    [
        ("1931", ()),
        ("The bridge was opened in 1931 by Queen Ida.", ()),
        ("The ribbon was cut in the year of 1931 by Queen Ida.", None),
        ("The lighthouse was painted in 1950.", ("unsupported_claim",)),
        ("It was painted in 1950.", ("off_question",)),
        ("It was opened in 1931, under Mayor Olaf Brandt.", ("unsupported_claim",)),
        ("It was opened in 1931 after 77 years.", ("misstated_number",)),
        ("I don't know.", ("wrong_refusal",)),
        ("None of the passages answers this question.", ("wrong_refusal",)),
        ("", ("incomplete",)),
    ],
)
def test_a_generator_with_evidence_must_state_the_answer_and_nothing_that_is_not_there(
    answer, types
):
    """Names and numbers of its own are unsupported, however right the rest."""
    assert _types(Stage.GENERATOR, answer=answer) == types


@pytest.mark.parametrize(
    ("answer", "types"),
    [
        ("I don't know.", ()),
        ("It was painted in 1950.", ("should_abstain",)),
        ("It was opened in 1931.", ("should_abstain", "unsupported_claim")),
    ],
)
def test_a_generator_without_evidence_must_refuse(answer, types):
    """A lucky answer is unsupported all the same."""
    assert _types(Stage.GENERATOR, found=["x"], answer=answer) == types


def test_a_broken_off_answer_is_a_fault_and_doubtful_prompts_say_nothing():
    """The provider's word is enough."""
    assert _types(Stage.GENERATOR, finish_reason="length") == ("output_truncated",)
    assert _types(Stage.GENERATOR, found=["p"]) is None
    assert _types(Stage.GENERATOR, found=["p"], answer="I don't know.") is None


def test_a_sentence_of_a_document_is_no_refusal():
    """However much it sounds like one."""
    text = "He was told not to, so that he cannot say when it was opened, he does not know."
    told = {"prompt": f"{RIGHT}\n{text}\n{QUESTION}", "answer": text}
    assert _types(Stage.GENERATOR, **told) == ("off_question",)


def test_what_an_injection_swapped_is_a_fault_where_the_answer_still_stands():
    """The words alone could not tell."""
    swapped = {"stage": "generator", "type": "name_swapped", "before": "Ida", "after": "Senn"}
    told = {"answer": "It was opened in 1931 by Queen Senn."}
    assert _types(Stage.GENERATOR, **told) == ()
    assert _types(Stage.GENERATOR, injected=swapped, **told) == ("unsupported_claim",)


def test_a_stage_that_did_not_run_has_no_label_and_doubts_are_listed_apart():
    """Labels are facts; the rest is a reason."""
    found = label(_record(found=["p"]), EVIDENCE, VOCABULARY).as_record()
    assert set(found["labels"]) == {"assembly"}
    assert set(found["unlabelled"]) == {"retriever", "generator"}

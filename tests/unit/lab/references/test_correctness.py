"""Whether answers are right: as recorded, by their words, by an LLM."""

import json

import pytest
from judge_fakes import FakeClient

from otel_raglog.errors import BadInput, Rejected, Unavailable
from otel_raglog.judge.redacting import Redactor
from otel_raglog.lab.references.correctness import (
    By,
    Correctness,
    correctness_of,
    known_correctness,
    states_reference,
    with_correctness,
)


def record(answer="It was opened in 1931.", run_id="r1", **reference):
    reference = {"answers": ["1931"], **reference}
    return {
        "id": run_id,
        "question": "When was the bridge opened?",
        "answer": answer,
        "reference": reference,
    }


def judged(item, client=None):
    return next(correctness_of([item], client))


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (True, Correctness.CORRECT),
        (False, Correctness.WRONG),
        ("partly", Correctness.PARTLY),
        ("no", Correctness.WRONG),
    ],
)
def test_what_is_recorded_is_taken(value, found):
    """Without asking anybody, whatever the words say."""
    client = FakeClient([{"correct": "yes"}])
    assert (judged(record(correct=value), client).correctness, client.asked) == (found, [])
    assert judged(record(correct=value)).by is By.RECORD


@pytest.mark.parametrize(
    ("answer", "references", "right"),
    [
        ("1931", ["1931"], True),
        ("The Duke Harald.", ["duke harald"], True),
        ("It was opened in 1931, by Queen Ida.", ["1902", "1931"], True),
        ("It was opened in 1930.", ["1931"], False),
        ("It was not opened in 1931.", ["1931"], False),
        ("The context does not say whether it was 1931.", ["1931"], False),
        ("Said so in 1931. " + "More words about other things. " * 20, ["1931"], False),
        ("the bridge", ["bridge"], True),
        ("The bridge was painted.", ["bridge"], False),
        ("About 1.5 million people.", ["5 million"], False),
        ("About 1.5 million people.", ["1.5 million"], True),
        ("About 5 million.", ["5"], False),
        ("It is about 3,500 m.", ["500"], False),
        ("It is about 3,500 m.", ["3500"], True),
        ("Some 3 500 of them.", ["500"], False),
        ("It is 3.14.", ["14"], False),
        ("At 22:15.", ["15"], False),
        ("On 2019-05-14.", ["14"], False),
        ("It takes 5-10 days.", ["10 days"], False),
        ("It was -5 degrees.", ["5 degrees"], False),
        ("It cost .5 million.", ["5 million"], False),
        ("Twenty-five of them.", ["five"], False),
        ("One hundred and five.", ["five"], False),
        ("On May 1, 1931.", ["1931"], True),
        ("He lost to Federer.", ["Federer"], True),
        ("", ["1931"], False),
        ("1931", ["", "?"], False),
    ],
)
def test_right_by_words(answer, references, right):
    """Equal, or contained in a short answer that neither refuses, negates nor repeats the question."""
    question = "When was the bridge opened?"
    assert states_reference(answer, references, question) is right


def test_words_never_call_an_answer_wrong():
    """What they do not tell is unknown, and so is what has no reference or no answer."""
    assert judged(record()).correctness is Correctness.CORRECT
    assert judged(record()).by is By.WORDS
    for item in (record("In 1902."), record(answers=[]), {"id": "r", "answer": "x"}, {"id": "r"}):
        found = judged(item)
        assert (found.correctness, found.by) == (Correctness.UNKNOWN, By.NOBODY)
        assert found.why_not


def test_an_llm_is_asked_in_one_small_call():
    """It sees question, reference answers and answer between delimiters, and nothing else of the run."""
    client = FakeClient([{"correct": "partly"}])
    item = {**record("In 1902, I think."), "prompt": "THE PROMPT"}
    found = judged(item, client)
    assert (found.correctness, found.by) == (Correctness.PARTLY, By.LLM)
    (request,) = client.asked
    for text in ("When was the bridge opened?", "1931", "In 1902, I think."):
        assert text in request.prompt
    assert "THE PROMPT" not in request.prompt
    assert request.schema["required"] == ["correct"]
    assert request.max_tokens <= 200


LONG = "Some more words. " * 4_000


def test_an_answer_that_is_too_long_is_not_judged_in_part():
    """What comes after a cut may be what is right; nobody is asked."""
    client = FakeClient([{"correct": "no"}])
    found = judged(record(LONG + "It was opened in 1931."), client)
    assert (found.correctness, found.by, found.failed) == (Correctness.UNKNOWN, By.NOBODY, False)
    assert "too long" in found.why_not
    assert client.asked == []


def test_answers_of_several_pages_are_shown_whole():
    """Their end counts as their beginning does."""
    client = FakeClient([{"correct": "yes"}])
    assert judged(record(LONG[:20_000] + "THE END"), client).correctness is Correctness.CORRECT
    assert "THE END" in client.asked[0].prompt


@pytest.mark.parametrize(
    "item",
    [
        {**record("In 1902."), "question": f"WHEN {LONG} IN THE END?"},
        record("In 1902.", answers=[f"WHEN {LONG} IN THE END?", "1931"]),
    ],
)
def test_nothing_is_called_wrong_by_a_shortened_text(item):
    """Beginning and end are shown, and what is left out is said; only right answers are told."""
    client = FakeClient([{"correct": "no"}, {"correct": "partly"}, {"correct": "yes"}])
    found = [judged(item, client).correctness for _ in range(3)]
    assert found == [Correctness.UNKNOWN, Correctness.UNKNOWN, Correctness.CORRECT]
    prompt = client.asked[0].prompt
    assert prompt.index("WHEN") < prompt.index("characters of") < prompt.index("IN THE END?")
    assert "In 1902." in prompt


def test_what_is_redacted_is_not_sent_and_makes_nothing_wrong():
    """Neither from the question, nor from references, nor from the answer."""

    def ask(item, *says):
        client = FakeClient(list(says))
        found = next(correctness_of([item], client, redact=Redactor([r"\w+@\w+"]).text))
        return found.correctness, "".join(ask.prompt for ask in client.asked)

    about = {**record("By 1902."), "question": "When was a@b made?"}
    found, sent = ask(about, {"correct": "no"})
    assert (found, "a@b" in sent) == (Correctness.UNKNOWN, False)
    assert "When was [redacted] made?" in sent
    found, sent = ask(record("It is c@d.", answers=["1931"]), {"correct": "no"})
    assert (found, "c@d" in sent) == (Correctness.UNKNOWN, False)
    found, sent = ask(record("It is 1931.", answers=["1931, says e@f"]), {"correct": "yes"})
    assert (found, "e@f" in sent) == (Correctness.CORRECT, False)
    found, sent = ask(record("Ask c@d.", answers=["e@f"]), {"correct": "yes"})
    assert (found, sent) == (Correctness.UNKNOWN, "")


def test_beyond_the_budget_nothing_is_said_of_an_answer():
    """Not by its words either, so that the LLM is asked about it next time."""
    found = judged(record(), FakeClient([Rejected("judge.budget.usd_per_hour: x", "budget")]))
    assert (found.correctness, found.by) == (Correctness.UNKNOWN, By.NOBODY)
    assert (found.failed, found.over_budget) == (True, True)
    assert with_correctness(record(), found, "m") == record()


def test_a_question_of_a_conversation_is_shown_by_itself():
    """Where the record has it so."""
    client = FakeClient([{"correct": "yes"}])
    judged(record(standalone="When was the Alvar Bridge opened?"), client)
    assert "Alvar" in client.asked[0].prompt


@pytest.mark.parametrize("failure", [Unavailable("busy"), Rejected("no", "too_large"), "no JSON"])
def test_where_the_llm_fails_words_remain(failure):
    """And the failure is told."""
    assert judged(record(), FakeClient([failure])).correctness is Correctness.CORRECT
    found = judged(record("In 1902."), FakeClient([failure]))
    assert found.correctness is Correctness.UNKNOWN
    assert found.why_not


def test_a_refused_key_ends_it():
    """Every other call would be refused too."""
    with pytest.raises(Rejected):
        judged(record("x"), FakeClient([Rejected("no", "unauthorized")]))


def test_answers_come_in_order_although_calls_run_at_once():
    """Four at a time by default."""
    items = [record(f"answer {number}", run_id=f"r{number}") for number in range(20)]
    client = FakeClient(lambda ask: {"correct": "yes" if "answer 7" in ask.prompt else "no"})
    found = list(correctness_of(items, client))
    assert [each.run_id for each in found] == [item["id"] for item in items]
    assert [each.run_id for each in found if each.correctness is Correctness.CORRECT] == ["r7"]


def test_what_was_found_is_written_beside_the_reference():
    """With who said so; a record that has it keeps its own, and read again it is the same."""
    item = record("In 1902.")
    found = judged(item, FakeClient([{"correct": "no"}]))
    written = with_correctness(item, found, "fake:m")
    assert written["reference"] == {"answers": ["1931"], "correct": False, "correct_by": "fake:m"}
    assert (judged(written).correctness, judged(written).by) == (Correctness.WRONG, By.LLM)
    assert "correct" not in item["reference"]
    partly = with_correctness(item, judged(item, FakeClient([{"correct": "partly"}])), "m")
    assert partly["reference"]["correct"] == "partly"
    by_words = with_correctness(record(), judged(record()), "m")
    assert by_words["reference"]["correct_by"] == "words"
    assert judged(by_words).by is By.WORDS
    own = record(correct=True)
    assert with_correctness(own, judged(own), "m") == own


def test_references_of_csv_are_read():
    """They are JSON in a text."""
    item = {**record("In 1902."), "reference": json.dumps({"answers": ["1902"]})}
    assert judged(item).correctness is Correctness.CORRECT


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ({"correct": "perhaps"}, "reference.correct"),
        ({"answers": [1]}, "reference.answers"),
        ([], "reference"),
    ],
)
def test_malformed_references_are_named(reference, named):
    """With the record and the key."""
    with pytest.raises(BadInput, match=rf"'r1': {named}: must be"):
        judged({"id": "r1", "answer": "x", "reference": reference})


def test_ids_of_which_two_things_are_known_are_left_out():
    """Rather than that one of them counts for both."""
    wrong = record(run_id="r2", correct=False)
    malformed = record(run_id="r3", correct="perhaps")
    known, problems = known_correctness(
        [record(), record(run_id="r2"), wrong, malformed, record(run_id="r1")]
    )
    assert len(problems) == 1
    assert "'r3'" in problems[0]
    assert {run_id: each.correctness for run_id, each in known.items()} == {
        "r1": Correctness.CORRECT
    }

"""The answer against the prompt, by words."""

from dataclasses import replace

import pytest
from handbook_runs import QUESTION, make_run

from otel_raglog.checks.rules.generator import GeneratorRules
from otel_raglog.model import NOT_CAPTURED, Measurement, Run, present

GOOD = "Full-time employees get 25 days of paid vacation per calendar year."


def found(run: Run) -> dict[str, Measurement]:
    return {m.name.removeprefix("generator."): m for m in GeneratorRules().measure(run)}


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("numbers_unsupported", "Full-time employees get 28 days of paid vacation."),
        ("names_unsupported", "Full-time employees get 25 days, says Peter Müller."),
        ("words_unsupported_share", "Full-time employees get sabbaticals, bonuses and lunches."),
        ("answer_kind_missing", "Full-time employees get plenty of paid vacation."),
        ("answer_kind_missing", "No"),
        ("answer_kind_missing", "No, employees get plenty of paid vacation."),
        ("answer_empty", " "),
        ("refuses", "I could not find this in the context."),
        (
            "unfinished",
            (
                "Full-time employees get 25 days of paid vacation per calendar year and part-time "
                "employees get a pro rata share of it while unused days expire on 31 March so that"
            ),
        ),
    ],
)
def test_minimal_pairs(name: str, bad: str) -> None:
    """A grounded answer measures zero, a faulty one more."""
    assert found(make_run(answer=GOOD))[name].value == 0
    value = found(make_run(answer=bad))[name].value
    assert value is not None
    assert value > 0


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("length", "cut_off"),
        ("MAX_TOKENS", "cut_off"),
        ("FinishReason.MAX_TOKENS", "cut_off"),
        ("content_filter", "blocked"),
    ],
)
def test_finish_reasons_of_several_providers(reason: str, name: str) -> None:
    """In the spelling of each."""
    assert found(make_run(finish_reason=reason))[name].value == 1
    assert found(make_run(finish_reason="stop"))[name].value == 0
    assert found(make_run(finish_reason=None))[name].value is None


def test_the_answer_is_held_against_the_prompt_and_not_against_retrieval() -> None:
    """What assembly dropped supports nothing."""
    run = make_run(answer="They get 25 days.", in_prompt=["remote", "expenses"])
    assert found(run)["numbers_unsupported"].value == 1


def test_joint_support_needs_question_and_answer_in_one_chunk() -> None:
    """An answer out of a chunk about something else has none."""
    good = found(make_run(answer=GOOD))["joint_support"].value
    bad = found(make_run(answer="They get three, with HR portal approval by managers."))[
        "joint_support"
    ].value
    assert good is not None
    assert bad is not None
    assert good > 0.6 > 0.3 > bad


def test_a_refusal_makes_no_claims() -> None:
    """Grounding is not measured on it."""
    measurements = found(make_run(answer="The context does not specify this."))
    assert measurements["numbers_unsupported"].value is None


def test_sentences_that_decline_make_no_claims() -> None:
    """What is accumulated from several chunks says of most of them that they do not tell."""
    plain = found(make_run())["words_unsupported_share"].value
    answer = f"{make_run().answer.value} This chapter does not mention any such entitlement."
    assert found(make_run(answer=answer))["words_unsupported_share"].value == plain


def test_an_abbreviation_of_the_answers_own_words_is_no_new_name() -> None:
    """A head-up display may be called HUD."""
    answer = "They get paid vacation days (PVD), 25 a year."
    assert found(make_run(answer=answer))["names_unsupported"].value == 0


def test_without_a_recorded_prompt_the_selected_chunks_stand_in() -> None:
    """Run records without a prompt can still be judged."""
    run = make_run(answer="They get 28 days.")
    step = replace(run.assemblies[0], prompt=NOT_CAPTURED, context=NOT_CAPTURED)
    bare = replace(
        run,
        assemblies=(step,),
        generators=(replace(run.generators[0], messages=NOT_CAPTURED),),
    )
    assert found(bare)["numbers_unsupported"].value == 1


def test_a_prompt_without_context_is_measured() -> None:
    """The question itself is no context."""
    run = make_run(prompt=f"Answer: {QUESTION}")
    assert found(run)["context_empty"].value == 1
    assert found(make_run())["context_empty"].value == 0


def reworded(draft: str, answer: str) -> Run:
    run = make_run(answer=answer)
    return replace(run, generators=(replace(run.generators[0], draft=present(draft)),))


def test_a_later_wording_adds_no_claims_but_numbers_and_names() -> None:
    """Friendly words, marks and another language are not invented; a name is, and so is a draft."""
    warm = found(reworded(GOOD, f"Lovely question, dear colleague! {GOOD} Have a wonderful day!"))
    assert (
        warm["words_unsupported_share"].value
        == found(make_run(answer=GOOD))["words_unsupported_share"].value
    )
    assert warm["numbers_unsupported"].value == 0
    german = found(reworded(GOOD, "Vollzeitkräfte bekommen 25,0 Tage bezahlten Urlaub."))
    assert (german["numbers_unsupported"].value, german["names_unsupported"].value) == (0, 0)
    named = found(reworded(GOOD, f"<p>Dear colleague,</p> {GOOD} Ask Meadow Holdings for more."))
    assert named["names_unsupported"].value == 1
    changed = found(reworded(GOOD, GOOD.replace("25", "28")))
    assert changed["numbers_unsupported"].value == 1
    invented = found(reworded(GOOD.replace("25", "28"), "Vollzeitkräfte bekommen Urlaub."))
    assert invented["numbers_unsupported"].value == 1


def test_a_refusal_is_known_by_its_draft() -> None:
    """In whatever words or language the user gets it."""
    assert found(reworded("I could not find this.", "Das steht da leider nicht."))["refuses"].value


@pytest.mark.parametrize(
    "answer",
    [
        f"{GOOD} [1]\n\nSources:\n[1] leave.md (https://desk.example/leave)",
        f"{GOOD}\n\nSource: handbook p. 3",
        f'{{"answer": "{GOOD}", "sources": [9], "confidence": "high", "reasoning": "As told."}}',
    ],
)
def test_what_wraps_an_answer_is_no_claim(answer: str) -> None:
    """Lists of sources, citation marks, and fields of JSON beside the answer."""
    plain, wrapped = found(make_run(answer=GOOD)), found(make_run(answer=answer))
    for name in ("numbers_unsupported", "names_unsupported", "words_unsupported_share"):
        assert wrapped[name].value == plain[name].value
    assert wrapped["citations_unknown"].value == 0


def titled(answer: str, title: str | None = "leave.md") -> Run:
    """Return a run whose chunks have the title."""
    run = make_run(answer=answer)
    chunks = run.retrievers[0].chunks.value or ()
    step = replace(
        run.retrievers[0], chunks=present(tuple(replace(c, title=title) for c in chunks))
    )
    return replace(run, retrievers=(step,))


def test_a_citation_of_what_was_not_retrieved_is_told() -> None:
    """By a name that no chunk has where they have names, or by too high a number."""
    assert found(titled(f"{GOOD} (leave.md)"))["citations_unknown"].value == 0
    strange = found(titled(f"{GOOD} (bonus.md)"))["citations_unknown"]
    assert strange.value == 1
    assert "bonus.md" in strange.evidence
    assert found(titled(f"{GOOD} (bonus.md)", title=None))["citations_unknown"].value == 0
    assert found(make_run(answer=f"{GOOD} [3]"))["citations_unknown"].value == 0
    assert found(make_run(answer=f"{GOOD} [17]"))["citations_unknown"].value == 1


def test_titles_of_chunks_are_known_to_the_answer() -> None:
    """It may say where it read something."""
    said = "Full-time employees get 25 days of vacation, says Tarrow Almanac."
    assert found(make_run(answer=said))["names_unsupported"].value == 1
    assert found(titled(said, "Tarrow Almanac"))["names_unsupported"].value == 0

"""What an LLM is shown of a run."""

import pytest
from judge_views import ANSWER, CHUNK, NONCE, QUESTION, run_with, view_with

from otel_raglog.checks.judge.budget import estimated_tokens
from otel_raglog.checks.judge.prompting import prompt_of
from otel_raglog.checks.judge.view import JudgeView, Section, by_words, view_of
from otel_raglog.model import Stage

LONG = "Some other town has a bridge of its own, which is old. " * 200


def section(view: JudgeView, label: str) -> Section:
    return next(part for part in view.sections if part.label == label)


def texts(view: JudgeView, label: str) -> list[str]:
    return [shown.excerpt.text for shown in section(view, label).shown]


def test_a_small_run_is_shown_whole() -> None:
    """And nothing is reported as left out."""
    view = view_with(excluded=["The bridge is red."])
    assert texts(view, "question") == [QUESTION]
    assert texts(view, "passed chunk") == [CHUNK]
    assert texts(view, "excluded chunk") == ["The bridge is red."]
    assert texts(view, "answer") == [ANSWER]
    assert view.left_out == ()
    assert {Stage.RETRIEVER, Stage.RERANKER, Stage.GENERATOR} == view.stages


def test_of_many_excluded_chunks_those_nearest_to_the_question_are_shown() -> None:
    """In the run's order; how many are not shown is told."""
    others = [f"Remark {n} on the weather." for n in range(9)]
    view = view_of(run_with(excluded=[*others, "The Arlen bridge opened in May."]), max_excluded=2)
    assert texts(view, "excluded chunk")[-1] == "The Arlen bridge opened in May."
    assert section(view, "excluded chunk").notes == ("8 further excluded chunks not shown",)
    assert view.left_out == ("8 further excluded chunks not shown",)


def test_who_ranks_the_excluded_chunks_is_an_argument() -> None:
    """It gets the question and all of their texts, and is not asked when all are shown."""
    seen = []

    def rank(question: str, found: tuple[str, ...]) -> list[float]:
        seen.append((question, len(found)))
        return [float(text == "d") for text in found]

    run = run_with(excluded=["a", "b", "c", "d"])
    assert texts(view_of(run, max_excluded=1, rank=rank), "excluded chunk") == ["d"]
    assert seen == [(QUESTION, 4)]
    view_of(run, max_excluded=4, rank=rank)
    assert len(seen) == 1


def test_passed_chunks_that_do_not_fit_are_shortened_all_of_them_shown() -> None:
    """A short one stays whole; first and last part of the long ones are kept."""
    view = view_of(run_with(passed=[LONG + "end.", CHUNK, LONG]), max_prompt_tokens=3_000)
    first, whole, last = section(view, "passed chunk").shown
    assert whole.excerpt.left_out == 0
    assert first.excerpt.head.startswith("Some other town")
    assert first.excerpt.tail.endswith("end.")
    assert first.excerpt.left_out > 0
    assert last.excerpt.left_out > 0
    assert view.left_out[0].startswith("2 passed chunks shortened by ")


def test_excluded_chunks_have_a_share_even_beside_long_passed_ones() -> None:
    """Otherwise nobody could tell what a reranker lost."""
    view = view_of(run_with(passed=[LONG] * 4, excluded=[CHUNK, LONG]), max_prompt_tokens=3_000)
    assert len(texts(view, "passed chunk")) == 4
    assert CHUNK in texts(view, "excluded chunk")


def test_passed_chunks_without_number_are_left_out_and_told() -> None:
    """Those nearest to the question stay."""
    view = view_of(
        run_with(passed=[*(f"Remark {n}." for n in range(500)), CHUNK]), max_prompt_tokens=2_000
    )
    shown = texts(view, "passed chunk")
    assert CHUNK in shown
    assert section(view, "passed chunk").notes == (
        f"{501 - len(shown)} further passed chunks not shown",
    )


@pytest.mark.parametrize("budget", [1_500, 3_000, 8_000, 20_000])
@pytest.mark.parametrize("text", [LONG, "東京の橋。" * 900, "\x00a" * 3_000, "\u200b" * 6_000])
def test_the_prompt_keeps_to_its_budget(budget: int, text: str) -> None:
    """Whatever the run holds, in whatever script."""
    run = run_with(
        text,
        text,
        [text] * 9,
        [text] * 30,
        rewrites=[text] * 20,
        embedder_input=text,
        history=[["user", text]] * 20,
    )
    view = view_of(run, max_prompt_tokens=budget)
    assert estimated_tokens(prompt_of(view, NONCE)) <= budget
    assert texts(view, "question")
    assert texts(view, "answer")
    assert texts(view, "passed chunk")


def test_the_last_turns_are_shown() -> None:
    """What was said long ago matters least."""
    view = view_with(history=[["user", f"turn {n}"] for n in range(9)])
    assert texts(view, "earlier turn") == [f"turn {n}" for n in range(3, 9)]
    assert section(view, "earlier turn").notes == ("3 further earlier turns not shown",)


def test_a_text_has_a_name() -> None:
    """With its number where there may be several."""
    assert Section("question").name_of(1) == "question"
    assert Section("passed chunk").name_of(2) == "passed chunk 2"


def test_chunks_rank_by_the_words_of_the_question() -> None:
    """The default needs no model."""
    best, worst = by_words(QUESTION, [CHUNK, "It rains."])
    assert best > worst


@pytest.mark.parametrize("place", ["question", "rewrites", "embedder_input", "history"])
def test_nothing_is_cut_before_it_is_counted(place: str) -> None:
    """Of a text that is too long, what is left out is told to the character."""
    text = "word " * 12_000
    value = {"rewrites": [text], "history": [["user", text]]}.get(place, text)
    whole = view_of(run_with(**{place: value}), max_prompt_tokens=200_000)  # type: ignore[arg-type]
    assert whole.left_out == ()
    view = view_of(run_with(**{place: value}), max_prompt_tokens=8_000)  # type: ignore[arg-type]
    (excerpt,) = (s.excerpt for part in view.sections for s in part.shown if s.excerpt.left_out)
    assert abs(len(excerpt.head) + len(excerpt.tail) + excerpt.left_out - len(text)) <= 2

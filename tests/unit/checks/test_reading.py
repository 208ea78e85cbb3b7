"""What checks read of a run."""

from dataclasses import replace

import pytest
from handbook_runs import HANDBOOK, QUESTION, chunk, make_run

from otel_raglog.checks.reading import (
    answer_of,
    claims_of,
    context_of,
    history_of,
    question_forms,
    question_of,
    restated,
    retrieved_of,
    rewrites_of,
    searched_besides,
    selected_of,
    shortened,
)
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    FieldStatus,
    Loss,
    Message,
    RewriteKind,
    missing,
    present,
)


def test_retrieval_is_the_union_over_hops() -> None:
    """Each chunk once, in order."""
    run = make_run(retrieved=["vacation", "remote"])
    second = replace(run.retrievers[0], chunks=present((chunk("remote"), chunk("laptops"))))
    union = retrieved_of(replace(run, retrievers=(*run.retrievers, second)))
    assert [c.id for c in union or ()] == ["vacation", "remote", "laptops"]


def test_retrieval_that_was_not_recorded_is_unknown_and_not_empty() -> None:
    """Missing is not zero."""
    run = make_run()
    hidden = replace(run.retrievers[0], chunks=missing(FieldStatus.REDACTED))
    assert retrieved_of(replace(run, retrievers=(hidden,))) is None
    assert retrieved_of(make_run(retrieved=[])) == ()


def test_without_reranker_and_assembly_the_retrieved_chunks_are_selected() -> None:
    """Nobody else chose."""
    run = replace(make_run(retrieved=["vacation"]), assemblies=())
    assert selected_of(run) == (chunk("vacation"),)


def test_the_context_is_what_the_prompt_holds() -> None:
    """A dropped chunk is not in it."""
    context = context_of(make_run(in_prompt=["remote"]))
    assert context is not None
    assert context.pieces == (HANDBOOK["remote"],)


def test_a_prompt_with_the_question_alone_has_no_context() -> None:
    """The question would look relevant to itself."""
    context = context_of(make_run(prompt=f"Context:\n\nQuestion: {QUESTION}"))
    assert context is not None
    assert context.pieces == ()


def test_a_call_that_saw_only_what_others_made_of_the_chunks() -> None:
    """Its own prompt, without the question, is a piece beside the chunks that they saw."""
    run = make_run(in_prompt=["remote"])
    own = (Message("user", f"Answer from: two days at home.\n{QUESTION}"),)
    reduced = replace(run, generators=(replace(run.generators[-1], messages=present(own)),))
    context = context_of(reduced)
    assert context is not None
    assert context.pieces[0] == HANDBOOK["remote"]
    assert "two days at home" in context.pieces[1]
    assert QUESTION not in context.pieces[1]


def test_chunks_whose_text_was_lost_are_read_from_the_prompt() -> None:
    """The generator is not judged by the chunks alone whose text happened to be recorded."""
    run = make_run(in_prompt=["remote", "vacation"])
    assembly = replace(
        run.assemblies[-1],
        selected=present((chunk("remote"), replace(chunk("vacation"), text=""))),
        context=present(f"{HANDBOOK['remote']}\n\n{HANDBOOK['vacation']}"),
    )
    context = context_of(replace(run, assemblies=(assembly,)))
    assert context is not None
    assert context.pieces == (HANDBOOK["remote"], HANDBOOK["vacation"])


def test_chunks_that_were_evicted_whole_are_read_from_the_prompt() -> None:
    """Where attributes were dropped, what stands in the context beside the known chunks counts."""
    run = make_run(in_prompt=["remote", "vacation"])
    whole = f"{HANDBOOK['remote']}\n\n{HANDBOOK['vacation']}"
    selected = present((chunk("remote"),))
    assembly = replace(run.assemblies[-1], selected=selected, context=present(whole))
    left = replace(run, assemblies=(assembly,))
    for loss, pieces in ((Loss(dropped_attributes=6), 2), (Loss(gaps=("x.0.",)), 2), (Loss(), 1)):
        context = context_of(replace(left, loss=loss))
        assert context is not None
        assert len(context.pieces) == pieces


def test_a_follow_up_has_a_form_with_its_conversation() -> None:
    """From the history, or else from a condensed rewrite."""
    told = make_run("And there?", history=[("user", "Leave in Austria?"), ("assistant", "16.")])
    assert question_forms(told) == ("And there?", "Leave in Austria?\nAnd there?")
    condensed = make_run("And there?", rewrites=["Leave in Austria?"], kind=RewriteKind.CONDENSE)
    assert question_forms(condensed) == ("And there?", "Leave in Austria?")
    assert question_forms(make_run(rewrites=["Other?"])) == (QUESTION,)


def test_an_empty_answer_is_an_answer_and_a_missing_one_is_none() -> None:
    """An empty answer is a finding."""
    assert answer_of(make_run(answer="")) == ""
    run = make_run()
    bare = replace(run.generators[0], answer=NOT_CAPTURED)
    assert answer_of(replace(run, answer=NOT_CAPTURED, generators=(bare,))) is None


def test_a_short_context_counts_when_no_chunk_can_be_read() -> None:
    """With content capture off chunks are ids; the prompt still holds the context."""
    record = {
        "id": "x",
        "question": "What is the leave allowance at Nordlys?",
        "system_prompt": "Answer from:\nThe leave allowance at Nordlys is 27 days a year.",
        "prompt": "What is the leave allowance at Nordlys?",
        "answer": "The leave allowance is 27 days a year.",
    }
    for known in ({"retrieved": [{"id": "a"}]}, {"retrieved": None, "passed": ["a"]}):
        context = context_of(run_from_record(record | known))
        assert context is not None
        assert "27 days" in "".join(context.pieces)


def test_a_text_that_several_searches_return_is_one_chunk() -> None:
    """Whatever its id; a search that returns it twice returned two."""
    run = make_run(retrieved=("vacation", "remote"))
    again = (replace(chunk("vacation"), id="0"), replace(chunk("expenses"), id="vacation"))
    step = replace(run.retrievers[0], chunks=present((*again, again[1])))
    found = retrieved_of(replace(run, retrievers=(run.retrievers[0], step)))
    assert [c.id for c in found or ()] == ["vacation", "remote", "vacation", "vacation"]


def test_claims_are_in_the_words_of_the_call_that_saw_the_context() -> None:
    """A later wording counts with its numbers, unless it is a translation."""
    run = make_run(answer="Employees get 25 days of vacation.")
    assert (claims_of(run), restated(run)) == ("Employees get 25 days of vacation.", "")
    for last, counts in (
        ("Great news: employees get 25 days of vacation!", True),
        ("25 Tage.", False),
    ):
        step = replace(run.generators[0], draft=run.answer, answer=present(last))
        told = replace(run, answer=present(last), generators=(step,))
        assert claims_of(told) == "Employees get 25 days of vacation."
        assert restated(told) == (last if counts else "")


def test_of_long_questions_turns_and_rewrites_both_ends_are_read() -> None:
    """The question stands before or behind a document; what is not long stays as it is."""
    document = "page " * 20_000
    for text in (f"What is leave?\n{document}", f"{document}\nWhat is leave?"):
        run = make_run(text, rewrites=[text], history=[("user", text)])
        question = question_of(run)
        assert question is not None
        assert "What is leave?" in question
        assert len(question) <= 20_001
        assert history_of(run) == rewrites_of(run.rewriters[0]) == (question,)
        assert searched_besides(run, run.rewriters[0]) == ()
    assert shortened(" x" * 10_000) == " x" * 10_000
    assert shortened(" " * 30_000 + "x") == "x"


def test_a_long_question_is_no_context() -> None:
    """All of it is taken out of the prompt."""
    question = " ".join(f"What is word{number}?" for number in range(3_000))
    run = make_run(question, prompt=f"Answer.\n{question}", retrieved=["vacation"])
    context = context_of(run)
    assert context is not None
    assert context.pieces == ()


@pytest.mark.timeout(5)
def test_many_paragraphs_of_a_context_are_compared_fast() -> None:
    """Where the text of a chunk was not recorded."""
    run = make_run(retrieved=["vacation"])
    prompt = HANDBOOK["vacation"] * 500 + "\n\n".join(f"p{number}" for number in range(20_000))
    kept = present((chunk("vacation"), Chunk("", id="lost")))
    step = replace(
        run.assemblies[0], selected=kept, prompt=present(prompt), context=present(prompt)
    )
    context = context_of(replace(run, assemblies=(step,)))
    assert context is not None
    assert len(context.pieces) <= 1_002
    assert "p19999" in context.pieces[-1]

"""What was selected for the prompt."""

import pytest
from span_trees import llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.retrieving import Search, find_search
from otel_raglog.mapping.selecting import selected_chunks
from otel_raglog.model import Chunk, RerankStep, RetrieveStep, StepOrigin, present

Q = "When does it leave?"
CHUNK = Chunk("The night ferry leaves Ellery at 22:15 from May to September.", "a")
OTHER = Chunk("Dogs are welcome on deck 4 of the Aurelia, on a short lead.", "b")


def step(*chunks, fused=False):
    return RetrieveStep(StepOrigin(), present(Q), present(chunks), fused=fused)


def test_selected_chunks(view_of):
    """What the last selecting steps handed on: rerankings over fusions over retrievals."""
    rank = RerankStep(StepOrigin(), present(Q), present((CHUNK, OTHER)), present((CHUNK,)))

    view = view_of(oi("CHAIN", "app"))

    def ids(*args):
        return "".join(chunk.id for chunk in selected_chunks(view, Search(*args)).value)

    assert ids((step(CHUNK), step(OTHER)), ()) == "ab"
    assert ids((step(CHUNK, OTHER),), (rank,)) == "a"
    assert ids((step(OTHER, fused=True), step(CHUNK, OTHER)), ()) == "b"
    again = RerankStep(StepOrigin(), present(Q), present((CHUNK,)), present((CHUNK,)))
    assert ids((step(CHUNK, OTHER),), (rank, again)) == "a"
    assert ids((step(CHUNK, OTHER), step(Chunk("z", "z"))), (rank,)) == "az"
    assert selected_chunks(view, Search((), ())).value is None


def test_what_a_fusion_cut_out_entirely(view_of):
    """The searches within a fusion are taken up by it, even if it kept nothing of one."""
    view = view_of(
        retriever(
            "FusionRetriever",
            Q,
            ("a", CHUNK.text),
            children=[retriever("r", Q, ("a", CHUNK.text)), retriever("r", "x", ("b", OTHER.text))],
        )
    )
    chosen = selected_chunks(view, find_search(view))
    assert [chunk.id for chunk in chosen.value] == ["a"]


def test_what_a_judge_rejected(view_of):
    """Chunks that a call read before a new search, and no prompt has, were rejected."""
    view = view_of(
        retriever("r", Q, ("b", OTHER.text)),
        llm("grade", f"Relevant? {OTHER.text}", "no"),
        retriever("r", Q, ("a", CHUNK.text)),
        llm("answer", CHUNK.text, "At 22:15."),
    )
    judge, answer = llm_calls(view)
    search = find_search(view)

    def ids(*judges):
        return "".join(c.id for c in selected_chunks(view, search, [answer], judges).value)

    assert ids(judge) == "a"
    assert ids() == "ba"


@pytest.mark.parametrize("again", [("b", OTHER.text), (None, OTHER.text), ("b", "")])
def test_what_was_found_once_more_was_not_rejected(view_of, again):
    """A chunk that the next search gives too, by id or by text, was dropped if anything."""
    view = view_of(
        retriever("r", Q, ("b", OTHER.text)),
        llm("grade", f"Relevant? {OTHER.text}", "no"),
        retriever("r", Q, ("a", CHUNK.text), again),
        llm("answer", CHUNK.text, "At 22:15."),
    )
    judge, answer = llm_calls(view)
    chosen = selected_chunks(view, find_search(view), [answer], [judge])
    assert {chunk.id for chunk in chosen.value} == {"a", "b"}


@pytest.mark.parametrize("numbers", [("0", "0", "0"), ("0", "1", "0"), ("1", "1", "1")])
def test_ids_that_are_given_anew(view_of, numbers):
    """Of chunks numbered by each search, and again by the reranker, the texts tell which are left."""
    first, second, kept = numbers
    searches = [step(Chunk(CHUNK.text, first)), step(Chunk(OTHER.text, second))]
    view = view_of(oi("CHAIN", "app"))
    rank = RerankStep(
        StepOrigin(),
        present(Q),
        present((Chunk(CHUNK.text, first),)),
        present((Chunk(CHUNK.text, kept),)),
    )
    chosen = selected_chunks(view, Search(tuple(searches), (rank,))).value
    assert [chunk.text for chunk in chosen] == [CHUNK.text, OTHER.text]
    chosen = selected_chunks(view, Search(tuple(searches), ())).value
    assert [chunk.text for chunk in chosen] == [CHUNK.text, OTHER.text]

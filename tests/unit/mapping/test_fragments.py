"""Which traces are a part of a run, and what tells which."""

from dataclasses import replace

import pytest
from fragment_traces import ANSWER, CHUNKS, QUESTION, Call
from span_trees import embedding, llm, oi, retriever, trace_of

from otel_raglog.mapping.fragments import MOST_TEXTS, JoinBy, fragment_of
from otel_raglog.mapping.mapping import map_trace


def read(trace, by=JoinBy.SESSION):
    """Return the fragment that a trace is."""
    return fragment_of(trace, map_trace(trace), by)


def test_an_embedding_call_is_a_search_for_its_text():
    """Ready to be compared: without case and edge punctuation."""
    fragment = read(Call().embed())
    assert not fragment.calls
    assert fragment.sought == ("when does the night ferry to sandmouth leave",)
    assert fragment.key == ("s1",)


def test_a_search_offers_its_query_and_what_it_found():
    """Either may be in the prompt of the answer."""
    fragment = read(Call().search())
    assert "when does the night ferry to sandmouth leave" in fragment.sought
    assert [text[:9] for text in fragment.found] == ["the night", "dogs are "]


def test_a_search_with_a_vector_offers_its_chunks():
    """A vector store that was given no text records none."""
    fragment = read(Call().search(None))
    assert fragment.sought == ()
    assert len(fragment.found) == len(CHUNKS)


def test_an_llm_call_offers_its_question_prompt_and_answer():
    """Earlier turns of the talk are no part of what it was asked now."""
    turns = [("user", "Are dogs allowed?"), ("assistant", "On deck 4."), ("user", QUESTION)]
    fragment = read(Call().chat(turns, ANSWER))
    assert fragment.calls
    assert fragment.asked == "when does the night ferry to sandmouth leave"
    assert "dogs" not in fragment.prompt
    assert fragment.said in fragment.written


def test_a_search_and_its_answer_in_one_trace_are_whole():
    """Such a trace waits for nothing."""
    trace = Call().trace(
        oi("CHAIN", "ask", retriever("search", QUESTION, *CHUNKS), llm("chat", QUESTION, ANSWER))
    )
    assert read(trace) is None


def test_an_answer_with_an_embedding_may_lack_its_search():
    """A search of one's own leaves no span, and one in a thread another trace."""
    trace = Call().trace(
        oi("CHAIN", "ask", embedding("embed", QUESTION), llm("chat", QUESTION, ANSWER))
    )
    assert read(trace).calls


def test_documents_on_their_way_into_a_store_are_no_search():
    """Many texts at once were not typed by a user."""
    found = {
        f"embedding.embeddings.{n}.embedding.text": f"page {n} of the handbook"
        for n in range(MOST_TEXTS + 1)
    }
    assert read(Call().trace(oi("EMBEDDING", "embed", attributes=found))) is None


@pytest.mark.parametrize("by", JoinBy)
def test_without_a_session_or_a_service_a_trace_stands_for_itself(by):
    """Time and text alone would join what strangers asked."""
    trace = Call().embed(session=None)
    bare = replace(trace, spans=tuple(replace(span, resource={}) for span in trace.spans))
    assert read(bare, by) is None


def test_by_service_instances_are_kept_apart():
    """Two processes of one service share no run."""
    here = read(Call().embed(session=None), JoinBy.SERVICE)
    there = Call(resource={"service.name": "shop-bot", "service.instance.id": "i2"})
    assert here.key == ("shop-bot", "i1")
    assert read(there.embed(session=None), JoinBy.SERVICE).key == ("shop-bot", "i2")


def test_what_recorded_no_text_waits_for_nothing():
    """There would be nothing to compare."""
    assert read(Call().trace(oi("LLM", "chat", attributes={"llm.model_name": "m"}))) is None
    assert read(Call().trace(oi("EMBEDDING", "embed"))) is None


def test_a_trace_of_other_work_is_no_fragment():
    """A chain alone neither searches nor answers."""
    assert read(Call().trace(oi("CHAIN", "ask", given=QUESTION, said=ANSWER))) is None


def test_a_cached_answer_waits_for_nothing():
    """A run that a cache answered is whole: no search and no answer are to come."""
    cached = oi("CHAIN", "semantic_cache", given="Are dogs allowed?", said="On the aft deck.")
    steps = (embedding("embed", "Are dogs allowed?"), cached)
    assert read(trace_of(oi("CHAIN", "app", *steps, given="Are dogs allowed?"))) is None

"""Which fragments are one run: what they have in common decides, and doubt keeps them apart."""

import pytest
from fragment_traces import ANSWER, CHUNKS, QUESTION, Call
from span_trees import documents, oi

from otel_raglog.mapping.fragments import JoinBy, fragment_of
from otel_raglog.mapping.joining import AMBIGUOUS, MOST_LINKED, Apart, Joiner, Together
from otel_raglog.mapping.mapping import map_trace

OTHER = "Where may dogs stay on the Aurelia?"
FERRY, DOGS = CHUNKS[:1], CHUNKS[1:]


def joiner_of(*traces, by=JoinBy.SESSION, window=10):
    """Return a joiner that has all of the traces."""
    joiner = Joiner(window)
    for trace in traces:
        joiner.add(fragment_of(trace, map_trace(trace), by))
    return joiner


def outcomes(*traces, **options):
    """Return what becomes of traces: each set of them once, as numbers."""
    joiner = joiner_of(*traces, **options)
    found = {}
    for trace in traces:
        outcome = joiner.outcome(trace.trace_id)
        numbers = tuple(int.from_bytes(item, "big") for item in outcome.trace_ids)
        found[numbers] = outcome
    return found


def joined(*traces, **options):
    """Return the numbers of traces that are joined, a tuple for each run."""
    found = outcomes(*traces, **options)
    return sorted(
        tuple(sorted(numbers))
        for numbers, outcome in found.items()
        if isinstance(outcome, Together)
    )


def test_an_embedding_a_search_and_an_answer_are_one_run():
    """The query is in the user's last message, the chunks are in the prompt."""
    call = Call()
    traces = [call.embed(), call.search(), call.answer()]
    (outcome,) = outcomes(*traces).values()
    assert isinstance(outcome, Together)
    assert outcome.generator == traces[2].trace_id
    assert outcome.trace_ids == tuple(trace.trace_id for trace in traces)


def test_a_search_with_a_vector_belongs_where_its_chunks_are():
    """And the embedding where its text is asked for."""
    call = Call()
    assert joined(call.embed(), call.search(None), call.answer()) == [(1, 2, 3)]


def test_questions_of_one_session_are_told_apart_by_their_texts():
    """However they are interleaved."""
    call = Call()
    traces = [
        call.embed(),
        call.embed(OTHER, at=10),
        call.search(OTHER, DOGS, at=200),
        call.search(QUESTION, FERRY, at=210),
        call.answer(OTHER, DOGS, "On deck 4.", at=400),
        call.answer(QUESTION, FERRY, at=410),
    ]
    assert joined(*traces) == [(1, 4, 6), (2, 3, 5)]


def test_the_same_text_in_another_session_is_another_run():
    """A popular question is asked by many."""
    call = Call()
    traces = [call.embed(), call.search(), call.answer(session="s2")]
    assert joined(*traces) == []


def test_without_sessions_the_service_and_its_instance_take_their_place():
    """When that is chosen."""
    call = Call(session=None)
    traces = [call.embed(), call.search(), call.answer()]
    assert joined(*traces, by=JoinBy.SERVICE) == [(1, 2, 3)]


def test_by_service_traces_of_two_sessions_are_never_joined():
    """Not even through a trace that has none."""
    call = Call(session=None)
    traces = [call.embed(session="s1"), call.search(session="s2"), call.answer()]
    assert joined(*traces, by=JoinBy.SERVICE) == []
    assert joined(traces[0], traces[2], by=JoinBy.SERVICE) == [(1, 3)]


def test_time_alone_joins_nothing():
    """A search for something else beside an answer stays alone."""
    call = Call()
    traces = [call.embed(OTHER), call.search(OTHER, DOGS), call.answer(QUESTION, FERRY)]
    assert joined(*traces) == []


def test_what_is_too_far_apart_is_not_joined():
    """The window is between the end of the one and the beginning of the other."""
    call = Call()
    search, answer = call.search(at=0), call.answer(at=8_000)
    assert joined(search, answer, window=10) == [(1, 2)]
    assert joined(search, answer, window=5) == []


def test_a_search_that_began_after_the_call_is_not_its_own():
    """What the model was not shown cannot be judged with it."""
    call = Call()
    assert joined(call.answer(at=0), call.search(at=200)) == []


def test_two_interleaved_questions_that_are_the_same_stay_apart():
    """Which search was for which answer cannot be told; all of them are named in the note."""
    call = Call()
    traces = [
        call.embed(),
        call.embed(at=10),
        call.search(at=200),
        call.search(at=210),
        call.answer(at=400),
        call.answer(at=410),
    ]
    ((numbers, outcome),) = outcomes(*traces).items()
    assert numbers == (1, 2, 3, 4, 5, 6)
    assert isinstance(outcome, Apart)
    assert outcome.note.startswith(AMBIGUOUS)


def test_a_search_that_was_made_twice_shows_that_an_answer_is_missing():
    """One of the two is of a question whose answer is still to come, or was lost."""
    call = Call()
    traces = [call.embed(), call.embed(at=10), call.search(None), call.answer()]
    assert joined(*traces) == []


def test_two_searches_of_different_kinds_for_one_text_are_one_run():
    """A hybrid search asks a vector store and an index of words."""
    call = Call()
    words = call.trace(
        oi("RETRIEVER", "bm25", given=QUESTION, attributes=documents(*CHUNKS), start=201, end=280)
    )
    assert joined(call.embed(), words, call.search(), call.answer()) == [(1, 2, 3, 4)]


def test_a_call_that_was_shown_one_chunk_only_is_a_lesser_match():
    """A grader sees each chunk with the question; the answer sees all of them."""
    call = Call()
    grader = call.chat(
        [("user", f"Is this of use?\n{CHUNKS[0][1]}\nQuestion: {QUESTION}")], "yes", at=350
    )
    assert joined(grader, call.embed(), call.search(), call.answer(at=2_000)) == [(2, 3, 4)]


def test_a_call_that_names_the_talk_is_no_rival_of_the_answer():
    """It was told what the answer was."""
    call = Call()
    title = call.chat([("user", f"Name this talk:\n{QUESTION}\n{ANSWER}")], "Ferry", at=2_000)
    assert joined(title, call.embed(), call.search(None), call.answer()) == [(2, 3, 4)]


def test_a_call_that_refines_the_answer_with_further_chunks_is_of_the_run():
    """Map and reduce, refine: all of their prompts were shown what was found."""
    call = Call()
    more = f"The answer so far: {ANSWER}\nRefine it with:\n{CHUNKS[1][1]}\nQuestion: {QUESTION}"
    refining = call.chat([("user", more)], "At 22:15; dogs stay on deck 4.", at=2_000)
    traces = [call.search(), call.answer(chunks=FERRY), refining]
    assert joined(*traces) == [(1, 2, 3)]


def test_the_next_turn_of_a_talk_does_not_take_the_searches_of_the_last_one():
    """Its prompt repeats the earlier question and answer, as talk."""
    call = Call()
    prompt = f"Context:\n{CHUNKS[1][1]}\n\nQuestion: {OTHER}"
    turns = [("user", QUESTION), ("assistant", ANSWER), ("user", prompt)]
    traces = [
        call.search(QUESTION, FERRY),
        call.answer(QUESTION, FERRY),
        call.search(OTHER, DOGS, at=2_000),
        call.chat(turns, "On deck 4.", at=2_200),
    ]
    assert joined(*traces) == [(1, 2), (3, 4)]


def test_a_rewrite_belongs_to_the_search_for_what_it_wrote():
    """Its output was searched for; the answer is to the user's own words."""
    call = Call()
    asked, written = "And when does it leave at night?", "night ferry departure time Sandmouth"
    traces = [
        call.chat([("user", f"Rewrite as a search query: {asked}")], written, at=0),
        call.embed(written, at=1_000),
        call.search(written, at=1_200),
        call.answer(asked, at=1_400),
    ]
    assert joined(*traces) == [(1, 2, 3, 4)]


def test_a_rewrite_alone_tells_whose_a_search_is():
    """Chunks need not be in the prompt when the rewrite was of the same question."""
    call = Call()
    asked, written = "When does the last boat leave at night?", "night ferry departure time"
    traces = [
        call.chat([("user", f"Rewrite as a search query: {asked}")], written, at=0),
        call.embed(written, at=1_000),
        call.chat([("user", asked)], "I do not know.", at=1_400),
    ]
    assert joined(*traces) == [(1, 2, 3)]


def test_an_embedding_with_an_instruction_before_the_question_is_still_its_own():
    """Some embedders want to be told that a text is a query."""
    call = Call()
    assert joined(call.embed(f"query: {QUESTION}"), call.answer()) == [(1, 2)]


def test_short_words_must_be_the_whole_message():
    """One word such as "dogs" is in many prompts."""
    call = Call()
    assert joined(call.embed("dogs"), call.chat([("user", "May dogs swim?")], "no")) == []
    assert joined(call.embed("dogs"), call.chat([("user", "Dogs?")], "On deck 4.")) == [(3, 4)]


def test_a_text_is_found_from_word_to_word():
    """A search for a word is not in a longer word."""
    call = Call()
    answer = call.chat([("user", "What do the insurance-policies say?")], "Much.")
    assert joined(call.embed("surance-policies"), answer) == []


def test_spans_with_the_same_ids_are_not_mixed_up():
    """Verdicts go by span id; two spans with one id would get those of the other."""
    call = Call()
    search, answer = call.search(), call.answer()
    double = search.spans[0].span_id
    answer = type(answer)(
        answer.trace_id,
        tuple(
            type(span)(**{f: getattr(span, f) for f in span.__slots__} | {"span_id": double})
            for span in answer.spans
        ),
        answer.completion,
    )
    assert joined(search, answer) == []


def test_a_load_test_with_one_question_is_not_taken_apart():
    """Beyond a number of alike traces each stands for itself, at little cost."""
    call = Call()
    traces = [call.answer(at=400 + n) for n in range(MOST_LINKED)] + [call.embed(), call.search()]
    found = outcomes(*traces)
    assert len(found) == len(traces)
    assert all("too many" in outcome.note for outcome in found.values())


def test_what_has_left_is_no_rival_any_more():
    """A joiner knows what is here, and forgets the rest."""
    call = Call()
    traces = [call.embed(), call.search(), call.answer(), call.answer(at=410)]
    joiner = joiner_of(*traces)
    assert isinstance(joiner.outcome(traces[0].trace_id), Apart)
    joiner.remove([traces[3].trace_id])
    assert len(joiner) == 3
    assert isinstance(joiner.outcome(traces[0].trace_id), Together)
    joiner.remove([trace.trace_id for trace in traces[:3]])
    assert len(joiner) == 0


@pytest.mark.parametrize("missing", [0, 1])
def test_a_part_of_the_search_is_joined_too(missing):
    """An embedding or a search that left no span does not keep the rest apart."""
    call = Call()
    searches = [call.embed(), call.search()]
    del searches[missing]
    assert len(joined(*searches, call.answer())) == 1


def test_an_answer_in_the_words_of_a_chunk_tells_nothing_about_a_later_prompt():
    """The prompt holds the chunk, not what somebody answered."""
    call = Call()
    quoted = "The night ferry to Sandmouth leaves Ellery at 22:15"
    traces = [call.search(), call.answer(said=quoted), call.answer(said=quoted, at=2_000)]
    assert joined(*traces) == []


def test_documents_on_their_way_into_a_store_are_not_what_was_asked():
    """The context of the prompt repeats them, alone or several at once."""
    call = Call()
    several = call.trace(
        oi(
            "EMBEDDING",
            "embed",
            attributes={
                f"embedding.embeddings.{n}.embedding.text": text
                for n, (_, text) in enumerate(CHUNKS)
            },
            start=1,
            end=100,
        )
    )
    assert joined(call.embed(CHUNKS[0][1]), several, call.answer()) == []
    assert joined(call.embed(CHUNKS[0][1]), call.embed(at=10), call.answer()) == [(5, 6)]

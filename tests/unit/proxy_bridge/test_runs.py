"""How calls become runs: by marks, by trace headers, by what they hand on, by order."""

from __future__ import annotations

from dataclasses import replace

from bridge_calls import SECOND, Pipeline, ids_of

from otel_raglog_proxy_bridge.fronts import FrontCall
from otel_raglog_proxy_bridge.model import Call, Document, RetrieverReading, Search
from otel_raglog_proxy_bridge.runs import Grouper, GroupingOptions

LEAVE = "Annual leave is 27 days a year for everybody."
LAPTOPS = "Laptops are replaced every four years."
FISCAL = "The fiscal year ends on 31 March."


def grouped(*calls, **options):
    grouper = Grouper(GroupingOptions(**options))
    runs = [run for call in calls for run in grouper.add(call)]
    return [*runs, *grouper.flush()]


def front(call_id, start, end, question, answer):
    times = {"started_ns": (1_000 + start) * SECOND, "ended_ns": (1_000 + end) * SECOND}
    return FrontCall(Call(call_id, "POST", "http://app/ask", 200, **times), question, answer)


def test_questions_one_after_another_are_runs_of_their_own():
    """Each begins with what is embedded and ends with the model that was shown what was found."""
    app = Pipeline()
    calls = [
        app.embed("How much leave is there?"),
        app.search("How much leave is there?", LEAVE, LAPTOPS),
        app.chat(f"{LEAVE} {LAPTOPS} How much leave is there?", "27 days"),
        app.embed("When are laptops replaced?"),
        app.search("When are laptops replaced?", LAPTOPS),
        app.chat(f"{LAPTOPS} When are laptops replaced?", "After four years"),
    ]
    runs = grouped(*calls)
    assert [ids_of(run) for run in runs] == [["c1", "c2", "c3"], ["c4", "c5", "c6"]]
    assert all(run.answered and run.is_rag and run.told_by == "content" for run in runs)


def test_a_question_asked_again_after_its_answer_is_another_run():
    """The same words do not tie a call to a run that has been answered."""
    app = Pipeline()
    one_time = lambda: [  # noqa: E731
        app.embed("How much leave is there?"),
        app.search("How much leave is there?", LEAVE),
        app.chat(f"{LEAVE} How much leave is there?", "27 days"),
    ]
    runs = grouped(*one_time(), *one_time())
    assert [len(run.calls) for run in runs] == [3, 3]


def test_parallel_questions_are_kept_apart_by_what_calls_hand_on():
    """Vectors, documents and prompts tell which call belongs to which question."""
    app = Pipeline()
    calls = [
        app.embed("How much leave is there?"),
        app.embed("When are laptops replaced?"),
        app.search("When are laptops replaced?", LAPTOPS, FISCAL),
        app.search("How much leave is there?", LEAVE, FISCAL),
        app.chat(f"{LEAVE}\n{FISCAL}\nHow much leave is there?", "27 days"),
        app.chat(f"{LAPTOPS}\n{FISCAL}\nWhen are laptops replaced?", "Four years"),
    ]
    runs = grouped(*calls)
    assert sorted(ids_of(run) for run in runs) == [["c1", "c4", "c5"], ["c2", "c3", "c6"]]


def test_a_rewriter_begins_the_run_whose_search_it_wrote():
    """What a model said before and is searched for then belongs to the same question."""
    app = Pipeline()
    calls = [
        app.chat("Rewrite for search: how many days off do I get?", "annual leave allowance days"),
        app.embed("annual leave allowance days"),
        app.search("annual leave allowance days", LEAVE),
        app.chat(f"{LEAVE}\nQuestion: how many days off do I get?", "27 days"),
    ]
    (run,) = grouped(*calls)
    assert ids_of(run) == ["c1", "c2", "c3", "c4"]


def test_several_queries_of_one_rewriter_are_one_run():
    """Each line that the model wrote may be searched for by itself."""
    app = Pipeline()
    calls = [
        app.chat(
            "Three queries for: leave and laptops?",
            "1. annual leave rules\n2. laptop renewal cycle",
        ),
        app.embed("annual leave rules"),
        app.embed("laptop renewal cycle"),
        app.search("annual leave rules", LEAVE),
        app.search("laptop renewal cycle", LAPTOPS),
        app.chat(f"{LEAVE} {LAPTOPS} leave and laptops?", "27 days, four years"),
    ]
    (run,) = grouped(*calls)
    assert len(run.calls) == 6


def test_a_tool_call_leads_to_its_search_and_back_to_the_model():
    """An agent's model that asks for a search has not answered yet."""
    app = Pipeline()
    calls = [
        app.chat("How much annual leave?", None, tool='{"query": "annual leave days"}'),
        app.search("annual leave days", LEAVE, by_text=True),
        app.chat(f"How much annual leave? {LEAVE}", "27 days"),
    ]
    (run,) = grouped(*calls)
    assert len(run.calls) == 3
    assert run.answered


def test_a_reranker_joins_by_its_documents():
    """Half of its documents having been found in a run is enough."""
    app = Pipeline()
    calls = [
        app.embed("How much leave is there?"),
        app.search("How much leave is there?", LEAVE, LAPTOPS),
        app.rerank("leave", [LEAVE, LAPTOPS], [0]),
        app.chat(f"{LEAVE} How much leave is there?", "27 days"),
    ]
    (run,) = grouped(*calls)
    assert len(run.calls) == 4


def test_a_retriever_in_process_leaves_a_run_without_a_search():
    """The reranker's query ties it to the embedder; its documents tie the model to it."""
    app = Pipeline()
    calls = [
        app.embed("How much leave is there?"),
        app.rerank("How much leave is there?", [LAPTOPS, LEAVE], [1]),
        app.chat(f"{LEAVE} How much leave is there?", "27 days"),
    ]
    (run,) = grouped(*calls)
    assert len(run.calls) == 3
    assert run.answered


def test_a_search_that_returns_ids_alone_is_followed_by_order():
    """Where no text tells, the next model call is its run's: and the run says so."""
    app = Pipeline()
    blind = RetrieverReading((Search(None, (1.0, 2.0, 3.0), (Document("7"),)),))
    calls = [app.embed("leave?"), app.call(blind), app.chat("Some text. How much?", "27 days")]
    (run,) = grouped(*calls)
    assert run.told_by == "order"
    assert run.answered


def test_indexing_is_no_run():
    """Many texts embedded at once, or a chat without any search, are told apart from runs."""
    app = Pipeline()
    runs = grouped(
        app.embed(*(f"Passage number {n} of the book" for n in range(20))),
        app.chat("Hello there, you", "Hi"),
    )
    assert [run.is_rag for run in runs] == [False, False]


def test_trace_headers_tell_before_content():
    """Two questions with the same words are two runs where their trace ids differ."""
    app = Pipeline()
    one, two = "a" * 32, "b" * 32
    calls = [
        app.embed("How much leave?", trace=one),
        app.embed("How much leave?", trace=two),
        app.chat(f"{LEAVE} How much leave?", "27", trace=two),
        app.chat(f"{LEAVE} How much leave?", "27", trace=one),
    ]
    runs = grouped(*calls)
    assert sorted((run.trace_id, ids_of(run)) for run in runs) == [
        (one, ["c1", "c4"]),
        (two, ["c2", "c3"]),
    ]


def test_the_front_proxy_marks_a_run():
    """What was called between a question's arrival and its answer is its run."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("f1", 1_000 * SECOND)
    for call in (
        app.embed("leave"),
        app.search("other words", LEAVE),
        app.chat("Be kind", "27 days"),
    ):
        assert grouper.add(call) == ()
    (run,) = grouper.end_front(front("f1", 0, 4, "How much?", "27 days"), "f1")
    assert ids_of(run) == ["c1", "c2", "c3"]
    assert run.told_by == "front"
    assert run.front.question == "How much?"
    assert grouper.flush() == ()


def test_parallel_questions_at_the_front_share_no_calls():
    """Calls made while two questions are open go to the question whose words or answer they hold."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("f1", 1_000 * SECOND)
    grouper.begin_front("f2", 1_000 * SECOND)
    app.at(1)
    calls = [
        app.embed("How much leave is there?"),
        app.embed("When are laptops replaced?"),
        app.search("When are laptops replaced?", LAPTOPS),
        app.search("How much leave is there?", LEAVE),
        app.chat(f"{LAPTOPS} When are laptops replaced?", "They are replaced after four years"),
        app.chat(f"{LEAVE} How much leave is there?", "There are 27 days"),
    ]
    for call in calls:
        grouper.add(call)
    (second,) = grouper.end_front(
        front("f2", 0, 8, "When are laptops replaced?", "They are replaced after four years"), "f2"
    )
    (first,) = grouper.end_front(
        front("f1", 0, 9, "How much leave is there?", "There are 27 days"), "f1"
    )
    assert ids_of(second) == ["c2", "c3", "c5"]
    assert ids_of(first) == ["c1", "c4", "c6"]


def test_parallel_questions_with_the_same_answer_keep_their_calls():
    """The question tells before the answer does."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("f1", 1_000 * SECOND)
    grouper.begin_front("f2", 1_000 * SECOND)
    app.at(1)
    first, second = "How much annual leave is there?", "How many days of leave do I get?"
    for question in (first, second):
        grouper.add(app.embed(question))
    for question in (first, second):
        grouper.add(app.chat(f"{LEAVE} {question}", "There are 27 days of leave."))
    answer = "There are 27 days of leave."
    (one,) = grouper.end_front(front("f1", 0, 8, first, answer), "f1")
    (other,) = grouper.end_front(front("f2", 0, 9, second, answer), "f2")
    assert ids_of(one) == ["c1", "c3"]
    assert ids_of(other) == ["c2", "c4"]


def test_a_front_call_without_a_question_marks_nothing():
    """A health check during a run does not take its calls."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("f1", 1_000 * SECOND)
    grouper.begin_front("health", 1_000 * SECOND)
    grouper.add(app.embed("leave"))
    assert grouper.end_front(None, "health") == ()
    (run,) = grouper.end_front(front("f1", 0, 4, "leave", "27"), "f1")
    assert ids_of(run) == ["c1"]


def test_a_run_is_over_when_it_was_quiet_after_its_answer():
    """Without an answer it is waited for longer."""
    app = Pipeline()
    grouper = Grouper(GroupingOptions(quiet_seconds=5, idle_seconds=60))
    grouper.add(app.at(0).embed("How much leave is there?"))
    assert grouper.tick((1_000 + 30) * SECOND) == ()
    grouper.add(app.at(31).chat("How much leave is there? " + LEAVE, "27"))
    assert grouper.tick((1_000 + 36) * SECOND) == ()
    (run,) = grouper.tick((1_000 + 92) * SECOND)
    assert len(run.calls) == 2


def test_a_run_waits_for_a_model_that_still_writes():
    """A call that began right after the last one may be the run's, however long it takes."""
    app = Pipeline()
    grouper = Grouper(GroupingOptions(quiet_seconds=5, idle_seconds=60))
    grouper.add(app.at(0).search("leave", LEAVE))
    grouper.add(app.at(1).chat(f"Rank these: {LEAVE}", "Doc 1, relevance 9"))
    grouper.begin("c3", 1_002 * SECOND)
    assert grouper.tick((1_000 + 20) * SECOND) == ()
    grouper.add(app.at(2).chat(f"{LEAVE} leave?", "27 days", took=25))
    (run,) = grouper.tick((1_000 + 40) * SECOND)
    assert ids_of(run) == ["c1", "c2", "c3"]


def test_more_open_runs_than_allowed_close_the_oldest():
    """Memory is bounded: nothing is lost, the oldest goes out as it is."""
    app = Pipeline()
    runs = grouped(
        *(app.embed(f"Question number {n} about things {n}") for n in range(5)), most_runs=3
    )
    assert [ids_of(run) for run in runs] == [["c1"], ["c2"], ["c3"], ["c4"], ["c5"]]


def test_a_run_with_too_many_calls_is_closed():
    """An agent that never ends does not fill the memory."""
    app = Pipeline()
    runs = grouped(*(app.embed("The very same question") for _ in range(7)), most_calls=3)
    assert [len(run.calls) for run in runs] == [3, 3, 1]


def test_bodies_of_open_runs_are_bounded():
    """A few prompts may be as long as many runs: the oldest run is closed."""
    app = Pipeline()
    calls = [app.chat(f"Prompt {n} of a lot of text " * 100, f"Said number {n}") for n in range(6)]
    size = len(calls[0].call.request_body)
    runs = []
    grouper = Grouper(GroupingOptions(most_characters=3 * size))
    for call in calls:
        runs += grouper.add(call)
        assert grouper.open_runs <= 3
    assert len(runs) == 3


def test_a_front_call_waits_for_the_end_of_its_stream():
    """A client that has read the last word may answer before the model's stream has ended."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("f1", 1_000 * SECOND)
    grouper.add(app.at(0.1).embed("leave"))
    chat = app.at(1).chat(f"{LEAVE} leave", "27 days", took=2.5)
    grouper.begin(chat.call.id, chat.call.started_ns)
    assert grouper.end_front(front("f1", 0, 3, "leave", "27 days"), "f1") == ()
    assert grouper.tick(1_003 * SECOND) == ()
    later = app.at(3.2).embed("another question")
    grouper.add(later)
    grouper.add(chat)
    (run,) = grouper.tick(1_004 * SECOND)
    assert ids_of(run) == ["c1", "c2"]
    assert [ids_of(left) for left in grouper.flush()] == [["c3"]]


def test_a_front_call_does_not_wait_for_ever():
    """A call that never ends is given up after a while, and when all is flushed."""
    for how in ("tick", "flush"):
        grouper = Grouper(GroupingOptions(quiet_seconds=5))
        grouper.begin_front("f1", 1_000 * SECOND)
        grouper.begin("c9", 1_001 * SECOND)
        assert grouper.end_front(front("f1", 0, 3, "leave", "27"), "f1") == ()
        assert grouper.tick(1_007 * SECOND) == ()
        (run,) = grouper.tick(1_008 * SECOND) if how == "tick" else grouper.flush()
        assert run.front.answer == "27"


def test_a_front_call_that_never_ends_does_not_spoil_others():
    """After a while it no longer competes for calls; those that hang on it alone are its own."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("stuck", 0)
    grouper.begin_front("f1", 1_000 * SECOND)
    grouper.add(app.chat("Words that tell nothing", "Nor do these"))
    (run,) = grouper.end_front(front("f1", 0, 4, "leave", "27"), "f1")
    assert ids_of(run) == ["c1"]
    grouper.add(app.at(9).embed("leave"))
    (run,) = grouper.end_front(front("stuck", -1_000, 20, "leave", "27"), "stuck")
    assert ids_of(run) == ["c2"]


def test_indexing_during_a_question_is_not_its():
    """Vectors that are stored were made of passages."""
    app = Pipeline()
    grouper = Grouper()
    grouper.begin_front("f1", 1_000 * SECOND)
    grouper.add(app.embed("leave"))
    passages = app.embed("A passage of the book")
    grouper.add(passages)
    store = app.search("x")
    stored = replace(
        store.exchange, request={"points": [{"vector": list(passages.reading.vectors[0])}]}
    )
    grouper.add(replace(store, exchange=stored, reading=None))
    (run,) = grouper.end_front(front("f1", 0, 9, "leave", "27"), "f1")
    assert ids_of(run) == ["c1"]


def test_calls_without_the_trace_of_a_front_call_are_its_too():
    """Not every client passes headers on."""
    app = Pipeline()
    grouper = Grouper()
    trace = "a" * 32
    grouper.begin_front("f1", 1_000 * SECOND, trace)
    grouper.add(app.chat("Is it allowed to ask that?", "Yes"))
    grouper.add(app.embed("leave", trace=trace))
    (run,) = grouper.end_front(front("f1", 0, 9, "leave", "27"), "f1")
    assert ids_of(run) == ["c1", "c2"]


def test_the_same_question_asked_twice_at_once_at_the_front_is_two_runs():
    """The marks tell that there are two: a call that is made again is the other's."""
    app = Pipeline()
    for overlap in (0, 0.5):
        grouper = Grouper()
        app.at(0)
        grouper.begin_front("f1", 1_000 * SECOND)
        steps = [
            lambda: app.embed("How much leave is there?"),
            lambda: app.search("How much leave is there?", LEAVE),
            lambda: app.chat(f"{LEAVE} How much leave is there?", "There are 27 days"),
        ]
        if overlap:
            grouper.add(steps[0]())
        grouper.begin_front("f2", app.now)
        if not overlap:
            grouper.add(steps[0]())
        for step in (steps[0], steps[1], steps[1], steps[2], steps[2]):
            grouper.add(step())
        told = ("How much leave is there?", "There are 27 days")
        (one,) = grouper.end_front(front("f1", 0, 20, *told), "f1")
        (two,) = grouper.end_front(front("f2", 0, 21, *told), "f2")
        assert [len(one.calls), len(two.calls)] == [3, 3]
        assert grouper.flush() == ()

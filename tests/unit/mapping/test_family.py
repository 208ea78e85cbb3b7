"""Which LLM calls made the answer together."""

from span_trees import llm, oi, retriever

from otel_raglog.mapping.collapse import llm_calls
from otel_raglog.mapping.family import find_family, speakers
from otel_raglog.model import NOT_CAPTURED, Chunk, present

Q = "When does it leave?"
FERRY = "The night ferry leaves Ellery at 22:15 from May to September."
DOGS = "Dogs are welcome on deck 4 of the Aurelia, on a short lead."
CHUNKS = present((Chunk(FERRY, "a"), Chunk(DOGS, "b")))


def names(view, answer=NOT_CAPTURED, chunks=CHUNKS, apart=()):
    calls = llm_calls(view)
    found = find_family(view, calls[-1], calls, apart, chunks, answer)
    return [view.node(call.leaf).span.name for call in found]


def test_by_what_was_said(view_of):
    """A call that was shown chunks belongs to the answer if its output is in the next prompt."""
    view = view_of(
        llm("map", f"{FERRY} {Q}", "The night ferry leaves at 22:15."),
        llm("grade", f"{DOGS} {Q}", "no"),
        llm("rewrite", Q, "departure of the night ferry"),
        llm("reduce", "The night ferry leaves at 22:15. departure of the night ferry", "22:15"),
    )
    assert names(view) == ["map", "reduce"]
    assert names(view, apart=[0]) == ["reduce"]


def test_short_outputs(view_of):
    """A short output counts where it is a line of its own or has a label."""
    for line, used in (
        ("Response: 18 euros.", True),
        ("18 euros.", True),
        ("for 18 euros.", False),
    ):
        view = view_of(llm("map", FERRY, "18 euros."), llm("reduce", f"Sum up.\n{line}", "22:15"))
        assert names(view) == ["map", "reduce"] if used else ["reduce"]


def test_by_the_synthesizer(view_of):
    """The calls of one synthesizer belong together, whatever they say."""
    parts = [llm("one", DOGS, "x"), llm("two", FERRY, "22:15")]
    view = view_of(oi("CHAIN", "app", oi("CHAIN", "TreeSummarize.synthesize", *parts)))
    assert names(view) == ["one", "two"]
    searching = oi("CHAIN", "summarize", retriever("r", Q, DOGS), *parts)
    assert names(view_of(searching)) == ["two"]


def test_without_known_chunks(view_of):
    """Where no search was recorded, a prompt that shows context counts as one with chunks."""
    view = view_of(
        llm("map", f"Context:\n{FERRY}", "The night ferry leaves at 22:15."),
        llm("reduce", "The night ferry leaves at 22:15.", "22:15"),
    )
    assert names(view, chunks=NOT_CAPTURED) == ["map", "reduce"]


def test_speakers(view_of):
    """Several outputs that are the answer, one after the other, are all of it."""
    view = view_of(llm("one", FERRY, "It leaves at 22:15."), llm("two", DOGS, "It does not say."))
    calls = llm_calls(view)
    joined = present("1: It leaves at 22:15.\n2: It does not say.")
    assert speakers(calls[1], calls, joined) == calls
    assert names(view, joined) == ["one", "two"]
    assert speakers(calls[1], calls, present("It does not say.")) == calls[1:]
    assert speakers(calls[1], calls, present("It does not say. " + "Else. " * 20)) == calls[1:]


def test_a_word_or_two_in_place_of_chunks(view_of):
    """Where a prompt lacks the chunks of a call, a word of its output there is what it was told."""

    def told(prompt, *calls):
        return names(view_of(*calls, llm("combine", prompt, "It leaves at 22:15 from deck 4.")))

    leaves = llm("one", f"Context: {FERRY}\nQuestion: departure", "22:15")
    deck = llm("two", f"Context: {DOGS}\nQuestion: deck for dogs", "deck 4")
    assert told(f"Combine: 22:15; deck 4. {Q}", leaves, deck) == ["one", "two", "combine"]
    assert told(f"Answer 1: 22:15 / deck 4\n{DOGS}", leaves) == ["one", "combine"]
    assert told(f"{Q} Context: {FERRY} 22:15", leaves) == ["combine"]
    assert told("Question: departure", leaves) == ["combine"]
    in_json = llm("one", FERRY, '{"answer": "Ellery"}')
    assert told(f"Known so far: Ellery. {Q}", in_json) == ["one", "combine"]


def test_labels_are_no_answers(view_of):
    """Options of a call's own instructions, and words of several calls, are in later prompts by chance."""

    def told(prompt, task, *labels):
        calls = [
            llm(f"label {n}", f"{task}\nDocument:\n{text}", label)
            for n, (text, label) in enumerate(
                zip((DOGS, f"{DOGS} Cats stay at home."), labels, strict=True)
            )
        ]
        return names(view_of(*calls, llm("answer", f"{prompt}\n{FERRY}", "At 22:15.")))

    desk = "You are the fares desk. Send pets or other to deck 4."
    assert told(desk, "Say fares, pets or other.", "pets", "other") == ["answer"]
    assert told(desk, "Sag es.", "other", "other") == ["answer"]
    in_json = '{"topic": "other"}'
    assert told(desk, "Sag es.", in_json, in_json) == ["answer"]
    assert told("Kurz: ja oder nein?", "Passt es?", "nein", "ja") == ["answer"]
    assert told("Known: deck 4; deck 4", "Where?", "deck 4", "deck 4") == [
        "label 0",
        "label 1",
        "answer",
    ]


def test_grades_are_no_answers(view_of):
    """A grader's verdict may be in any prompt, with or without the chunk that it graded."""
    for verdict in ("yes", "relevant", "Not relevant.", "4", "8/10", "0.7", "low"):
        prompt = f"Answer yes or no, 4 of 8/10 low, 0.7, not relevant: {Q}"
        view = view_of(llm("grade", FERRY, verdict), llm("answer", prompt, "At 22:15."))
        assert names(view) == ["answer"], verdict

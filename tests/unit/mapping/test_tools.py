"""Which tools search, whatever they are called, and what caches answer."""

import json

import pytest
from span_trees import embedding, llm, oi, span, trace_of

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.tools import is_answer_cache
from otel_raglog.model import Role

Q = "On which deck of the Brightwater are dogs allowed?"
A = "Dogs are allowed on the aft deck, on a lead."
DOGS = "Dogs are allowed on the aft deck of the Brightwater. They must be kept on a lead."
BIKES = "Bicycles travel free of charge on the car deck, if there is room for them."
RECORDS = [{"name": DOGS, "similarity": 0.8}, {"name": BIKES, "similarity": 0.4}]


def tool(name, given, said, *inside):
    return oi("TOOL", name, *inside, given=given, said=said, attributes={"tool.name": name})


def told(said):
    text = said if isinstance(said, str) else json.dumps(said)
    return llm("chat", [("user", Q), ("tool", text)], A)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("ask_handbook", {"query": Q}, f"{DOGS}\n\n{BIKES}"),
        ("tavily", Q, DOGS),
        ("handbook", {"topic": "dogs on board"}, DOGS),
        ("fetch_policy", {"question": "dogs deck", "language": "en"}, [DOGS, BIKES]),
        ("getInformation", {"question": Q}, RECORDS),
        (
            "auskunft",
            {"frage": "Wo dürfen Hunde sein?"},
            "Hunde dürfen auf dem Achterdeck sein, an der Leine.",
        ),
        (
            "\u6587\u66f8",
            {"query": "\u72ac\u306f\u4e57\u308c\u307e\u3059\u304b"},
            "\u72ac\u306f\u8239\u306e\u5f8c\u90e8\u30c7\u30c3\u30ad\u3067\u3001\u30ea\u30fc\u30c9\u3092\u3064\u3051\u3066\u4e57\u308c\u307e\u3059\u3002",
        ),
        ("run_sql", {"sql": "SELECT price FROM parking WHERE port = 'x'"}, "[(6,)]"),
    ],
)
def test_what_searches(view_of, name, given, said):
    """A query in, and out passages (or rows for a statement) that an LLM is then told."""
    view = view_of(tool(name, given, said), told(said))
    assert view.roles[0] is Role.RETRIEVER


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        (
            "send_email",
            {"to": "a@example.org", "subject": "Dogs", "body": Q},
            "The mail about dogs was sent to a@example.org.",
        ),
        (
            "open_ticket",
            {"title": "Dogs", "text": Q},
            "Ticket 4711 about dogs on the Brightwater was opened for you.",
        ),
        (
            "nachricht",
            {"text": "Hunde sind auf dem Achterdeck erlaubt"},
            "Nachricht 12 ist an die Besatzung gesendet worden.",
        ),
        ("uebersetzer", {"text": Q}, "Auf welchem Deck des Schiffes sind die Hunde erlaubt?"),
        ("rechner", {"expr": "6 * 3 + 2"}, "20"),
        ("wetter", {"city": "Port Ellery"}, "12 C"),
        ("price", {"question": Q}, '{"price": 6, "currency": "EUR"}'),
        ("calculator", {"question": Q}, f"The sum of it: {DOGS}"),
        ("ask_human", {"question": Q}, DOGS),
        ("echo", {"text": DOGS}, DOGS),
        ("get_profile", {"id": "42"}, DOGS),
    ],
)
def test_what_acts_or_computes(view_of, name, given, said):
    """What sends, files, translates, computes or hands a value on is no search."""
    view = view_of(tool(name, given, said), told(said))
    assert view.roles[0] is Role.TOOL


def test_what_no_llm_is_told(view_of):
    """A text that nobody reads may be anything; with an embedding inside, several are found ones."""
    assert (
        view_of(tool("ask_handbook", {"query": Q}, DOGS), llm("chat", Q, A)).roles[0] is Role.TOOL
    )
    found = tool("ask_handbook", {"query": Q}, [DOGS, BIKES], embedding("embed", Q))
    assert view_of(found, llm("chat", Q, A)).roles[0] is Role.RETRIEVER
    stored = tool(
        "addResource", {"content": DOGS}, "It was created and embedded.", embedding("embed", DOGS)
    )
    assert view_of(stored, told("It was created and embedded.")).roles[0] is Role.TOOL


@pytest.mark.parametrize("kind", ["TOOL", "CHAIN"])
@pytest.mark.parametrize("said", [A, {"hit": True, "answer": A}, [{"answer": A, "score": 0.97}]])
def test_a_cache_that_answers(kind, said):
    """Nothing was retrieved or generated; the run has the cached answer and says so."""
    step = oi(kind, "semantic_cache_lookup", given=Q, said=said)
    for trace in (
        trace_of(span("POST /ask", embedding("embed", Q), step)),
        trace_of(oi("CHAIN", "app", embedding("embed", Q), step, given=Q)),
        trace_of(oi("CHAIN", "app", embedding("embed", Q), step, given=Q, said=A)),
    ):
        (run,) = map_trace(trace)
        assert (run.question.value, run.answer.value) == (Q, A)
        assert (run.skip_reason, run.retrievers, run.generators) == ("cached_answer", (), ())


@pytest.mark.parametrize("said", ["", "null", "MISS", {"hit": False, "answer": None}])
def test_a_cache_without_an_answer(said):
    """What it lacked was then searched for and answered."""
    steps = (
        oi("TOOL", "semantic_cache_lookup", given=Q, said=said),
        oi("TOOL", "search_docs", given=Q, said=DOGS),
        told(DOGS),
    )
    (run,) = map_trace(trace_of(span("POST /ask", *steps)))
    assert run.answer.value == A
    assert [step.origin.name for step in run.retrievers] == ["search_docs"]
    assert run.skip_reason is None


def test_a_cache_of_passages(view_of):
    """What is told to an LLM, or is several documents, was searched for."""
    assert (
        view_of(oi("TOOL", "cached_search", given=Q, said=DOGS), told(DOGS)).roles[0]
        is Role.RETRIEVER
    )
    several = oi("TOOL", "cached_search", given=Q, said=[DOGS, BIKES])
    assert view_of(several).roles[0] is Role.RETRIEVER
    silent = oi("LLM", "chat", attributes={"llm.model_name": "m"})
    assert (
        view_of(oi("TOOL", "cached_search", given=Q, said=DOGS), silent).roles[0] is Role.RETRIEVER
    )


def test_a_cache_of_something_else():
    """What is cached for other ends answers no question."""
    (run,) = map_trace(
        trace_of(oi("CHAIN", "app", oi("CHAIN", "profile_cache", given="42", said="Anna"), given=Q))
    )
    assert run.skip_reason == "no_stages"
    assert is_answer_cache("semantic_cache")
    assert not is_answer_cache("profile_cache")

"""How nested retrievers become retrievals, fusions and rerankings."""

import pytest
from span_trees import documents, oi, retriever

from otel_raglog.mapping.retrieving import find_search, retriever_spans

A, B, C = ("a", "the first chunk"), ("b", "the second chunk"), ("c", "the third chunk")


def shape(search):
    """Return the chunk ids of each step."""

    def ids(chunks):
        return "".join(chunk.id or "?" for chunk in chunks.value or ())

    return (
        [(ids(s.chunks) + ("*" if s.fused else "")) for s in search.retrievals],
        [f"{ids(s.candidates)}>{ids(s.selected)}" for s in search.rerankings],
    )


def ranker(given, kept, name="rerank", kind="RERANKER"):
    return oi(
        kind,
        name,
        attributes={
            **documents(*given, prefix="reranker.input_documents"),
            **documents(*kept, prefix="reranker.output_documents"),
        },
    )


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([retriever("r", "q", A, children=[retriever("s", "q", A)])], (["a"], [])),
        ([retriever("r", "q", children=[retriever("s", "q", A)])], (["a"], [])),
        ([retriever("r", "q", A, children=[retriever("s", "q")])], (["a"], [])),
        ([retriever("r", "q", B, children=[retriever("s", "q", A, B)])], (["ab"], ["ab>b"])),
        ([retriever("r", "q", B, A, children=[retriever("s", "q", A, B)])], (["ab"], ["ab>ba"])),
        (
            [
                retriever(
                    "r", "q", A, B, C, children=[retriever("s", "q", A, B), retriever("t", "q", C)]
                )
            ],
            (["abc*", "ab", "c"], []),
        ),
        (
            [retriever("r", "q", A, children=[retriever("s", "q", A, B), retriever("t", "q", C)])],
            (["ab", "c"], ["abc>a"]),
        ),
        (
            [
                retriever(
                    "QueryFusion",
                    "q",
                    A,
                    children=[retriever("s", "q", A, B), retriever("t", "q", C)],
                )
            ],
            (["a*", "ab", "c"], []),
        ),
        (
            [
                retriever(
                    "CompressionRetriever", "q", ("a", "first"), children=[retriever("s", "q", A)]
                )
            ],
            (["a"], ["a>a"]),
        ),
        (
            [
                retriever(
                    "Windows",
                    "q",
                    ("a", "before, the first chunk, after"),
                    children=[retriever("s", "q", A)],
                )
            ],
            (["a"], []),
        ),
        (
            [
                retriever(
                    "ParentDocs", "q", ("p", "a whole page"), children=[retriever("s", "q", A)]
                )
            ],
            (["p"], []),
        ),
        (
            [
                retriever(
                    "r",
                    "q",
                    A,
                    B,
                    children=[retriever("s", "q", A, B, children=[retriever("t", "q", B, A)])],
                )
            ],
            (["ba"], ["ba>ab"]),
        ),
        ([retriever("r", "q", A, B), ranker([A, B], [B])], (["ab"], ["ab>b"])),
        (
            [retriever("r", "q", B, children=[retriever("s", "q", A, B), ranker([A, B], [B])])],
            (["ab"], ["ab>b"]),
        ),
        (
            [
                retriever("s", "q", A, B),
                retriever("t", "q", C, B),
                oi(
                    "CHAIN",
                    "Joiner",
                    said={"documents": [{"id": i, "content": t} for i, t in (A, C)]},
                ),
            ],
            (["ab", "cb", "ac*"], []),
        ),
    ],
)
def test_nesting(view_of, nodes, expected):
    """Wrapper, reranking, fusion, extraction and expansion are told by what is handed on."""
    assert shape(find_search(view_of(oi("CHAIN", "app", *nodes, given="q")))) == expected


def test_candidates_that_the_reranker_did_not_record(view_of):
    """They are what the searches before found, if the choice is from there."""
    bare = oi("RERANKER", "rerank", attributes=documents(B, prefix="reranker.output_documents"))
    view = view_of(oi("CHAIN", "app", retriever("r", "q", A, B), bare))
    assert shape(find_search(view))[1] == ["ab>b"]
    alien = oi(
        "RERANKER",
        "rerank",
        attributes=documents(("z", "else"), prefix="reranker.output_documents"),
    )
    view = view_of(oi("CHAIN", "app", retriever("r", "q", A, B), alien))
    assert shape(find_search(view))[1] == [">z"]


def test_all_collapsed_spans_are_known(view_of):
    """A step knows all spans that became it."""
    view = view_of(retriever("r", "q", A, children=[retriever("s", "q", A)]))
    (step,) = find_search(view).retrievals
    assert retriever_spans(view, step) == (0, 1)
    assert step.origin.name == "r"


def test_filters_and_limits(view_of):
    """Filters and the number of results come from the input."""
    given = {"query": "q", "top_k": 4, "filters": {"year": 2011}}
    view = view_of(oi("RETRIEVER", "r", given=given, attributes=documents(A)))
    (step,) = find_search(view).retrievals
    assert (step.query.value, step.top_k, step.filters) == ("q", 4, '{"year": 2011}')

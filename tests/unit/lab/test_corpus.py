"""Corpus: files to documents and questions, documents to passages."""

import gzip
import json

import pytest
from lab_kit import small_corpus, write_corpus

from otel_raglog.errors import BadInput
from otel_raglog.lab.corpus import Chunking, Document, cut, cut_text, read_corpus, thinned

DOCS = [{"id": "a", "title": "A", "text": "Alpha."}, {"id": "b", "text": "Beta."}]


def _write(folder, docs=DOCS, queries=()):
    for stem, rows in (("docs", docs), ("queries", queries)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / f"{stem}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def _query(**more):
    return {"id": "q", "question": "What?", "answers": ["Alpha"], "gold_docs": ["a"], **more}


def test_plain_and_gzipped_folders_read_the_same(tmp_path):
    """Either form of file will do."""
    folder = write_corpus(tmp_path, small_corpus())
    plain = read_corpus(folder)
    for stem in ("docs", "queries"):
        path = folder / f"{stem}.jsonl"
        (folder / f"{stem}.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read_corpus(folder) == plain == small_corpus()


@pytest.mark.parametrize(
    ("docs", "queries", "message"),
    [
        ([*DOCS, "{"], [_query()], r"docs.jsonl, line 3: no JSON"),
        ([*DOCS, "[]"], [_query()], r"docs.jsonl, line 3: an object"),
        ([*DOCS, {"id": "a", "text": "x"}], [_query()], r"line 3: a second document has the id 'a'"),
        ([{"text": "x"}], [_query()], r"line 1: id must be text"),
        (DOCS, [_query(), _query()], r"queries.jsonl, line 2: a second question"),
        (DOCS, [_query(gold_docs=["z"])], r"line 1: gold_docs names 'z'"),
        (DOCS, [_query(gold_docs=[])], r"line 1: answers without gold_docs"),
        (DOCS, [_query(answers="Alpha")], r"line 1: answers must be a list"),
        (DOCS, [], r"2 documents and 0 questions"),
    ],
)  # fmt: skip
def test_a_wrong_line_is_named(tmp_path, docs, queries, message):
    """File, line and key stand in the error."""
    with pytest.raises(BadInput, match=message):
        read_corpus(_write(tmp_path, docs, queries))


def test_a_folder_without_the_files_says_which(tmp_path):
    """The names that are looked for stand in the error."""
    with pytest.raises(BadInput, match="neither docs"):
        read_corpus(tmp_path)
    with pytest.raises(BadInput, match="is no folder"):
        read_corpus(tmp_path / "missing")


def test_decoys_are_no_evidence_and_unsettled_questions_are_left_out(tmp_path):
    """An abstention's documents do not answer; of relevance and grounding nobody knows."""
    queries = [
        _query(id="q1", answers=[], category="abstention"),
        _query(id="q2", answers=[], category="grounding"),
        _query(id="q3", answers=[], category="trustworthy_direct"),
    ]
    corpus = read_corpus(_write(tmp_path, queries=queries))
    assert [(q.id, q.gold_docs) for q in corpus.questions] == [("q1", ()), ("q3", ("a",))]
    assert corpus.unsettled == 1


def test_documents_without_text_are_never_found(tmp_path):
    """A question that only they answer cannot be labelled."""
    docs = [*DOCS, {"id": "c", "text": " "}]
    corpus = read_corpus(_write(tmp_path, docs, [_query(), _query(id="q2", gold_docs=["c"])]))
    assert [q.id for q in corpus.questions] == ["q"]
    assert [passage.id for passage in cut(corpus.documents, Chunking())] == ["a", "b"]


def test_chunks_are_whole_sentences_within_the_size_and_overlap():
    """No word is lost, none but the overlap comes twice."""
    told = [f"Sentence number {n} has exactly seven words." for n in range(9)]
    chunks = cut_text(" ".join(told), Chunking(21, 7))
    assert chunks[0] == " ".join(told[:3])
    assert chunks[1] == " ".join(told[2:5])
    assert all(len(chunk.split()) <= 21 for chunk in chunks)
    assert {s for chunk in chunks for s in told if s in chunk} == set(told)


def test_a_sentence_longer_than_a_chunk_is_cut_at_words():
    """Every word is in one chunk or another."""
    chunks = cut_text(" ".join(f"w{n}" for n in range(25)), Chunking(10, 2))
    assert [len(chunk.split()) for chunk in chunks] == [10, 10, 5]


def test_one_chunk_keeps_the_documents_id_and_text():
    """Several get a number behind a slash."""
    short, long = Document("s", "S", "One  text."), Document("l", "L", "Aa bb cc. Dd ee ff. ")
    found = cut((short, long), Chunking(3))
    assert [passage.id for passage in found] == ["s", "l/0", "l/1"]
    assert [passage.text for passage in found] == ["One  text.", "Aa bb cc.", "Dd ee ff."]
    assert found[0].headed == "S\nOne  text."


def test_impossible_chunks_are_refused():
    """The overlap must be less than the size."""
    with pytest.raises(BadInput, match="must be at least 1 and more than the overlap"):
        Chunking(5, 5)


def test_a_thinned_corpus_keeps_what_its_questions_need():
    """It is deterministic, within the words, and other documents are half of it."""
    corpus = small_corpus()
    small = thinned(corpus, 150)
    assert small == thinned(corpus, 150)
    assert sum(len(d.text.split()) for d in small.documents) <= 150
    kept = {document.id for document in small.documents}
    assert 0 < len(small.questions) < len(corpus.questions)
    assert all(set(question.gold_docs) <= kept for question in small.questions)
    assert thinned(corpus, 10_000) is corpus

"""Turns a folder of documents and questions into a corpus, and its documents into passages."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_raglog.checks.text.sentences import sentences
from otel_raglog.errors import BadInput

UNSETTLED_CATEGORIES = frozenset({"relevance", "grounding"})
"""Questions of which nobody can say whether their ``gold_docs`` answer them."""
DECOY_CATEGORIES = frozenset({"abstention"})
"""Questions whose ``gold_docs`` are on the topic and do not answer."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that pipelines search in; ``id`` is unique in its corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its right answers (any of them will do) and the documents that hold them.

    Without ``answers`` the documents of ``gold_docs`` are the evidence as a whole; without both
    the corpus cannot answer.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    gold_docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and questions; ``unsettled`` questions were left out, since nobody can label them."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    unsettled: int = 0


@dataclass(frozen=True, slots=True)
class Chunking:
    """How documents are cut: whole sentences up to ``size`` words, ``overlap`` words repeated."""

    size: int = 200
    overlap: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes that no text could be cut to."""
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise BadInput(
                f"chunks of {self.size} words that overlap by {self.overlap}: "
                "the size must be at least 1 and more than the overlap"
            )


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a document; ``id`` is the document's, with ``/n`` where there are several."""

    id: str
    document: str
    title: str
    text: str

    @property
    def headed(self) -> str:
        """The text below its title, as it is indexed."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def read_corpus(folder: Path) -> Corpus:
    """Return the corpus of ``folder``: ``docs.jsonl`` and ``queries.jsonl``, or both ``.gz``.

    A document is ``{"id", "title", "text"}``, a question ``{"id", "question", "answers",
    "gold_docs"}``, and optionally ``category``; other keys are ignored. A
    document without text is never found.

    Raises:
        BadInput: a file is missing, or a line is wrong; names file, line and key.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder with docs.jsonl and queries.jsonl")
    documents: dict[str, Document] = {}
    for where, row in _rows(folder, "docs"):
        document = Document(
            _text(row, "id", where), _text(row, "title", where, needed=False).strip(),
            _text(row, "text", where, needed=False).strip(),
        )  # fmt: skip
        if document.id in documents:
            raise BadInput(f"{where}: a second document has the id {document.id!r}")
        documents[document.id] = document
    questions: list[Question] = []
    unsettled = 0
    seen: set[str] = set()
    for where, row in _rows(folder, "queries"):
        question = _question(row, where, documents)
        if question.id in seen:
            raise BadInput(f"{where}: a second question has the id {question.id!r}")
        seen.add(question.id)
        blank = question.gold_docs and not any(documents[d].text for d in question.gold_docs)
        if blank or row.get("category") in UNSETTLED_CATEGORIES:
            unsettled += 1
        else:
            questions.append(question)
    if not documents or not questions:
        raise BadInput(f"{folder} holds {len(documents)} documents and {len(questions)} questions")
    return Corpus(folder.name, tuple(documents.values()), tuple(questions), unsettled)


def _question(row: Mapping[str, Any], where: str, documents: Mapping[str, Document]) -> Question:
    gold = _texts(row, "gold_docs", where)
    unknown = [name for name in gold if name not in documents]
    if unknown:
        raise BadInput(f"{where}: gold_docs names {unknown[0]!r}, which docs.jsonl does not hold")
    answers = tuple(text for text in (a.strip() for a in _texts(row, "answers", where)) if text)
    if row.get("category") in DECOY_CATEGORIES:
        gold = ()
    if answers and not gold:
        raise BadInput(f"{where}: answers without gold_docs that hold them")
    return Question(_text(row, "id", where), _text(row, "question", where).strip(), answers, gold)


def thinned(corpus: Corpus, most_words: int, seed: int = 0) -> Corpus:
    """Return a corpus whose documents have at most ``most_words`` words, chosen by hash.

    Half of them are for questions: the documents that these need, and the questions that need no
    others. The rest is whatever else there is. What a corpus costs is the encoding of its words.
    """
    size = {document.id: len(document.text.split()) for document in corpus.documents}
    if sum(size.values()) <= most_words:
        return corpus
    kept: set[str] = set()
    questions: set[str] = set()
    left = most_words
    for question in sorted(corpus.questions, key=lambda q: _shuffled(seed, q.id)):
        more = set(question.gold_docs) - kept
        cost = sum(size[name] for name in more)
        if left - cost >= most_words // 2:
            kept |= more
            left -= cost
            questions.add(question.id)
    for name in sorted(size, key=lambda name: _shuffled(seed, name)):
        if name not in kept and size[name] <= left:
            kept.add(name)
            left -= size[name]
    return Corpus(
        corpus.name,
        tuple(document for document in corpus.documents if document.id in kept),
        tuple(question for question in corpus.questions if question.id in questions),
        corpus.unsettled,
    )


def _shuffled(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()


def cut(documents: tuple[Document, ...], chunking: Chunking) -> tuple[Passage, ...]:
    """Return the passages of ``documents``, in order."""
    return tuple(
        Passage(
            document.id if len(texts) == 1 else f"{document.id}/{number}",
            document.id,
            document.title,
            text,
        )
        for document in documents
        if document.text
        for texts in [cut_text(document.text, chunking)]
        for number, text in enumerate(texts)
    )


def cut_text(text: str, chunking: Chunking) -> tuple[str, ...]:
    """Return the chunks of ``text``: whole sentences, at most ``chunking.size`` words.

    A text that fits is one chunk, unchanged. A sentence that is longer than a chunk is cut at
    words. A chunk begins with the last sentences of the one before, up to ``overlap`` words.
    """
    if len(text.split()) <= chunking.size:
        return (text,)
    chunks: list[str] = []
    current: list[str] = []
    fresh = False
    for sentence in _pieces(text, chunking.size):
        if fresh and _length(current) + len(sentence.split()) > chunking.size:
            chunks.append(" ".join(current))
            current = _tail(current, chunking.overlap)
        while current and _length(current) + len(sentence.split()) > chunking.size:
            current = current[1:]
        current.append(sentence)
        fresh = True
    chunks.append(" ".join(current))
    return tuple(chunks)


def _pieces(text: str, size: int) -> Iterator[str]:
    for sentence in sentences(text):
        found = sentence.split()
        for start in range(0, len(found), size):
            yield " ".join(found[start : start + size])


def _length(pieces: list[str]) -> int:
    return sum(len(piece.split()) for piece in pieces)


def _tail(pieces: list[str], most: int) -> list[str]:
    kept: list[str] = []
    for piece in reversed(pieces):
        if _length(kept) + len(piece.split()) > most:
            break
        kept.insert(0, piece)
    return kept


def _rows(folder: Path, stem: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    plain, zipped = folder / f"{stem}.jsonl", folder / f"{stem}.jsonl.gz"
    path = zipped if zipped.exists() else plain
    if not path.exists():
        raise BadInput(f"{folder} holds neither {plain.name} nor {zipped.name}")
    try:
        with (gzip.open if path is zipped else open)(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield f"{path}, line {number}", _row(line, f"{path}, line {number}")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from None


def _row(line: str, where: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise BadInput(f"{where}: no JSON: {error}") from None
    if not isinstance(row, dict):
        raise BadInput(f"{where}: an object is needed")
    return row


def _text(row: Mapping[str, Any], key: str, where: str, *, needed: bool = True) -> str:
    value = row.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value.strip()):
        raise BadInput(f"{where}: {key} must be text that is not empty")
    return value


def _texts(row: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadInput(f"{where}: {key} must be a list of texts")
    return tuple(value)

"""The documents and questions that examples are made of, without those of the judged runs."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from training.reader.limits import MAX_WORDS
from training.reader.texts import (
    STOP_WORDS,
    Span,
    holds,
    normalised,
    places,
    sentence_spans,
    words,
)

_TWO_PARAGRAPHS = "halueval_hotpot"
CORPORA = ("nq_oracle", "xquad_squad", _TWO_PARAGRAPHS)

DocumentKey: TypeAlias = tuple[str, str]
"""A corpus and the document's id in it."""

_RARE_SHARE = 0.05
"""Words that stand in more of the documents tell nothing."""

_MAX_POSTINGS = 800
_LOOK_ALIKES = 8
_MAX_ANSWER_LETTERS = 120
_SHINGLE_WORDS = 12
_SHARED_SHINGLES = 0.3
_HELD_BACK_EVERY = 50
_GLUED = re.compile(r"""(?<=[a-z0-9)"'][a-z0-9)"'][.!?])(?=["A-Z])""")
"""Where two paragraphs of HotpotQA were joined without a space."""


@dataclass(frozen=True)
class Question:
    """A question with the document that answers it.

    ``answer`` is the longest that stands in the document, at ``place``, in ``sentence``: of several
    sentences with it, the one with most words of the question. ``evidence`` is that sentence, or
    all of a document of two paragraphs (HotpotQA), since the question needs both.
    """

    text: str
    answers: tuple[str, ...]
    gold_documents: tuple[str, ...]
    answer: str
    document: str
    place: Span
    sentence: Span
    evidence: Span

    def answered_by(self, text: str) -> bool:
        """Return whether an accepted answer stands in the text."""
        return any(holds(text, answer) for answer in self.answers)


@dataclass(frozen=True)
class YesOrNo:
    """A question that yes or no answers, with its document."""

    text: str
    is_yes: bool
    document: str


@dataclass(frozen=True)
class Library:
    """Documents by key, with an index from words."""

    documents: Mapping[DocumentKey, str]
    with_word: Mapping[str, list[DocumentKey]]

    def look_alike(self, question: Question, rng: Random) -> DocumentKey | None:
        """Return a document that shares rare words with the question and holds no answer."""
        scores: Counter[DocumentKey] = Counter()
        # Not a set: its order, so the draws, would change with Python's hash seed.
        for word in dict.fromkeys(words(question.text)):
            keys = self.with_word.get(word, [])
            if 0 < len(keys) < len(self.documents) * _RARE_SHARE:
                rarity = math.log(len(self.documents) / len(keys))
                few = keys if len(keys) < _MAX_POSTINGS else rng.sample(keys, _MAX_POSTINGS)
                for key in few:
                    scores[key] += rarity
        for key, _ in scores.most_common(_LOOK_ALIKES)[rng.randint(0, 2) :]:
            if key[1] not in question.gold_documents and not question.answered_by(
                self.documents[key]
            ):
                return key
        return None


@dataclass(frozen=True)
class Side:
    """What examples to train on are made of, or those that are held back: nothing is on both."""

    library: Library
    questions: Sequence[Question]
    yes_or_no: Sequence[YesOrNo]


@dataclass(frozen=True)
class Corpora:
    """Both sides; ``judged`` are the questions of judged runs, ``counts`` is for people."""

    train: Side
    dev: Side
    judged: Collection[str]
    counts: Mapping[str, int]


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def is_held_back(text: str) -> bool:
    """Return whether a document or question is held back: one in fifty, by its hash."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % _HELD_BACK_EVERY == 0


def load_corpora(data: Path) -> Corpora:
    """Return the documents and questions that examples may be made of, in the files' order.

    The judged runs are what the detector is measured on: the reader must not have seen their
    questions, the gold documents of these, or documents that share much text with one.
    """
    documents = {
        (corpus, row["id"]): _titled(row)
        for corpus in CORPORA
        for row in read_rows(data / "corpora" / corpus / "docs.jsonl.gz")
    }
    asked = [
        {**row, "corpus": corpus}
        for corpus in CORPORA
        for row in read_rows(data / "corpora" / corpus / "queries.jsonl.gz")
    ]
    groups, judged = _judged(data / "runs" / "judged.jsonl.gz")

    def is_judged(row: dict[str, Any]) -> bool:
        return f"{row['corpus']}:{row['id']}" in groups or normalised(row["question"]) in judged

    gold = {key for row in asked if is_judged(row) for key in _gold_keys(row)} & documents.keys()
    near_gold = near_duplicates(documents, gold)
    left = _without(documents, gold | near_gold)
    held_back = {key: text for key, text in left.items() if is_held_back(":".join(key))}
    near_held_back = near_duplicates(left, held_back)
    allowed = [row for row in asked if not is_judged(row)]
    dev = _side(held_back, allowed, ())
    train = _side(
        _without(left, held_back.keys() | near_held_back),
        allowed,
        {normalised(q.text) for q in (*dev.questions, *dev.yes_or_no)},
    )
    counts = {
        "documents": len(documents),
        "gold documents of judged questions": len(gold),
        "near-duplicates of these": len(near_gold),
        "documents held back": len(held_back),
        "near-duplicates of these, left out": len(near_held_back),
        "questions": len(asked),
        "questions to train on": len(train.questions) + len(train.yes_or_no),
        "questions held back": len(dev.questions) + len(dev.yes_or_no),
    }
    return Corpora(train, dev, judged, counts)


def near_duplicates(
    documents: Mapping[DocumentKey, str], of: Collection[DocumentKey]
) -> set[DocumentKey]:
    """Return the other documents that share over 30 % of their 12-word runs with one of ``of``.

    Of the shorter of the two, so that a document that holds all of a short one counts, too.
    """
    with_run: dict[str, list[DocumentKey]] = defaultdict(list)
    sizes: dict[DocumentKey, int] = {}
    for key in sorted(of):
        runs = _runs(documents[key])
        sizes[key] = len(runs)
        for run in runs:
            with_run[run].append(key)
    found = set()
    for key, text in documents.items():
        if key in of:
            continue
        runs = _runs(text)
        shared = Counter(other for run in runs for other in with_run.get(run, ()))
        if any(n > _SHARED_SHINGLES * min(len(runs), sizes[o]) for o, n in shared.items()):
            found.add(key)
    return found


def _runs(text: str) -> set[str]:
    """Return all runs of twelve words of a text; of a shorter one the text."""
    found = words(text)
    last = max(1, len(found) - _SHINGLE_WORDS + 1)
    return {" ".join(found[i : i + _SHINGLE_WORDS]) for i in range(last)}


def _without(
    documents: Mapping[DocumentKey, str], keys: Collection[DocumentKey]
) -> dict[DocumentKey, str]:
    return {key: text for key, text in documents.items() if key not in keys}


def _judged(path: Path) -> tuple[set[str], set[str]]:
    """Return the groups and the questions of the judged runs."""
    runs = list(read_rows(path))
    return {run["group"] for run in runs}, {normalised(run["question"]) for run in runs}


def _gold_keys(row: dict[str, Any]) -> list[DocumentKey]:
    return [(row["corpus"], gold) for gold in row["gold_docs"]]


def _side(
    documents: Mapping[DocumentKey, str],
    asked: Iterable[dict[str, Any]],
    without: Collection[str],
) -> Side:
    """Return the documents, and the questions whose gold documents are all among them.

    ``without``: questions, normalised, to leave out.
    """
    questions, yes_or_no = [], []
    for row in asked:
        keys = _gold_keys(row)
        if not keys or normalised(row["question"]) in without:
            continue
        if not all(key in documents for key in keys):
            continue
        document = documents[keys[0]]
        text = " ".join(row["question"].split())
        first = row["answers"][0].strip().lower().rstrip(".") if row["answers"] else ""
        if first in {"yes", "no"}:
            yes_or_no.append(YesOrNo(text, first == "yes", document))
        elif found := _question(text, row, document):
            questions.append(found)
    return Side(Library(documents, _index(documents)), questions, yes_or_no)


def _titled(row: dict[str, Any]) -> str:
    """Return a document's text behind its title, unless the text begins with it."""
    title, text = row["title"], _GLUED.sub(" ", " ".join(row["text"].split()))
    return f"{title}: {text}" if title and not text.startswith(title) else text


def _index(documents: Mapping[DocumentKey, str]) -> dict[str, list[DocumentKey]]:
    with_word: dict[str, list[DocumentKey]] = defaultdict(list)
    for key, text in documents.items():
        for word in dict.fromkeys(words(text)):
            with_word[word].append(key)
    return dict(with_word)


def _question(text: str, row: dict[str, Any], document: str) -> Question | None:
    """Return the question if its document holds an answer as whole words."""
    answers = tuple(" ".join(answer.split()) for answer in row["answers"] if answer.strip())
    found = {answer: places(document, answer) for answer in answers}
    fitting = [a for a in answers if found[a] and len(a) <= _MAX_ANSWER_LETTERS]
    if not fitting:
        return None
    answer = max(fitting, key=len)
    asked = set(words(text)) - STOP_WORDS
    spans = sentence_spans(document)

    def words_of_question(place: Span) -> int:
        begin, end = _around(place, spans)
        return len(asked & set(words(document[begin:end])))

    place = max(found[answer], key=words_of_question)
    sentence = _around(place, spans)
    needs_all = row["corpus"] == _TWO_PARAGRAPHS and len(document.split()) <= MAX_WORDS
    return Question(
        text,
        answers,
        tuple(row["gold_docs"]),
        document[place.begin : place.end],
        document,
        place,
        sentence,
        Span(0, len(document)) if needs_all else sentence,
    )


def _around(place: Span, spans: Sequence[Span]) -> Span:
    """Return the sentence of the place, or the sentences that it spans."""
    held = [span for span in spans if span.end > place.begin and span.begin < place.end]
    return Span(min(s.begin for s in held), max(s.end for s in held))

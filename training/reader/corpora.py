"""The documents and questions that examples are made of, without those of the judged runs."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from training.reader.texts import holds, words

CORPORA = ("nq_oracle", "xquad_squad", "halueval_hotpot")

DocumentKey: TypeAlias = tuple[str, str]
"""A corpus and the document's id in it."""

_RARE_SHARE = 0.05
"""Words that stand in more of the documents tell nothing."""

_MAX_POSTINGS = 800
_LOOK_ALIKES = 8
_MAX_ANSWER_LETTERS = 120


@dataclass(frozen=True)
class Question:
    """A question with the document that answers it; ``answer`` is the longest that stands there."""

    text: str
    answers: tuple[str, ...]
    gold_documents: tuple[str, ...]
    answer: str
    document: str


@dataclass
class Library:
    """All documents by key, with an index from words; ``excluded`` are for no example."""

    documents: dict[DocumentKey, str]
    excluded: Collection[DocumentKey]
    with_word: dict[str, list[DocumentKey]]
    bodies: dict[DocumentKey, str] = field(repr=False)

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
            if key[1] in question.gold_documents or key in self.excluded:
                continue
            if not any(holds(self.bodies[key], answer) for answer in question.answers):
                return key
        return None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a gzipped file of JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def load_corpora(data: Path) -> tuple[Library, list[Question]]:
    """Return the documents, and the questions that may be trained on, in the files' order."""
    rows = {
        (corpus, row["id"]): row
        for corpus in CORPORA
        for row in read_rows(data / "corpora" / corpus / "docs.jsonl.gz")
    }
    asked = [
        {**row, "corpus": corpus}
        for corpus in CORPORA
        for row in read_rows(data / "corpora" / corpus / "queries.jsonl.gz")
    ]
    excluded, allowed = _without_judged(asked, data / "runs" / "judged.jsonl.gz")
    documents = {key: _titled(row) for key, row in rows.items()}
    library = Library(
        documents, excluded, _index(rows), {key: row["text"] for key, row in rows.items()}
    )
    return library, [question for row in allowed if (question := _question(row, documents))]


def _without_judged(
    asked: Sequence[dict[str, Any]], judged: Path
) -> tuple[set[DocumentKey], list[dict[str, Any]]]:
    """Return the gold documents of judged questions, and the questions that share none of them.

    The judged runs are what the detector is measured on: the reader must not have seen them.
    """
    groups, texts = set(), set()
    for run in read_rows(judged):
        groups.add(run["group"])
        texts.add(_normalised(run["question"]))

    def is_judged(row: dict[str, Any]) -> bool:
        return f"{row['corpus']}:{row['id']}" in groups or _normalised(row["question"]) in texts

    excluded = {
        (row["corpus"], gold) for row in asked if is_judged(row) for gold in row["gold_docs"]
    }
    allowed = [
        row
        for row in asked
        if not is_judged(row)
        and not any((row["corpus"], gold) in excluded for gold in row["gold_docs"])
    ]
    return excluded, allowed


def _normalised(question: str) -> str:
    return " ".join(question.lower().split())


def _titled(row: dict[str, Any]) -> str:
    """Return a document's text behind its title, unless the text begins with it."""
    title, text = row["title"], row["text"]
    return f"{title}: {text}" if title and not text.startswith(title) else text


def _index(rows: dict[DocumentKey, dict[str, Any]]) -> dict[str, list[DocumentKey]]:
    with_word: dict[str, list[DocumentKey]] = defaultdict(list)
    for key, row in rows.items():
        for word in dict.fromkeys(words(f"{row['title']} {row['text']}")):
            with_word[word].append(key)
    return dict(with_word)


def _question(row: dict[str, Any], documents: dict[DocumentKey, str]) -> Question | None:
    """Return the question if its first gold document holds an answer as whole words."""
    answers = tuple(answer.strip() for answer in row["answers"] if answer.strip())
    gold = tuple(row["gold_docs"])
    document = documents.get((row["corpus"], gold[0])) if gold else None
    if document is None:
        return None
    found = [
        answer
        for answer in answers
        if re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", document, re.IGNORECASE)
    ]
    if not found or len(found[0]) > _MAX_ANSWER_LETTERS:
        return None
    return Question(row["question"], answers, gold, max(found, key=len), document)

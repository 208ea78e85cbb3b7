"""The handbook and `questions.yaml` to values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
HANDBOOK = HERE.parents[1] / "otel_raglog" / "samples" / "handbook"


@dataclass(frozen=True)
class Document:
    """A page of the handbook: one chunk of the index."""

    id: str
    text: str

    @property
    def source(self) -> str:
        return f"{self.id}.md"

    @property
    def department(self) -> str:
        return self.id.split("-", 1)[0]

    @property
    def metadata(self) -> dict[str, str]:
        return {"source": self.source, "department": self.department}


@dataclass(frozen=True)
class Need:
    """A piece of information that the answer needs: `quote` is the part of the document that holds it."""

    doc: str
    quote: str
    says: str


@dataclass(frozen=True)
class Question:
    """A question and what is known about it; see the head of `questions.yaml`."""

    id: str
    ask: tuple[str, ...]
    needs: tuple[Need, ...]
    answers: tuple[str, ...]
    rewrites: tuple[str, ...]
    keywords: str
    extra: tuple[str, ...]
    number: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    hops: tuple[str, ...] = ()
    faulty: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """A turn of a conversation; `condensed` are the faithful questions that stand alone."""

    question: str
    ask: tuple[str, ...] = ()
    condensed: tuple[str, ...] = ()
    faulty: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Catalogue:
    """Everything that can be asked."""

    questions: dict[str, Question]
    conversations: dict[str, tuple[Turn, ...]]
    notices: tuple[Document, ...]


def holds(text: str, quote: str) -> bool:
    """Whether `text` holds `quote`, whatever the white space and the case."""
    return _plain(quote) in _plain(text)


def load_handbook() -> tuple[Document, ...]:
    """All pages in the order of their names; the title is the first line of the text."""
    documents = []
    for path in sorted(HANDBOOK.glob("*.md")):
        title, _, body = path.read_text(encoding="utf-8").partition("\n")
        documents.append(Document(path.stem, f"{title.lstrip('# ')}\n{body.strip()}"))
    return tuple(documents)


def load_catalogue() -> Catalogue:
    """Read `questions.yaml`."""
    raw = yaml.safe_load((HERE / "questions.yaml").read_text(encoding="utf-8"))
    questions = [_question(entry) for entry in raw["questions"]]
    conversations = {
        entry["id"]: tuple(Turn(**_tuples(turn)) for turn in entry["turns"])
        for entry in raw["conversations"]
    }
    notices = tuple(
        Document(f"notices-{number:02d}", text) for number, text in enumerate(raw["notices"], 1)
    )
    return Catalogue({question.id: question for question in questions}, conversations, notices)


def _question(entry: dict[str, Any]) -> Question:
    needs = tuple(Need(**need) for need in entry.pop("needs"))
    return Question(needs=needs, **_tuples(entry))


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, list):
            values[key] = tuple(value)
        elif isinstance(value, dict):
            values[key] = _tuples(value)
        else:
            values[key] = value
    return values


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().lower()

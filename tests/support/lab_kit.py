"""A small corpus for tests of the lab, and a lab over it that needs no model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from handbook_runs import FakeEncoder

from otel_raglog.checks.similarity.encoder import DIMENSIONS
from otel_raglog.lab.corpus import Corpus, Document, Question
from otel_raglog.lab.laboratory import Lab
from otel_raglog.lab.pipelines.registry import PIPELINES

_FACTS = (
    ("Alvar Bridge", "The Alvar Bridge crosses the river Senn. It was opened in 1931 by Queen Ida. Its span is 412 metres.", "When was the Alvar Bridge opened?", "1931"),
    ("Brunhill Castle", "Brunhill Castle stands above the town of Orvik. The castle was built by Duke Harald. It burned down twice.", "Who built Brunhill Castle?", "Duke Harald"),
    ("Corran Lighthouse", "The Corran Lighthouse has a white tower. It guides ships past the Maw reef. The keeper is Moira Teague.", "Who is the keeper of the Corran Lighthouse?", "Moira Teague"),
    ("Dunmere Museum", "The Dunmere Museum shows 3,400 coins. Visitors pay four euros. The museum closes on Mondays.", "How many coins does the Dunmere Museum show?", "3,400"),
    ("Estrel Railway", "The Estrel Railway climbs Mount Varga. The first train ran in 1902 after a long delay. Snow stops it each winter.", "In what year did the first train of the Estrel Railway run?", "1902"),
    ("Fenwick Theatre", "The Fenwick Theatre was designed by Lena Krall. It seats 820 people. The stage turns.", "Who designed the Fenwick Theatre?", "Lena Krall"),
    ("Gorland Mine", "The Gorland Mine yields copper ore. Its deepest shaft reaches 930 metres. The mine was never sold to Norwin Steel.", "How deep is the deepest shaft of the Gorland Mine?", "930 metres"),
    ("Hestia Garden", "The Hestia Garden lies in Port Amsel. Its oldest tree came from Crete. Gardeners water it at night.", "Where does the oldest tree of the Hestia Garden come from?", "Crete"),
    ("Ilmar Tower", "The Ilmar Tower lost its roof in the storm of 1844. The mason Piet Voss rebuilt it. Bats live in it.", "Which mason rebuilt the Ilmar Tower after the storm of 1844?", "Piet Voss"),
)  # fmt: skip
_FILLER = (
    "Ferries leave the harbour of Lund every hour. Tickets are sold on board.",
    "Bakers in Tarn make a dark bread with caraway. It keeps for a week.",
    "The choir of Saint Brun sings in spring. Its leader is Otto Weil.",
    "Bees of the valley feed on heather. Their honey is bitter.",
    "A tram line runs from the market to the beach. It is painted green.",
    "The town hall of Orvik has a clock from 1788. It is wound by hand.",
    "Rain falls on 190 days a year in the hills of Varga. Farmers grow oats.",
    "The newspaper The Senn Herald appears on Fridays. It has eight pages.",
)


_PLAQUE = "A plaque says that the mason Piet Voss rebuilt the Ilmar Tower after the storm of 1844."


def small_corpus(name: str = "towns") -> Corpus:
    """Return eighteen documents and ten questions; one has two answers, one none."""
    documents = [
        Document(f"{name}-d{n}", title, text) for n, (title, text, _, _) in enumerate(_FACTS)
    ]
    documents += [Document(f"{name}-f{n}", "", text) for n, text in enumerate(_FILLER)]
    documents.append(Document(f"{name}-copy", "Plaques", _PLAQUE))
    questions = [
        Question(f"q{n}", question, (answer,), (f"{name}-d{n}",))
        for n, (_, _, question, answer) in enumerate(_FACTS)
    ]
    both = (*questions[-1].gold_docs, f"{name}-copy")
    questions[-1] = Question("q8", questions[-1].text, ("Piet Voss",), both)
    questions.append(Question("q9", "Who painted the fresco of Zelle?", (), ()))
    return Corpus(name, tuple(documents), tuple(questions))


def other_corpus() -> Corpus:
    """Return a corpus about something else."""
    texts = [f"Recipe {n}: stir the flour, add salt {n} times and bake." for n in range(12)]
    documents = tuple(Document(f"r{n}", f"Recipe {n}", text) for n, text in enumerate(texts))
    return Corpus("recipes", documents, (Question("q0", "How is recipe 3 made?", (), ("r3",)),))


class WordVectors(FakeEncoder):
    """Hashed words, in as many dimensions as the real encoder has."""

    dimensions = DIMENSIONS

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors."""
        return super().encode(texts).astype(np.float32)


def small_lab(*names: str, seed: int = 0) -> Lab:
    """Return a lab over both corpora with the pipelines of these names, without names all."""
    pipelines = [p for p in PIPELINES if not names or p.name in names]
    return Lab((small_corpus(), other_corpus()), pipelines, WordVectors(), seed=seed)


def write_corpus(folder: Path, corpus: Corpus) -> Path:
    """Write ``corpus`` as plain JSON lines into a folder of its name."""
    target = folder / corpus.name
    target.mkdir(parents=True)
    documents = [{"id": d.id, "title": d.title, "text": d.text} for d in corpus.documents]
    questions = [
        {"id": q.id, "question": q.text, "answers": q.answers, "gold_docs": q.gold_docs}
        for q in corpus.questions
    ]
    for stem, rows in (("docs", documents), ("queries", questions)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (target / f"{stem}.jsonl").write_text(lines)
    return target

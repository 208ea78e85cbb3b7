"""How well measurements tell supported from unsupported answers, on sources left out whole.

Run with ``python tests/bench/groundedness.py [--rows N] [FILE]``. FILE holds rows with question,
contexts, answer and label; by default it is ../shared/data/generator_grounding.jsonl.gz, which lies
beside this project and is not part of it. Of each of the three sources that people labelled (BEGIN,
SummEdits, ExpertQA) the first N rows by SHA-256 are read (0: all). Thresholds and models see the
other two sources alone, never a row of the tested one; each source weighs the same in training.

Needs scikit-learn and scipy: ``pip install otel-raglog[train]``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from otel_raglog.checks.alignment.generator import GeneratorAlignment
from otel_raglog.checks.check import Check, Declaration, Suspect
from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.checks.crossencoder.support import SupportReading
from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.mapping.record import run_from_record

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "generator_grounding.jsonl.gz"
SOURCES = ("begin", "summedits", "expertqa")
SINGLE = {
    "best-sentence coverage": "generator.best_sentence_coverage",
    "MiniLM cosine": "generator.answer_sentence_similarity",
    "token match in the best window": "generator.token_window_mean",
    "worst token in the best window": "generator.token_window_least",
    "reader: worst sentence": "generator.supported",
    "reader: question and answer": "generator.supported_whole",
}
FEW = (
    "generator.token_window_mean",
    "generator.token_window_least",
    "generator.window_coverage",
    "generator.rare_words_coverage",
)
READING = ("generator.supported", "generator.supported_asked", "generator.supported_whole")
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Source:
    """The rows of one source: measurements (rows x names, NaN where missing), 1 for unsupported."""

    values: Numbers
    faulty: npt.NDArray[np.int64]


def rows_of(path: Path, most: int) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Yield each source with its rows, in order of their SHA-256."""
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {name: [] for name in SOURCES}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            source = next((name for name in SOURCES if row["src"].startswith(name)), None)
            if source is not None and row["label"] in {"supported", "unsupported"}:
                key = hashlib.sha256(f"{row['id']}{row['answer']}".encode()).hexdigest()
                found[source].append((key, row))
    for source, rows in found.items():
        ordered = [row for _, row in sorted(rows, key=lambda item: item[0])]
        yield source, ordered[: most or None]


def measured(rows: Sequence[Mapping[str, Any]], checks: Sequence[Check]) -> Source:
    """Return the measurements of all rows."""
    place = {item.name: at for at, item in enumerate(declared(checks))}
    values = np.full((len(rows), len(place)), np.nan)
    for number, row in enumerate(rows):
        record = {
            "id": row["id"],
            "question": row["question"] or "?",
            "retrieved": [{"text": text} for text in row["contexts"]],
            "answer": row["answer"],
        }
        run = run_from_record(record)
        for item in (found for check in checks for found in check.measure(run)):
            if item.value is not None:
                values[number, place[item.name]] = item.value
    return Source(values, np.asarray([row["label"] == "unsupported" for row in rows], np.int64))


def declared(checks: Sequence[Check]) -> list[Declaration]:
    """Return what all checks declare, in order."""
    return [item for check in checks for item in check.declarations]


def balanced_accuracy(faulty: npt.NDArray[np.int64], flagged: npt.NDArray[np.bool_]) -> float:
    """Return the mean of the recall of both classes."""
    return float((flagged[faulty == 1].mean() + (~flagged)[faulty == 0].mean()) / 2)


def threshold(scores: Sequence[Numbers], sources: Sequence[Source]) -> float:
    """Return the score from which to flag: best mean balanced accuracy over the training sources."""
    tried = np.quantile(np.concatenate(scores), np.linspace(0.01, 0.99, 99))
    means = [
        np.mean(
            [
                balanced_accuracy(s.faulty, score >= t)
                for s, score in zip(sources, scores, strict=True)
            ]
        )
        for t in tried
    ]
    return float(tried[int(np.argmax(means))])


class Model:
    """Logistic regression on some columns; ``signs`` (1, -1) hold each weight to that side."""

    def __init__(self, columns: Sequence[int], signs: Numbers | None, strength: float) -> None:
        self._columns, self._signs, self._strength = list(columns), signs, strength

    def fit(self, sources: Sequence[Source]) -> Model:
        """Learn from sources, each of the same weight, and in it both classes."""
        x = np.concatenate([s.values[:, self._columns] for s in sources])
        y = np.concatenate([s.faulty for s in sources]).astype(float)
        weight = np.concatenate(
            [
                np.where(s.faulty == 1, 0.5 / s.faulty.sum(), 0.5 / (1 - s.faulty).sum())
                for s in sources
            ]
        ) / len(sources)
        self._median = np.nanmedian(x, axis=0)
        x = np.where(np.isnan(x), self._median, x)
        self._mean, self._scale = x.mean(axis=0), x.std(axis=0) + 1e-9
        x = (x - self._mean) / self._scale
        if self._signs is None:
            plain = LogisticRegression(C=self._strength, max_iter=3_000)
            plain.fit(x, y, sample_weight=weight * len(y))
            self._weights = plain.coef_[0]
            return self
        x = x * self._signs
        decay = 1.0 / (self._strength * len(y))

        def loss(b: Numbers) -> tuple[float, Numbers]:
            z = x @ b[:-1] + b[-1]
            pull = weight * (1 / (1 + np.exp(-z)) - y)
            value = (weight * (np.logaddexp(0, z) - y * z)).sum() + decay * (b[:-1] ** 2).sum() / 2
            return float(value), np.append(x.T @ pull + decay * b[:-1], pull.sum())

        bounds = [(0, None)] * x.shape[1] + [(None, None)]
        found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, bounds=bounds)
        self._weights = found.x[:-1] * self._signs
        return self

    def score(self, source: Source) -> Numbers:
        """Return a number per row, higher for rows that look unsupported."""
        x = source.values[:, self._columns]
        x = np.where(np.isnan(x), self._median, x)
        return np.asarray((x - self._mean) / self._scale @ self._weights)


def models(checks: Sequence[Check]) -> dict[str, Model]:
    """Return what is compared, by name."""
    items = declared(checks)
    place = {item.name: at for at, item in enumerate(items)}
    signs = {item.name: 1.0 if item.suspect is Suspect.HIGH else -1.0 for item in items}
    aligned = [item.name for item in checks[0].declarations]

    def held(names: Sequence[str]) -> Model:
        limits = np.asarray([signs[name] for name in names])
        return Model([place[name] for name in names], limits, 0.01)

    one = {
        label: Model([place[name]], np.asarray([signs[name]]), 1.0)
        for label, name in SINGLE.items()
    }
    return {
        **one,
        "alignment, logistic regression": Model([place[name] for name in aligned], None, 0.01),
        "alignment, signs held": held(aligned),
        "4 of alignment, signs held": held(FEW),
        "reader, signs held": held(READING),
        "4 of alignment and reader, signs held": held((*FEW, *READING)),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT)
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args()
    if not options.file.exists():
        sys.exit(f"{options.file} is missing: it lies beside this project, not in it")
    encoder = MiniLmEncoder(max_cached_token_bytes=256 << 20)
    checks: list[Check] = [GeneratorAlignment(encoder), SupportReading(BundledReader())]
    sources: dict[str, Source] = {}
    for name, rows in rows_of(options.file, options.rows):
        sources[name] = measured(rows, checks)
        print(
            f"{name}: {len(rows)} rows, {sources[name].faulty.mean():.2f} unsupported", flush=True
        )
    print(f"{'AUC / balanced accuracy, left out:':40}" + "".join(f"{s:>16}" for s in SOURCES))
    for label in models(checks):
        cells = []
        for left_out in SOURCES:
            seen = [source for name, source in sources.items() if name != left_out]
            model = models(checks)[label].fit(seen)
            limit = threshold([model.score(source) for source in seen], seen)
            test = sources[left_out]
            score = model.score(test)
            right = balanced_accuracy(test.faulty, score >= limit)
            cells.append(f"{roc_auc_score(test.faulty, score):.3f} / {right:.3f}")
        print(f"{label:40}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()

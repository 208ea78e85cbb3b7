"""Writes the reader's examples of all seven kinds to one JSON file."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from training.reader.answers import answer_examples
from training.reader.choices import choice_pairs
from training.reader.corpora import Corpora, Side, is_held_back, load_corpora, read_rows
from training.reader.details import detail_pairs
from training.reader.limits import Limits
from training.reader.pairs import load_tokenizer
from training.reader.queries import query_pairs
from training.reader.rewrites import Recorded, RewritePair, rewrite_pairs
from training.reader.sentence_pairs import sentence_pairs
from training.reader.texts import normalised

DATA = Path("../shared/data")
EXAMPLES = Path("build/reader/examples.json")
SEED = 7
KINDS = "ABCDEFG"


def make_examples(
    data: Path, seed: int, limits: Mapping[str, Limits]
) -> dict[str, dict[str, list[Any]]]:
    """Return the examples to ``train`` on and those held back (``dev``), by kind, each shuffled."""
    corpora = load_corpora(data)
    for what, count in corpora.counts.items():
        print(f"{count} {what}", flush=True)
    recorded = list(_recorded(data / "rewriter_pairs.jsonl.gz", corpora))
    held_back = [row for row, is_dev in recorded if is_dev]
    to_train_on = [row for row, is_dev in recorded if not is_dev]
    return {
        "train": _of_side(corpora.train, to_train_on, seed, limits),
        "dev": _of_side(corpora.dev, held_back, seed, limits),
    }


def _of_side(
    side: Side, recorded: Collection[Recorded], seed: int, limits: Mapping[str, Limits]
) -> dict[str, list[Any]]:
    """Return the examples of one side, by kind."""

    # Draws of their own: a kind does not change when another one does.
    def draws(kind: str) -> Random:
        return Random(f"{seed} {kind}")

    spans, claims = answer_examples(side, limits["A"], limits["B"], draws("A and B"))
    questions = [question.text for question in (*side.questions, *side.yes_or_no)]
    golds = [row.gold for row in recorded]
    asked = list({normalised(text): text for text in (*questions, *golds)}.values())
    found: dict[str, list[Any]] = {
        "A": [*spans],
        "B": [*claims],
        "C": _read_whole(rewrite_pairs(recorded, side.questions, draws("C")), limits["C"]),
        "D": [*sentence_pairs(side.library, limits["D"], draws("D"))],
        "E": [*choice_pairs(side, limits["E"], draws("E"))],
        "F": [*detail_pairs(side, limits["F"], draws("F"))],
        "G": _read_whole(query_pairs(asked, draws("G")), limits["G"]),
    }
    for kind, rows in found.items():
        draws(f"order of {kind}").shuffle(rows)
    return found


def _read_whole(pairs: Collection[RewritePair], limits: Limits) -> list[RewritePair]:
    return [
        pair
        for pair in pairs
        if limits.read_whole(pair.question, pair.same)
        and limits.read_whole(pair.question, pair.other)
    ]


def _recorded(path: Path, corpora: Corpora) -> Iterator[tuple[Recorded, bool]]:
    """Yield the recorded rewrites, and whether each is held back.

    A question of the corpora is on its side here, too; others go by their hash.
    """
    dev, train = (
        {normalised(q.text) for q in (*side.questions, *side.yes_or_no)}
        for side in (corpora.dev, corpora.train)
    )
    judged = set(corpora.judged)
    for row in read_rows(path):
        gold = row.get("gold_rewrite") or ""
        text = normalised(gold)
        if gold and not {text, normalised(row["question"])} & judged:
            is_dev = text in dev or (text not in train and is_held_back(text))
            yield Recorded(gold, row["rewrite"] or "", row["exact"]), is_dev


def main() -> None:
    """Make the examples and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data")
    parser.add_argument("--out", type=Path, default=EXAMPLES, help="file to write")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    limits = {kind: Limits(load_tokenizer()) for kind in KINDS}
    examples = make_examples(options.data, options.seed, limits)
    content = json.dumps(examples).encode()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(content)
    for kind, kept in limits.items():
        for reason, count in sorted(kept.dropped.items()):
            print(f"{kind}: left out {count}, {reason}")
    for side, kinds in examples.items():
        print(f"{side}: {', '.join(f'{len(rows)} {kind}' for kind, rows in kinds.items())}")
    print(f"{options.out}: sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()

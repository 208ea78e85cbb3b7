"""Writes the reader's examples of all four kinds to one JSON file."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from random import Random

from training.reader.answers import answer_examples
from training.reader.corpora import load_corpora, read_rows
from training.reader.rewrites import rewrite_pairs
from training.reader.sentence_pairs import sentence_pairs

DATA = Path("../shared/data")
EXAMPLES = Path("build/reader/examples.json")
SEED = 7


def make_examples(data: Path, seed: int) -> dict[str, list[tuple[str | None, ...]]]:
    """Return the examples by kind (A spans, B claims, C rewrites, D sentences), each shuffled."""
    rng = Random(seed)
    library, questions = load_corpora(data)
    print(
        f"{len(library.documents)} documents, {len(library.excluded)} of them of judged questions; "
        f"{len(questions)} questions",
        flush=True,
    )
    spans, claims = answer_examples(questions, library, rng)
    rewrites = rewrite_pairs(read_rows(data / "rewriter_pairs.jsonl.gz"), questions, rng)
    for kind in (spans, claims, rewrites):
        rng.shuffle(kind)
    # Draws of their own: the sentences do not change when another kind does.
    made = sentence_pairs(library, Random(seed + 4))
    return {"A": [*spans], "B": [*claims], "C": [*rewrites], "D": [*made]}


def main() -> None:
    """Make the examples and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data")
    parser.add_argument("--out", type=Path, default=EXAMPLES, help="file to write")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    examples = make_examples(options.data, options.seed)
    content = json.dumps(examples).encode()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_bytes(content)
    counts = ", ".join(f"{len(rows)} {kind}" for kind, rows in examples.items())
    print(f"{options.out}: {counts}; sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()

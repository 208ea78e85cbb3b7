"""Which combination of models judges best: the table of docs/detector.md.

Run with ``python tests/bench/ensemble.py [--runs FILE] [--seed N] [--checks GROUP...] [VARIANT...]``. FILE holds run
records with labels; by default it is ../shared/data/runs/judged.jsonl.gz, which lies beside this
project and is not part of it. Everything is out of fold by question, also calibration and
thresholds (policy ``paper``): a run is judged by detectors whose training saw no run of its
question. Counts are the mean over the partitions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from otel_raglog.building import TRAINING_CHECKS, build_analyser
from otel_raglog.checks.registry import GROUPS
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1, noisy_or
from otel_raglog.detect.rules1_weights import LEAK, THRESHOLD
from otel_raglog.detect.training.examples import Example, examples_of, names_in, tables_of
from otel_raglog.detect.training.labels import read_all_labels
from otel_raglog.detect.training.settings import DEFAULT, PAPER, Inputs, Settings
from otel_raglog.detect.training.training import folds_of, to_artifact, train
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage
from otel_raglog.options import Analysis

RUNS = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs" / "judged.jsonl.gz"
PAPERS = PAPER.weights
VARIANTS: Mapping[str, Settings] = {
    "default": DEFAULT,
    "C 0.5": replace(DEFAULT, regularisation=0.5),
    "C 0.1": replace(DEFAULT, regularisation=0.1),
    "C 0.01": replace(DEFAULT, regularisation=0.01),
    "undirected": replace(DEFAULT, directed=False),
    "own measurements": replace(DEFAULT, inputs=Inputs.OWN),
    "all and clues": replace(DEFAULT, inputs=Inputs.ALL_AND_CLUES),
    "clues": replace(DEFAULT, inputs=Inputs.CLUES),
    "with boosted trees": replace(DEFAULT, weights=(2 / 3, 1 / 3, 0.0)),
    "with forest": replace(DEFAULT, weights=(2 / 3, 0.0, 1 / 3), forest_trees=100),
    "paper's weights and C": replace(DEFAULT, weights=PAPERS, regularisation=0.5, forest_trees=100),
    "paper": PAPER,
}


def read(path: Path) -> list[dict[str, object]]:
    """Return the records of ``path``."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def outcome(*, flagged: bool, faulty: bool) -> str:
    """Return the cell of the confusion matrix."""
    if flagged:
        return "tp" if faulty else "fp"
    return "fn" if faulty else "tn"


def f1(counts: Counter[str]) -> float:
    """Return the F1 of counts of outcomes."""
    return 2 * counts["tp"] / max(1, 2 * counts["tp"] + counts["fp"] + counts["fn"])


def rate(counts: Counter[str]) -> float:
    """Return the false-positive rate of counts of outcomes."""
    return counts["fp"] / max(1, counts["fp"] + counts["tn"])


def measure_variant(name: str, settings: Settings, examples: Sequence[Example], seed: int) -> None:
    """Print the row of one variant."""
    inner = replace(settings, seed=seed, partitions=1)
    folds = folds_of(examples, seed)
    counts: dict[str, Counter[str]] = {}
    scores: dict[Stage, list[list[tuple[float, bool]]]] = {}
    for partition in folds:
        scored: dict[Stage, list[tuple[float, bool]]] = {}
        for tested in np.unique(partition):
            inside = [
                each for each, fold in zip(examples, partition, strict=True) if fold != tested
            ]
            outside = [
                each for each, fold in zip(examples, partition, strict=True) if fold == tested
            ]
            artifact, _ = to_artifact(train(inside, inner), inside, inner)
            detector = Ensemble(artifact, Policy.PAPER)
            for example in outside:
                tally(example, detector, artifact.manifest.stages, counts, scored)
        for stage, each in scored.items():
            scores.setdefault(stage, []).append(each)
    cells = []
    for stage, partitions in scores.items():
        aucs = [roc_auc_score([bad for _, bad in p], [s for s, _ in p]) for p in partitions]
        cells.append(f"{stage.value} {np.mean(aucs):.3f} / {f1(counts[stage.value]):.2f}")
    pooled = counts["pooled"]
    print(
        f"{name:24} pooled F1 {f1(pooled):.3f} FPR {rate(pooled):.3f}   AUC / F1: {'  '.join(cells)}",
        flush=True,
    )


def tally(
    example: Example,
    detector: Ensemble,
    stages: Mapping[Stage, object],
    counts: dict[str, Counter[str]],
    scored: dict[Stage, list[tuple[float, bool]]],
) -> None:
    """Count what a detector says of one run."""
    found: dict[Stage, float] = {}
    for (stage, _), probability in detector.probabilities(example.features).items():
        found[stage] = max(probability, found.get(stage, 0.0))
    for stage, faulty in example.faulty.items():
        if stage in stages and stage in found:
            probability, threshold = found[stage], detector.threshold(stage)
        else:  # as the detector does: rules-1
            clues = example.features.shared.get(f"clues.{stage.value}", 0.0)
            probability, threshold = noisy_or((LEAK, clues)), THRESHOLD
        scored.setdefault(stage, []).append((probability, faulty))
        for key in (stage.value, "pooled"):
            cell = outcome(flagged=probability >= threshold, faulty=faulty)
            counts.setdefault(key, Counter())[cell] += 1


def print_best_features(examples: Sequence[Example]) -> None:
    """Print the single feature of each stage with the best AUC, chosen with hindsight."""
    names = names_in(examples)
    for table in tables_of(examples, names):
        best = (0.0, "")
        for place, name in enumerate(names):
            known = ~np.isnan(table.values[:, place])
            if known.mean() > 0.9 and 0 < table.faulty[known].sum() < known.sum():
                auc = float(roc_auc_score(table.faulty[known], table.values[known, place]))
                best = max(best, (max(auc, 1 - auc), name))
        faults = int(table.faulty.sum())
        print(
            f"  {table.stage.value:10} {faults:4} of {len(table.rows):4}   {best[0]:.3f} {best[1]}"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(VARIANTS))
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checks", nargs="+", default=TRAINING_CHECKS, choices=GROUPS)
    arguments = parser.parse_args()
    if unknown := set(arguments.variants) - set(VARIANTS):
        sys.exit(f"no variant {', '.join(unknown)}; known: {', '.join(VARIANTS)}")
    if not arguments.runs.exists():
        sys.exit(f"{arguments.runs} is missing: it lies beside this project; name another file")
    analyser = build_analyser(
        Analysis(checks=tuple(arguments.checks)),
        quote_text=False,
        failures=LoggingFailures(),
        detector=Rules1(),
    )
    records = read(arguments.runs)
    labels, _ = read_all_labels(records)
    runs = list(zip(map(run_from_record, records), labels, strict=True))
    examples = examples_of(runs, analyser.measure)
    print(f"{len(examples)} runs, {len(names_in(examples))} features")
    print("best single feature with hindsight: faulty of all, AUC")
    print_best_features(examples)
    for name in arguments.variants or VARIANTS:
        started = time.perf_counter()
        measure_variant(name, VARIANTS[name], examples, arguments.seed)
        print(f"  ({time.perf_counter() - started:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()

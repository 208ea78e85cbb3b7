"""How many runs an LLM must be asked about, when it is right so often: the curves of docs/detector.md.

Run with ``python tests/bench/escalation.py [--runs FILE...] [--right 0.85] [--seed 1]``. FILE holds run records
with labels; by default it is ../shared/data/runs/judged.jsonl.gz, which lies beside this project and is
not part of it. No LLM is asked: a simulated judge forms an opinion of each labelled stage that is right
with the given probability, and answers the five checks by its opinions, all of one run alike. Both tiers
are trained and judged out of fold by question, thresholds of the policy ``paper`` included, so training
learns how far this judge is to be trusted. Printed is, for several bands, the share of the runs that is
asked about against the pooled F1; ``untrained`` has the fixed combination in place of trained models.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from otel_raglog.building import build_analyser, with_training_checks
from otel_raglog.checks.judge.answers import JudgeAnswers
from otel_raglog.checks.judge.registry import measurements_from
from otel_raglog.checks.runner import LoggingFailures
from otel_raglog.commands.evaluate import read_labelled
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.lab.evaluation.detectors import tier_trainer
from otel_raglog.lab.evaluation.escalation import curve_of, escalation_table, judge_tiers
from otel_raglog.lab.evaluation.outcomes import MeasuredRun
from otel_raglog.lab.evaluation.retraining import splits_of
from otel_raglog.model import Stage
from otel_raglog.options import Analysis

RUNS = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs" / "judged.jsonl.gz"
_REWRITER = ("drops_constraint", "adds_constraint", "changes_entity")
_GENERATOR = (
    "unsupported",
    "off_question",
    "incomplete",
    "should_abstain",
    "wrong_refusal",
    "misstated_number",
)
_ASKED_AS = {"unsupported_claim": "unsupported", "changes_intent": "changes_entity"}


class NoisyJudge:
    """Answers as an LLM might whose opinion of a stage is right with a fixed probability."""

    def __init__(self, right: float, seed: int) -> None:
        self._right = right
        self._seed = seed

    def answers(self, run: MeasuredRun, number: int) -> JudgeAnswers:
        """Return the answers to all five checks; a stage without a label is taken for sound."""
        random = np.random.default_rng([self._seed, number])
        opinion = {
            stage: run.labels.faulty.get(stage, False) == bool(random.random() < self._right)
            for stage in Stage
        }
        types = {
            stage: [_ASKED_AS.get(name, name) for name in run.labels.types.get(stage, ())]
            for stage in Stage
        }

        def grades(stage: Stage, names: Sequence[str]) -> dict[str, int]:
            named = [name for name in names if name in types[stage]] or [
                names[int(random.integers(len(names)))]
            ]
            return {
                name: int(random.integers(55, 99) if opinion[stage] and name in named
                          else random.integers(0, 40))
                for name in names
            }  # fmt: skip

        def absent(stage: Stage) -> bool:
            return not run.run.steps(stage)

        retriever, reranker = opinion[Stage.RETRIEVER], opinion[Stage.RERANKER]
        generator = opinion[Stage.GENERATOR]
        graded = grades(Stage.GENERATOR, _GENERATOR)
        verified = grades(Stage.GENERATOR, _GENERATOR)
        held = not retriever and not (reranker and not absent(Stage.RERANKER))
        weak = int(random.integers(0, 70))
        lost = not retriever and not held
        return JudgeAnswers.model_validate(
            {
                "id": run.run.run_id,
                "graded_stage": {
                    "rewriter": None
                    if absent(Stage.REWRITER)
                    else grades(Stage.REWRITER, _REWRITER),
                    "embedder": None
                    if absent(Stage.EMBEDDER)
                    else grades(Stage.EMBEDDER, ("unfaithful",)),
                    "retriever": {
                        **grades(Stage.RETRIEVER, ("no_chunk_answers",)),
                        "partial_coverage": weak,
                        "mostly_irrelevant": weak,
                    },
                    "reranker": None
                    if absent(Stage.RERANKER)
                    else {
                        **grades(Stage.RERANKER, ("good_chunk_excluded",)),
                        "weak_chunks_passed": weak,
                    },
                },
                "graded_generator": graded,
                "verification": {**verified, "any_fault": max(verified.values())},
                "evidence_flow": {
                    "pieces": [
                        {
                            "piece": "what was asked",
                            "passed": "yes" if held else "no",
                            "excluded": "yes" if lost else "no",
                            "answer": "different" if generator else "stated",
                        }
                    ],
                    "unsupported_statements": int(generator),
                    "refusal": False,
                },
                "statements": {
                    "contradiction": 0,
                    "unsupported_answer": int(generator),
                    "added_detail": 0,
                    "harmless": int(random.integers(0, 3)),
                    "hedged": 0,
                    "unsupported_fact": max(graded.values()),
                    "omits_item": verified["incomplete"],
                    "wrong_refusal": verified["wrong_refusal"],
                    "other_question": verified["off_question"],
                },
            }
        )

    def ask(self, runs: Sequence[MeasuredRun]) -> list[MeasuredRun]:
        """Return the runs with what the answers measure beside what was measured."""
        return [
            MeasuredRun(
                run.run,
                (*run.measurements, *measurements_from(self.answers(run, number), run.run)),
                run.labels,
            )
            for number, run in enumerate(runs)
        ]


def compare(runs: Sequence[MeasuredRun], right: float, seed: int, console: Console) -> None:
    """Print the curves of trained models and of the fixed combination."""
    asked = NoisyJudge(right, seed).ask(runs)
    splits = splits_of(asked, seed=seed)
    trained = tier_trainer(Policy.PAPER, seed)
    for name, trainer in (("trained", trained), ("untrained", trained.untrained())):
        tiers = judge_tiers(splits, trainer, lambda *_: None)
        console.print(f"\n{name}: {len(runs)} runs, a judge that is right {right:.0%} of the time")
        console.print(escalation_table(curve_of(tiers)))


def main() -> None:
    """Read the arguments, measure, and print the curves."""
    parser = argparse.ArgumentParser(description="Calls against pooled F1 with a noisy judge.")
    parser.add_argument("--runs", type=Path, nargs="+", default=[RUNS])
    parser.add_argument("--right", type=float, default=0.85)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    analyser = build_analyser(
        with_training_checks(Analysis()),
        quote_text=False,
        failures=LoggingFailures(),
        detector=Rules1(),
    )
    found = read_labelled(given.runs, analyser, lambda *_: None)
    compare(found.runs, given.right, given.seed, Console(width=100))


if __name__ == "__main__":
    main()

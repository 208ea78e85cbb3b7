"""Which corpora, questions and pipelines are trained on, and which are kept for the evaluation.

This is the only place that says so. It was written before anything was trained.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

TRAINING_CORPORA = ("nq_oracle", "xquad_squad", "halueval_hotpot")
HELD_OUT_CORPORA = ("covidqa", "fitz_gov")
HELD_OUT_PIPELINES = ("rewrite_hybrid_rerank", "keywords_dense_rerank")
HELD_OUT_SHARE = 0.2
"""Share of the training corpora's questions that nothing is trained on."""


class Part(StrEnum):
    """What a run may be used for.

    ``TRAIN``: its corpus, question and pipeline are trained on. ``TEST``: none of them is.
    ``MIXED``: some are, so that it is neither.
    """

    TRAIN = "train"
    TEST = "test"
    MIXED = "mixed"


def group_of(corpus: str, question_id: str) -> str:
    """Return the group of all runs of one question: they stay together in every fold."""
    return f"{corpus}:{question_id}"


def question_held_out(group: str) -> bool:
    """Whether nothing may be trained on this question: by the group's SHA-256, one in five."""
    number = int.from_bytes(hashlib.sha256(group.encode()).digest()[:8])
    return number < HELD_OUT_SHARE * 2**64


def part_of(group: str, pipeline: str) -> Part:
    """Return what the runs of a question on a pipeline may be used for.

    Every question of a held-out corpus is held out. A corpus that is in neither list is nobody's:
    its runs are ``MIXED``.
    """
    corpus = group.partition(":")[0]
    held = pipeline in HELD_OUT_PIPELINES
    if corpus in TRAINING_CORPORA and not question_held_out(group) and not held:
        return Part.TRAIN
    return Part.TEST if corpus in HELD_OUT_CORPORA and held else Part.MIXED

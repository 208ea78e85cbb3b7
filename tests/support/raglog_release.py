"""A small release of labelled runs, made up: runs, traces and labels as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

GOOD = "Full-time employees get 25 days of paid vacation."
BAD = "Lost badges must be reported to the reception."
QUESTION = "How many vacation days do full-time employees get?"


def run_line(number: int, dataset: str = "handbook") -> dict[str, Any]:
    """Return a line of runs: what was asked and answered, and the references."""
    return {
        "run_id": f"{dataset}-{number}",
        "dataset": dataset,
        "pipeline": ("dense", "rerank")[number % 2],
        "question_id": f"q{number // 2}",
        "question": QUESTION,
        "answer": "They get 25 days." if sound(number) else "They get 40 days.",
        "reference_answers": ["25 days"],
        "correct": sound(number),
    }


def trace_line(number: int, dataset: str = "handbook") -> dict[str, Any]:
    """Return a line of traces: what each stage received and returned; half have no reranker."""
    text = GOOD if sound(number) else BAD
    chunks = [{"chunk_id": "a", "text": text, "score": 0.7}, {"chunk_id": "b", "text": BAD}]
    prompt = f"{text}\n\n{QUESTION}"
    trace = {
        "rewriter": {"input": QUESTION, "output": "vacation days of full-time employees"},
        "embedder": {
            "input": "vacation days of full-time employees",
            "output": {"dimensions": 384},
        },
        "retriever": {"input": {"query": "vacation days"}, "output": {"chunks": chunks}},
        "reranker": {"input": chunks, "output": chunks[:1]} if number % 2 else None,
        "generator": {
            "input": {"prompt": prompt},
            "output": {"answer": run_line(number)["answer"]},
        },
    }
    return {"run_id": f"{dataset}-{number}", "trace": trace}


def label_line(number: int, dataset: str = "handbook") -> dict[str, Any]:
    """Return a line of labels: per stage, ``null`` where there is none."""
    faulty = not sound(number)
    labels = {
        "rewriter": {"faulty": False},
        "embedder": {"faulty": False},
        "retriever": {"faulty": faulty, "fault_types": ["no_relevant_chunk"] if faulty else []},
        "reranker": {"faulty": False} if number % 2 else None,
        "generator": {"faulty": faulty, "fault_types": ["unsupported_claim"] if faulty else []},
    }
    return {"run_id": f"{dataset}-{number}", "labels": labels}


def sound(number: int) -> bool:
    """Tell whether a run is sound: two of three are."""
    return number % 3 > 0


def write_release(folder: Path, count: int = 36) -> Path:
    """Write runs, traces and labels into files of their own."""
    for name, line in (("runs", run_line), ("traces", trace_line), ("labels", label_line)):
        write_lines(folder / f"{name}.jsonl", map(line, range(count)))
    return folder


def write_lines(path: Path, lines: Iterable[Mapping[str, Any] | str]) -> Path:
    """Write JSON lines; a text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path

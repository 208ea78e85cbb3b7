"""The bundled sample data to paths and texts: traces of real applications, what was planted in them, their handbook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

TRACES = "handbook-runs.otlp.jsonl.gz"
PLANTED = "planted.json"
HANDBOOK = "handbook"


@dataclass(frozen=True, slots=True)
class SampleSet:
    """Traces and, apart from them, the truth about them.

    `traces` is gzipped OTLP/JSON lines, one export request a line in the order of arrival.

    `planted` is JSON, for scoring alone (no check may see it): `{"seed": n, "runs": [...]}`, a run being
    `{"trace_id", "question_id", "question", "answer", "pipeline", "session", "turn",
    "planted": [{"stage", "type"}], "labels": {stage: {"faulty", "types"}},
    "reference": {"answers", "evidence_ids"}}`. `labels` follow the project's label rules and are what counts;
    `planted` is what was attempted. A stage without a label left nothing to judge. Two runs may share a
    `trace_id`: join on trace id and question.
    """

    traces: Path
    planted: Path


@contextmanager
def open_set(folder: Path | None = None) -> Iterator[SampleSet]:
    """Give the bundled set, or one that `make traces` wrote into `folder`.

    The paths hold for the `with` block: a package in a zip archive is unpacked for it. Whether the files of
    `folder` exist is not checked.
    """
    if folder is not None:
        yield SampleSet(folder / TRACES, folder / PLANTED)
        return
    with ExitStack() as stack:
        yield SampleSet(
            stack.enter_context(as_file(_bundled() / TRACES)),
            stack.enter_context(as_file(_bundled() / PLANTED)),
        )


def read_handbook() -> dict[str, str]:
    """Return the pages that the applications answer from: Markdown text by document id."""
    pages = (entry for entry in (_bundled() / HANDBOOK).iterdir() if entry.name.endswith(".md"))
    return {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in sorted(pages, key=lambda page: page.name)
    }


def _bundled() -> Traversable:
    return files(__name__)

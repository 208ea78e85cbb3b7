"""What a careful reader wrote down about traces in an application's own words is what is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from golden_conventions import read_runs, seen_in

from otel_raglog.building import build_conventions
from otel_raglog.config import load_config
from otel_raglog.mapping.sessions import number_turns
from otel_raglog.model import RewriteKind

FOLDER = Path(__file__).parent / "custom"


def runs_of(name):
    config = load_config(FOLDER / f"{name}.yaml", environ={})
    conventions = build_conventions(config.conventions)
    return number_turns(read_runs(FOLDER / f"{name}.otlp.json", conventions))


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in FOLDER.glob("*.yaml") if "." not in path.stem)
)
def test_runs_are_read_as_a_careful_reader_reads_them(name):
    """Each run has the question, rewrites, chunks, answer, session and turn of the trace."""
    expected = yaml.safe_load((FOLDER / f"{name}.expected.yaml").read_text(encoding="utf-8"))[
        "runs"
    ]
    runs = runs_of(name)
    assert [seen_in(run, wanted) for run, wanted in zip(runs, expected, strict=True)] == expected


def test_the_examples_of_the_page_are_rules(tmp_path):
    """What docs/custom-conventions.md shows can be copied."""
    page = (Path(__file__).parents[2] / "docs" / "custom-conventions.md").read_text("utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    for text in examples:
        path = tmp_path / "raglog.yaml"
        path.write_text(text, encoding="utf-8")
        assert load_config(path, environ={}).conventions.custom
    path.write_text(examples[0], encoding="utf-8")
    conventions = build_conventions(load_config(path, environ={}).conventions)
    first, second = read_runs(FOLDER / "help-desk.otlp.json", conventions)
    assert first.question.value == "How many vacation days do employees of Larkfield Optics have?"
    assert [len(run.retrievers[0].chunks.value) for run in (first, second)] == [3, 4]
    assert (first.session_id, second.turn) == ("chat-77", 2)


def test_the_rules_are_where_facts_come_from():
    """Provenance names the rule and the key, and the rewriter is one since its user said so."""
    first, second = runs_of("help-desk")
    chunks = first.retrievers[0].chunks.source
    assert (chunks.convention, chunks.key) == ("custom:search", "app.hits")
    assert second.rerankers[0].candidates.source.key == "candidate/*"
    assert second.rewriters[0].kind is RewriteKind.CONDENSE
    assert "configuration" in second.rewriters[0].origin.why
    assert first.conventions == second.conventions == ("custom",)


def test_without_the_rules_nothing_is_read():
    """None of these spans speaks a vocabulary that is built in."""
    runs = read_runs(FOLDER / "help-desk.otlp.json")
    assert {run.skip_reason for run in runs} == {"no_genai_spans"}

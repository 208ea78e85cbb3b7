"""Execution: a question through a pipeline, with a fault in one stage or none."""

from dataclasses import replace

import pytest
from lab_kit import WordVectors, small_corpus

from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking
from otel_raglog.lab.evidence import Evidence
from otel_raglog.lab.follow_ups import as_asked
from otel_raglog.lab.pipelines.execution import Injection, Setting, execute
from otel_raglog.lab.pipelines.registry import pipelines_named
from otel_raglog.model import Stage

CORPUS = small_corpus()
BENCH = Bench(CORPUS, Chunking(), WordVectors())
QUESTION = CORPUS.questions[5]


def _setting(name):
    evidence = Evidence(QUESTION, BENCH.documents)
    return Setting(pipelines_named((name,))[0], BENCH, evidence, "key")


class _Shout:
    """Upper case in the text of one stage."""

    name, types, twin = "shout", (), None

    def __init__(self, stage):
        self.stage = stage

    def inject(self, run, setting, rng):
        if run.rewrites:
            return Injection(replace(run, rewrites=("caraway bread",)), "a", "b")
        return None


def test_a_run_has_what_its_pipelines_stages_made():
    """``None`` where there is no stage."""
    run = execute(as_asked(QUESTION), _setting("bm25_rerank")).execution
    assert (run.rewrites, run.embedded) == (None, None)
    assert len(run.passed) == min(3, len(run.retrieved))
    assert run.passed == run.reranked[: len(run.passed)]
    assert all(hit.passage.text in run.prompt for hit in run.passed)
    assert run.reply.text


def test_a_run_is_the_same_twice():
    """Randomness hangs on the run's key alone."""
    first = execute(as_asked(QUESTION), _setting("rewrite_hybrid_rerank"))
    assert first == execute(as_asked(QUESTION), _setting("rewrite_hybrid_rerank"))


def test_later_stages_react_to_a_fault():
    """What is retrieved, rendered and answered hangs on the faulty rewrite."""
    clean = execute(as_asked(QUESTION), _setting("rewrite_dense")).execution
    faulty = execute(
        as_asked(QUESTION), _setting("rewrite_dense"), _Shout(Stage.REWRITER)
    ).execution
    assert faulty.embedded == ("caraway bread",)
    assert clean.retrieved[0].passage.title == "Fenwick Theatre"
    assert "caraway" in faulty.retrieved[0].passage.text
    assert "caraway" in faulty.prompt


@pytest.mark.parametrize("stage", [Stage.REWRITER, Stage.EMBEDDER, Stage.RERANKER, Stage.GENERATOR])
def test_a_fault_that_finds_nothing_to_change_makes_no_run(stage):
    """Neither does one of a stage that the pipeline lacks."""
    assert execute(as_asked(QUESTION), _setting("bm25"), _Shout(stage)) is None


def test_an_embedder_with_a_limit_reads_the_beginning():
    """A natural fault of long questions."""
    run = execute(
        as_asked(replace(QUESTION, text=f"{'Fenwick ' * 12}?")), _setting("dense_short_embedder")
    )
    assert run.execution.embedded == (("Fenwick " * 9).strip(),)

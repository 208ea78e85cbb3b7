"""Runs a question through a pipeline, stage by stage, with a fault in one stage or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from otel_raglog.lab.bench import Bench
from otel_raglog.lab.evidence import Evidence
from otel_raglog.lab.follow_ups import Asked
from otel_raglog.lab.llm import Reply
from otel_raglog.lab.pipelines.generators import Prompt
from otel_raglog.lab.pipelines.registry import Pipeline
from otel_raglog.lab.pipelines.retrievers import Queries
from otel_raglog.lab.pipelines.templates import Slot, within
from otel_raglog.lab.stores import EVERYWHERE, Hit, Scope
from otel_raglog.model import Stage

if TYPE_CHECKING:
    from otel_raglog.lab.inject.fault import Fault


_NO_REPLY = Reply("")


@dataclass(frozen=True, slots=True)
class Execution:
    """What the stages made of a question so far; ``None`` where the pipeline lacks the stage."""

    asked: Asked
    rewrites: tuple[str, ...] | None = None
    embedded: tuple[str, ...] | None = None
    retrieved: tuple[Hit, ...] = ()
    reranked: tuple[Hit, ...] | None = None
    passed: tuple[Hit, ...] = ()
    slots: tuple[Slot, ...] = ()
    prompt: str = ""
    reply: Reply = _NO_REPLY

    @property
    def queries(self) -> tuple[str, ...]:
        """What is searched for by words."""
        return self.rewrites or (self.asked.text,)


@dataclass(frozen=True, slots=True)
class Injection:
    """A run with a fault in it: what stood there before, and what stands there now."""

    execution: Execution
    before: str
    after: str


class Setting:
    """The surroundings of one run: its pipeline, corpus and question, and its randomness.

    ``elsewhere`` is the bench of another corpus: the wrong index. The randomness of a stage
    depends on ``key`` and the stage alone, so that a run with a fault differs from its clean twin
    by the fault and its consequences.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        bench: Bench,
        evidence: Evidence,
        key: str,
        elsewhere: Bench | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.bench = bench
        self.evidence = evidence
        self.elsewhere = elsewhere
        self._key = key

    def rng(self, name: str) -> Random:
        """Return the randomness of a stage or fault; the same at each call."""
        return Random(f"{self._key}:{name}")  # noqa: S311  no secret

    def search(
        self, run: Execution, scope: Scope = EVERYWHERE, bench: Bench | None = None
    ) -> tuple[Hit, ...]:
        """Return what the pipeline's retriever finds for the run's queries."""
        queries = Queries(run.queries, run.embedded or ())
        return self.pipeline.retriever.search(
            bench or self.bench, queries, self.pipeline.top_k, scope
        )

    def render(self, run: Execution) -> str:
        """Return the prompt for the run's slots."""
        return self.pipeline.template.render(run.asked.text, run.slots, run.asked.history)

    def generate(self, run: Execution) -> Reply:
        """Return the generator's answer to the run's prompt."""
        prompt = Prompt(self.pipeline.system, run.prompt, run.asked.standalone, run.slots)
        return self.pipeline.generator.answer(prompt, self.bench, self.rng(Stage.GENERATOR))


def execute(asked: Asked, setting: Setting, fault: Fault | None = None) -> Injection | None:
    """Return the run of a question, with ``fault`` put into its stage while it runs.

    Later stages work with what the fault left. ``None`` when the fault cannot be put into this
    run: it has no such stage, or nothing that could be changed.
    """
    stages: tuple[tuple[Stage, Callable[[Execution, Setting], Execution]], ...] = (
        (Stage.REWRITER, _rewrite),
        (Stage.EMBEDDER, _embed),
        (Stage.RETRIEVER, _retrieve),
        (Stage.RERANKER, _rerank),
        (Stage.ASSEMBLY, _assemble),
        (Stage.GENERATOR, _generate),
    )
    run = Execution(asked)
    injected: Injection | None = None
    for stage, work in stages:
        run = work(run, setting)
        if fault is not None and fault.stage is stage:
            if not _has(stage, run):
                return None
            injected = fault.inject(run, setting, setting.rng(fault.name))
            if injected is None:
                return None
            run = injected.execution
    if injected is None:
        return Injection(run, "", "")
    return replace(injected, execution=run)


def _has(stage: Stage, run: Execution) -> bool:
    made = {
        Stage.REWRITER: run.rewrites,
        Stage.EMBEDDER: run.embedded,
        Stage.RERANKER: run.reranked,
    }
    return stage not in made or made[stage] is not None


def _rewrite(run: Execution, setting: Setting) -> Execution:
    rewriter = setting.pipeline.rewriter
    if rewriter is None:
        return run
    found = rewriter.rewrite(run.asked, setting.bench, setting.rng(Stage.REWRITER))
    return replace(run, rewrites=found)


def _embed(run: Execution, setting: Setting) -> Execution:
    if not setting.pipeline.retriever.dense:
        return run
    most = setting.pipeline.embeds
    texts = run.queries
    if most is not None:
        texts = tuple(" ".join(text.split()[:most]) for text in texts)
    return replace(run, embedded=texts)


def _retrieve(run: Execution, setting: Setting) -> Execution:
    return replace(run, retrieved=setting.search(run))


def _rerank(run: Execution, setting: Setting) -> Execution:
    reranker = setting.pipeline.reranker
    if reranker is None:
        return replace(run, passed=run.retrieved)
    # As in most frameworks, what is reranked against is what was searched for first.
    question = run.queries[0] if run.asked.history else run.asked.text
    found = reranker.rerank(question, run.retrieved, setting.bench)
    return replace(run, reranked=found, passed=found[: setting.pipeline.keep])


def _assemble(run: Execution, setting: Setting) -> Execution:
    # A fault before this stage changes what is passed; one of this stage changes the slots,
    # and then the prompt is written from them.
    return replace(run, slots=within(run.passed, setting.pipeline.budget))


def _generate(run: Execution, setting: Setting) -> Execution:
    run = replace(run, prompt=setting.render(run))
    return replace(run, reply=setting.generate(run))

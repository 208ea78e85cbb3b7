"""Corpora, pipelines and faults to labelled run records: what is run, in which order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otel_raglog.checks.similarity.encoder import Encoder
from otel_raglog.checks.text.words import content_words
from otel_raglog.errors import BadInput
from otel_raglog.lab.bench import Bench
from otel_raglog.lab.corpus import Chunking, Corpus, Question
from otel_raglog.lab.evidence import Evidence
from otel_raglog.lab.follow_ups import Asked, as_asked, follow_up
from otel_raglog.lab.inject.fault import Fault, Twin
from otel_raglog.lab.labelling.answers import declined
from otel_raglog.lab.labels import label
from otel_raglog.lab.pipelines.execution import Setting, execute
from otel_raglog.lab.pipelines.registry import Pipeline
from otel_raglog.lab.records import OFFLINE_MODEL, Identity, to_record
from otel_raglog.lab.splits import Part, group_of, part_of
from otel_raglog.lab.stores import Told
from otel_raglog.lab.vocabulary import Vocabulary
from otel_raglog.model import Stage


@dataclass(slots=True)
class Lab:
    """Corpora and pipelines; benches are built when first needed, and kept.

    ``folder`` keeps vectors between calls. ``seed`` decides every choice.
    """

    corpora: Sequence[Corpus]
    pipelines: Sequence[Pipeline]
    encoder: Encoder
    folder: Path | None = None
    seed: int = 0
    model: str = OFFLINE_MODEL
    tell: Told | None = None
    _benches: dict[tuple[str, Chunking], Bench] = field(default_factory=dict)
    _evidence: dict[str, Evidence] = field(default_factory=dict)
    _questions: dict[str, tuple[Corpus, Question]] = field(default_factory=dict)

    def bench(self, corpus: Corpus, chunking: Chunking) -> Bench:
        """Return the corpus's bench with this chunking."""
        key = (corpus.name, chunking)
        if key not in self._benches:
            self._benches[key] = Bench(corpus, chunking, self.encoder, self.folder, self.tell)
        return self._benches[key]

    def plan(self, part: Part | None = None) -> Iterator[tuple[Corpus, Question, Pipeline]]:
        """Yield what may be run, each once: corpora in turn, and within each pipelines in turn.

        Any beginning of it is spread evenly over corpora, pipelines and questions. ``part``
        leaves out what the split keeps for something else.
        """
        streams = [self._of_corpus(corpus, part) for corpus in self.corpora]
        while streams:
            left = []
            for stream in streams:
                item = next(stream, None)
                if item is not None:
                    yield item
                    left.append(stream)
            streams = left

    def _of_corpus(
        self, corpus: Corpus, part: Part | None
    ) -> Iterator[tuple[Corpus, Question, Pipeline]]:
        questions = sorted(corpus.questions, key=lambda q: _shuffled(self.seed, corpus.name, q.id))
        for turn in range(len(self.pipelines)):
            for at, question in enumerate(questions):
                pipeline = self.pipelines[(at + turn) % len(self.pipelines)]
                group = group_of(corpus.name, question.id)
                if part is None or part_of(group, pipeline.name) is part:
                    yield corpus, question, pipeline

    def run(
        self, corpus: Corpus, question: Question, pipeline: Pipeline, fault: Fault | None = None
    ) -> dict[str, Any] | None:
        """Return the labelled record of one run, ``None`` where it cannot be made.

        That is when a follow-up cannot be made of the question, the fault finds nothing to
        change, or the question is so vague that the corpus cannot say what answers it.
        """
        setting = self._setting(corpus, question, pipeline)
        if self._vague(setting):
            return None
        asked = self._asked(question, setting)
        if asked is None:
            return None
        injection = execute(asked, setting, fault)
        if injection is None:
            return None
        identity = self.identity(corpus, question, pipeline, fault)
        record = to_record(identity, injection, setting, fault, self.model)
        vocabulary = self._common(corpus).vocabulary
        record |= label(record, setting.evidence, vocabulary).as_record()
        if fault is not None:
            record["injected"]["absorbed"] = absorbed(record)
        return record

    def identity(
        self, corpus: Corpus, question: Question, pipeline: Pipeline, fault: Fault | None = None
    ) -> Identity:
        """Return which run it is."""
        name = fault.name if fault else None
        return Identity(corpus.name, question.id, pipeline.name, name, self.seed)

    def known(self, record: Mapping[str, Any]) -> tuple[Evidence, Vocabulary]:
        """Return what is known of a record's question, whatever pipeline it ran on.

        Raises:
            BadInput: the lab has no such corpus or question.
        """
        corpus, question = self._asked_of(record)
        return self.evidence(corpus, question), self._common(corpus).vocabulary

    def _setting(self, corpus: Corpus, question: Question, pipeline: Pipeline) -> Setting:
        bench = self.bench(corpus, pipeline.chunking)
        key = f"{self.seed}:{corpus.name}:{question.id}:{pipeline.name}"
        evidence = self.evidence(corpus, question)
        return Setting(pipeline, bench, evidence, key, self._elsewhere(corpus, pipeline))

    def evidence(self, corpus: Corpus, question: Question) -> Evidence:
        """Return what the question needs."""
        group = group_of(corpus.name, question.id)
        if group not in self._evidence:
            documents = self._common(corpus).documents
            self._evidence[group] = Evidence(question, documents)
        return self._evidence[group]

    def _common(self, corpus: Corpus) -> Bench:
        """Return the bench whose words count for labels, whatever a pipeline's chunks are."""
        return self.bench(corpus, Chunking())

    def _elsewhere(self, corpus: Corpus, pipeline: Pipeline) -> Bench | None:
        others = [other for other in self.corpora if other.name != corpus.name]
        if not others:
            return None
        at = [other.name for other in self.corpora].index(corpus.name)
        return self.bench(others[at % len(others)], pipeline.chunking)

    def _vague(self, setting: Setting) -> bool:
        vocabulary = self._common(setting.bench.corpus).vocabulary
        question = setting.evidence.question
        if all(map(vocabulary.generic, content_words(question.text))):
            return True
        if question.answers or not question.gold_docs:
            return False
        # Without answers the gold documents must be seen to speak of the question.
        texts = [setting.bench.documents[name] for name in question.gold_docs]
        covered = [setting.evidence.covered(f"{d.title} {d.text}") for d in texts]
        return max(covered) < _SPEAKS_OF

    def _asked(self, question: Question, setting: Setting) -> Asked | None:
        if not setting.pipeline.follow_ups:
            return as_asked(question)
        return follow_up(question, setting.bench.documents, setting.rng("history"))

    def injections(
        self,
        natural: Sequence[Mapping[str, Any]],
        faults: Sequence[Fault],
        most: int,
        made: Sequence[Mapping[str, Any]] = (),
    ) -> Iterator[dict[str, Any]]:
        """Yield runs with a fault, at most ``most`` with those already ``made``, faults in turn.

        Each is a clean run of ``natural``, run again with the fault in it; a clean run serves a
        fault once. Absorbed injections are yielded too: they are negatives.
        """
        known = {record["id"] for record in made}
        count = len(known)
        quota = Counter(str(record["injected"]["type"]) for record in made)
        waiting = {fault.name: iter(self._twins(natural, fault)) for fault in faults}
        open_faults = list(faults)
        while open_faults and count < most:
            open_faults.sort(key=lambda fault: quota[fault.name])
            fault = open_faults[0]
            record = self._next(waiting[fault.name], fault, known)
            if record is None:
                open_faults.remove(fault)
                continue
            quota[fault.name] += 1
            count += 1
            yield record

    def _next(
        self, twins: Iterator[Mapping[str, Any]], fault: Fault, known: set[str]
    ) -> dict[str, Any] | None:
        for twin in twins:
            corpus, question, pipeline = self.parts(twin)
            if self.identity(corpus, question, pipeline, fault).id in known:
                continue
            record = self.run(corpus, question, pipeline, fault)
            if record is not None:
                return record
        return None

    def _twins(self, natural: Sequence[Mapping[str, Any]], fault: Fault) -> list[Mapping[str, Any]]:
        fitting = [record for record in natural if suits(record, fault.twin)]
        return sorted(fitting, key=lambda r: _shuffled(self.seed, fault.name, str(r["id"])))

    def parts(self, record: Mapping[str, Any]) -> tuple[Corpus, Question, Pipeline]:
        """Return what a record was made of.

        Raises:
            BadInput: the lab has no such corpus, question or pipeline.
        """
        corpus, question = self._asked_of(record)
        for pipeline in self.pipelines:
            if pipeline.name == record.get("pipeline"):
                return corpus, question, pipeline
        raise BadInput(
            f"record {record.get('id')}: no pipeline {record.get('pipeline')!r} was given"
        )

    def _asked_of(self, record: Mapping[str, Any]) -> tuple[Corpus, Question]:
        if not self._questions:
            self._questions.update(
                (group_of(corpus.name, question.id), (corpus, question))
                for corpus in self.corpora
                for question in corpus.questions
            )
        group = str(record.get("group"))
        if group not in self._questions:
            raise BadInput(f"record {record.get('id')}: no corpus has its group {group!r}")
        return self._questions[group]


_SPEAKS_OF = 0.5


def suits(record: Mapping[str, Any], twin: Twin) -> bool:
    """Whether a natural run can be the clean twin of a fault that is for ``twin``."""
    labels: Mapping[str, Any] = record.get("labels") or {}
    if record.get("injected") or Stage.GENERATOR not in labels:
        return False
    if twin is Twin.RIGHT_REFUSAL:
        return not labels[Stage.GENERATOR]["faulty"] and declined(str(record["answer"]))
    faulty = any(found["faulty"] for found in labels.values())
    doubtful = bool(record.get("unlabelled"))
    return not faulty and not doubtful and not declined(str(record["answer"]))


def absorbed(record: Mapping[str, Any]) -> bool:
    """Whether the rules find no fault in the stage that a fault was put into."""
    found = (record.get("labels") or {}).get(record["injected"]["stage"])
    return found is not None and not found["faulty"]


def _shuffled(seed: int, *names: str) -> bytes:
    return hashlib.sha256("\0".join([str(seed), *names]).encode()).digest()

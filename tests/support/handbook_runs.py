"""Runs over a tiny handbook, a fake encoder and a fake reader, for tests of checks and detectors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from otel_raglog.checks.check import Check
from otel_raglog.checks.crossencoder.reader import Reading, Span
from otel_raglog.checks.similarity.encoder import TokenVectors
from otel_raglog.checks.text.words import WordIndex, content_words, is_content, words
from otel_raglog.model import (
    NOT_CAPTURED,
    AssemblyStep,
    Chunk,
    EmbedStep,
    Field,
    GenerateStep,
    Measurement,
    Message,
    RerankStep,
    RetrieveStep,
    RewriteKind,
    RewriteStep,
    Run,
    Stage,
    StageState,
    StepOrigin,
    TokenUsage,
    present,
)

HANDBOOK = {
    "vacation": "Full-time employees receive 25 days of paid vacation per calendar year. "
    "Part-time employees receive a pro rata share. Unused days expire on 31 March.",
    "remote": "Remote work is allowed up to three days a week after the probation period. "
    "Managers approve requests in the HR portal.",
    "expenses": "Travel expenses are reimbursed within 30 days if receipts are submitted by the "
    "5th of the month. Anna Schmidt in Finance answers questions.",
    "parental": "Parental leave is 16 weeks at full pay for all parents employed for at least one "
    "year, in Germany as well as in Austria.",
    "laptops": "Laptops are replaced every four years. Lost devices must be reported to the IT "
    "desk within 24 hours.",
}

QUESTION = "How many vacation days do full-time employees get?"
ANSWER = "Full-time employees get 25 days of paid vacation per calendar year."


def chunk(name: str) -> Chunk:
    """Return the handbook's chunk of that name; the name is its id."""
    return Chunk(HANDBOOK[name], id=name)


def make_run(
    question: str = QUESTION,
    answer: str = ANSWER,
    *,
    retrieved: Sequence[str] = ("vacation", "remote", "expenses"),
    selected: Sequence[str] | None = None,
    in_prompt: Sequence[str] | None = None,
    prompt: str | None = None,
    rewrites: Sequence[str] | None = None,
    kind: RewriteKind = RewriteKind.REWRITE,
    embedded: Sequence[str] | None = None,
    history: Sequence[tuple[str, str]] = (),
    finish_reason: str | None = "stop",
    top_k: int | None = None,
    model: str | None = None,
    prompt_tokens: int | None = None,
) -> Run:
    """Return a run: retrieved chunks, those selected (a reranker when fewer), and the prompt.

    Without arguments everything is fine: the evidence is retrieved, passed on and answered from.
    """
    passed = tuple(retrieved if selected is None else selected)
    shown = tuple(passed if in_prompt is None else in_prompt)
    context = "\n\n".join(HANDBOOK[name] for name in shown)
    text = prompt if prompt is not None else f"Context:\n{context}\n\nQuestion: {question}"
    chunks = present(tuple(chunk(name) for name in retrieved))
    kept = present(tuple(chunk(name) for name in passed))
    rewriters = (
        (RewriteStep(StepOrigin(), kind, present(question), present(tuple(rewrites))),)
        if rewrites is not None
        else ()
    )
    embedders = (EmbedStep(StepOrigin(), present(tuple(embedded))),) if embedded is not None else ()
    rerankers = (
        (RerankStep(StepOrigin(), present(question), chunks, kept),) if selected is not None else ()
    )
    counts = {
        Stage.REWRITER: len(rewriters),
        Stage.EMBEDDER: len(embedders),
        Stage.RETRIEVER: 1,
        Stage.RERANKER: len(rerankers),
        Stage.ASSEMBLY: 1,
        Stage.GENERATOR: 1,
    }
    past: Field[tuple[Message, ...]] = (
        present(tuple(Message(role, content) for role, content in history))
        if history
        else NOT_CAPTURED
    )
    return Run(
        run_id="r1",
        trace_id=b"",
        top_span_id=b"",
        service="handbook",
        question=present(question),
        answer=present(answer),
        rewriters=rewriters,
        embedders=embedders,
        retrievers=(RetrieveStep(StepOrigin(), present(question), chunks, top_k=top_k),),
        rerankers=rerankers,
        assemblies=(AssemblyStep(StepOrigin(), kept, present(text), present(text)),),
        generators=(
            GenerateStep(
                StepOrigin(),
                present((Message("user", text),)),
                present(answer),
                finish_reason,
                TokenUsage(prompt=prompt_tokens),
                model,
            ),
        ),
        stages={stage: StageState(n, absent=n == 0) for stage, n in counts.items()},
        history=past,
    )


def by_name(check: Check, run: Run) -> dict[str, Measurement]:
    """Return what ``check`` measures on ``run``, by the measurement's name (the last step's)."""
    return {measurement.name: measurement for measurement in check.measure(run)}


def number(found: Mapping[str, Measurement], name: str) -> float:
    """Return the value of a measurement that must have one."""
    value = found[name].value
    assert value is not None, found[name].reason
    return value


class FakeEncoder:
    """Vectors of hashed words: texts that share words are similar. Deterministic, instant."""

    dimensions = 256

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors of the texts' words; a text without words has its own direction."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()) or [""]:
                digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=2).digest()
                rows[row, int.from_bytes(digest, "big") % self.dimensions] += 1
            rows[row] /= np.linalg.norm(rows[row])
        return rows

    def encode_tokens(self, texts: Sequence[str]) -> tuple[TokenVectors, ...]:
        """Return a token for each word: the same word has the same vector everywhere."""
        return tuple(self._tokens(text) for text in texts)

    def _tokens(self, text: str) -> TokenVectors:
        found = [*re.finditer(r"\w+", text)]
        vectors = self.encode([match.group() for match in found])
        return TokenVectors(
            vectors.astype(np.float16),
            np.asarray([match.start() for match in found], dtype=np.int32),
        )


class FakeCrossEncoder:
    """Reads by shared content words: -4 when a pair shares none, 4 when all. Deterministic, instant.

    A passage answers, and supports, a text as far as it has the text's words. Spans are words of
    the passage that the text lacks, those with figures first. With ``answers_only`` it tells
    nothing but whether a passage answers, as a named cross-encoder does.
    """

    def __init__(self, *, answers_only: bool = False) -> None:
        self._answers_only = answers_only

    def read(self, pairs: Sequence[tuple[str, str]]) -> tuple[Reading, ...]:
        """Return the reading of each text (first) and passage (second), in order."""
        return tuple(self._read(*pair) for pair in pairs)

    def _read(self, text: str, passage: str) -> Reading:
        asked, held = content_words(text), content_words(passage)
        shared = [word for word in asked if WordIndex((passage,)).holds(word)]
        answers = _log_odds(len(shared), len(asked))
        if self._answers_only:
            return Reading(answers)
        same = _log_odds(len(shared), len(asked) + len(held) - len(shared))
        return Reading(answers, answers, same, _spans(text, passage, answers))


def _log_odds(shared: int, all_words: int) -> float:
    return 8.0 * shared / all_words - 4.0 if all_words else -4.0


def _spans(text: str, passage: str, answers: float) -> tuple[Span, ...]:
    asked = WordIndex((text,))
    found = [
        match
        for match in re.finditer(r"\w+", passage)
        if all(is_content(word) and not asked.holds(word) for word in words(match.group()))
    ]
    found.sort(key=lambda match: not any(letter.isdigit() for letter in match.group()))
    return tuple(
        Span(match.group(), *match.span(), answers - rank) for rank, match in enumerate(found[:8])
    )

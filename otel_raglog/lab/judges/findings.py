"""What a judge is to find out about a run, stage by stage: facts, no labels."""

from __future__ import annotations

from enum import StrEnum

from otel_raglog.checks.judge.answers import Answer, Held


class EntityChange(Answer):
    """An entity of the question, and what stands in its place in a rewrite."""

    asked: str
    became: str


class RewriterFindings(Answer):
    """Of all rewrites together, against the question in its conversation."""

    dropped_constraints: tuple[str, ...]
    added_constraints: tuple[str, ...]
    changed_entities: tuple[EntityChange, ...]
    intent_changed: bool


class Alteration(StrEnum):
    """What happened to the words of a query on their way into the embedder."""

    MISSING = "missing"
    CUT_OFF = "cut_off"
    MISSPELLED = "misspelled"
    CORRUPTED = "corrupted"
    UNRELATED_ADDED = "unrelated_added"


class AlteredText(Answer):
    """Words of a query that were altered, and how."""

    how: Alteration
    text: str


class EmbedderFindings(Answer):
    """Of the embedded texts, against the query that was to be searched for."""

    passage_like: bool
    altered: tuple[AlteredText, ...]


class RetrieverFindings(Answer):
    """The aliases of retrieved chunks that hold information needed for the question."""

    needed_chunks: tuple[str, ...]


class RerankerFindings(Answer):
    """The aliases of excluded chunks that hold needed information which no passed chunk holds."""

    needed_excluded: tuple[str, ...]


class LostChunk(Answer):
    """A selected chunk whose needed information is not in the prompt; cut, or not there at all."""

    chunk: str
    cut: bool


class AssemblyFindings(Answer):
    """Of the rendered prompt, against the selected chunks."""

    needed_lost: tuple[LostChunk, ...]
    blank_slots: int


class StatementKind(StrEnum):
    """A statement of the answer that what the generator saw does not state."""

    CONTRADICTION = "contradiction"
    MISSTATED_NUMBER = "misstated_number"
    UNSUPPORTED_ANSWER = "unsupported_answer"
    ADDED_NAME = "added_name"
    ADDED_NUMBER = "added_number"
    ADDED_DATE = "added_date"
    ADDED_PLACE = "added_place"
    HARMLESS = "harmless"
    HEDGED = "hedged"


class UnstatedClaim(Answer):
    """A statement of the answer, and its kind."""

    statement: str
    kind: StatementKind


class GeneratorFindings(Answer):
    """Of the answer, against the question and what the generator saw."""

    unstated: tuple[UnstatedClaim, ...]
    omitted_items: tuple[str, ...]
    prompt_holds_answer: Held
    refuses: bool
    other_question: bool
    cut_off: bool


class Findings(Answer):
    """The findings of one judge about one run; ``None`` where the run lacks the stage."""

    rewriter: RewriterFindings | None
    embedder: EmbedderFindings | None
    retriever: RetrieverFindings | None
    reranker: RerankerFindings | None
    assembly: AssemblyFindings | None
    generator: GeneratorFindings | None

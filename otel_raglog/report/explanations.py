"""Turns a verdict and the measurements behind it into a few plain English sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from otel_raglog.detect.confidences import CONFIDENCES, JUDGED_WARNINGS
from otel_raglog.detect.judging import values_of
from otel_raglog.detect.rules1_weights import CLUES, THRESHOLD
from otel_raglog.model import (
    FAULT_TYPES,
    FaultType,
    Measurement,
    Stage,
    StageVerdict,
    UnknownReason,
    Verdict,
    WarningType,
)

MAX_CHARACTERS = 1_400
MAX_BYTES = 1_900
"""An explanation is an attribute's value, which must be under 2 KB (Tempo cuts there)."""

_QUOTES_SHOWN = 2
_QUOTE_CHARACTERS = 160
_EVIDENCE_PER_TYPE = 2

_WHAT: Mapping[FaultType, str] = {
    FaultType.DROPS_CONSTRAINT: "the rewrite drops a constraint of the question",
    FaultType.ADDS_CONSTRAINT: "the rewrite adds a constraint",
    FaultType.CHANGES_ENTITY: "the rewrite changes what the question is about",
    FaultType.CHANGES_INTENT: "the rewrite asks for something else",
    FaultType.TRUNCATED_INPUT: "the text to embed was cut off",
    FaultType.MISSPELLED_INPUT: "the text to embed is misspelled",
    FaultType.ALTERED_INPUT: "the text to embed differs from the query",
    FaultType.CORRUPTED_INPUT: "the text to embed is corrupted",
    FaultType.EMPTY_RESULT: "nothing was retrieved",
    FaultType.NO_RELEVANT_CHUNK: "no retrieved chunk seems to hold what the question asks",
    FaultType.EVIDENCE_EXCLUDED: "the reranker excluded a chunk that was needed",
    FaultType.EVIDENCE_DROPPED: "a selected chunk that was needed is not in the prompt",
    FaultType.EVIDENCE_TRUNCATED: "needed text of a selected chunk was cut off in the prompt",
    FaultType.BLANK_CONTEXT: "the prompt has a blank context slot",
    FaultType.UNSUPPORTED_CLAIM: "the answer claims what the prompt does not support",
    FaultType.MISSTATED_NUMBER: "the answer states a number that the prompt does not",
    FaultType.INCOMPLETE: "the answer leaves out what was asked",
    FaultType.OFF_QUESTION: "the answer does not answer the question",
    FaultType.SHOULD_ABSTAIN: "the question was answered although the prompt lacks the answer",
    FaultType.WRONG_REFUSAL: "the answer declines although the prompt seems to hold the answer",
    FaultType.OUTPUT_TRUNCATED: "the answer was cut off",
}

EVIDENCE: Mapping[FaultType, tuple[str, ...]] = {
    FaultType.DROPS_CONSTRAINT: (
        "rewriter.empty",
        "rewriter.numbers_dropped",
        "rewriter.names_dropped",
        "rewriter.qualifiers_dropped",
        "rewriter.words_dropped_share",
        "rewriter.entity_kept_least",
        "rewriter.token_kept_least",
    ),
    FaultType.ADDS_CONSTRAINT: (
        "rewriter.numbers_added",
        "rewriter.names_added",
        "rewriter.qualifiers_added",
        "rewriter.words_added_share",
        "rewriter.entity_backed_least",
        "rewriter.token_backed_least",
    ),
    FaultType.CHANGES_ENTITY: (
        "rewriter.names_swapped",
        "rewriter.numbers_swapped",
        "rewriter.names_dropped",
        "rewriter.entity_kept_least",
        "rewriter.entity_backed_least",
    ),
    FaultType.CHANGES_INTENT: (
        "rewriter.negation_changed",
        "rewriter.answer_kind_changed",
        "rewriter.meaning_kept",
        "rewriter.same_meaning",
        "rewriter.same_meaning_least",
        "rewriter.token_agreement",
    ),
    FaultType.TRUNCATED_INPUT: ("embedder.cut_share",),
    FaultType.MISSPELLED_INPUT: ("embedder.misspelled_words",),
    FaultType.ALTERED_INPUT: (
        "embedder.numbers_changed",
        "embedder.words_dropped_share",
        "embedder.words_added_share",
        "embedder.similarity",
        "embedder.same_meaning",
    ),
    FaultType.CORRUPTED_INPUT: ("embedder.empty", "embedder.corrupted_share"),
    FaultType.EMPTY_RESULT: ("retriever.empty",),
    FaultType.NO_RELEVANT_CHUNK: (
        "retriever.answerable",
        "retriever.best_relevance",
        "retriever.names_missing_share",
        "retriever.union_coverage",
        "retriever.best_coverage",
        "retriever.asked_kind_fit",
        "retriever.token_fit",
        "retriever.asked_kind_near",
    ),
    FaultType.EVIDENCE_EXCLUDED: (
        "reranker.empty",
        "reranker.relevance_gap",
        "reranker.words_only_in_excluded",
        "reranker.coverage_gap",
        "reranker.answerable_gap",
        "reranker.token_fit_gap",
    ),
    FaultType.EVIDENCE_DROPPED: (
        "assembly.dropped",
        "assembly.dropped_gap",
        "assembly.answerable_lost",
        "assembly.lost_words_share",
    ),
    FaultType.EVIDENCE_TRUNCATED: (
        "assembly.truncated",
        "assembly.cut_gap",
        "assembly.answerable_lost",
        "assembly.lost_words_share",
    ),
    FaultType.BLANK_CONTEXT: ("assembly.blank_slots",),
    FaultType.UNSUPPORTED_CLAIM: (
        "generator.names_unsupported",
        "generator.numbers_unsupported",
        "generator.words_unsupported_share",
        "generator.joint_support",
        "generator.weakest_sentence",
        "generator.likeliest_stated",
        "generator.supported",
        "generator.supported_whole",
        "generator.names_missing_near",
        "generator.numbers_missing_near",
        "generator.window_coverage",
        "generator.token_window_least",
        "generator.worst_sentence_tokens",
        "generator.joint_words",
        "generator.asked_kind_gap",
        "generator.answer_place_gap",
    ),
    FaultType.MISSTATED_NUMBER: ("generator.numbers_unsupported", "generator.numbers_missing_near"),
    FaultType.INCOMPLETE: ("generator.answer_empty", "generator.blocked"),
    FaultType.OFF_QUESTION: (
        "generator.answer_kind_missing",
        "generator.answer_drift",
        "generator.likeliest_stated",
        "generator.answer_place_gap",
        "generator.asked_kind_gap",
    ),
    FaultType.SHOULD_ABSTAIN: (
        "generator.context_empty",
        "generator.answer_without_evidence",
        "generator.answerable",
        "generator.own_words_near_best_fit",
        "generator.joint_words",
    ),
    FaultType.WRONG_REFUSAL: ("generator.refusal_despite_evidence",),
    FaultType.OUTPUT_TRUNCATED: ("generator.cut_off", "generator.unfinished"),
}
"""Where the evidence for each fault type is found, the plainest first."""

WARNING_EVIDENCE: Mapping[WarningType, tuple[str, ...]] = {
    WarningType.PARTIAL_COVERAGE: ("retriever.union_coverage",),
    WarningType.MOSTLY_IRRELEVANT: ("retriever.irrelevant_share",),
    WarningType.DUPLICATE_CHUNKS: ("retriever.duplicate_share",),
    WarningType.WEAK_CHUNKS_PASSED: ("reranker.weak_share",),
    WarningType.CHUNK_DROPPED: ("assembly.dropped",),
    WarningType.CHUNK_TRUNCATED: ("assembly.truncated", "assembly.altered"),
    WarningType.PROMPT_NEAR_BUDGET: ("assembly.budget_ratio",),
    WarningType.EVIDENCE_IN_MIDDLE: ("assembly.evidence_in_middle",),
    WarningType.UNSUPPORTED_DETAIL: (
        "generator.numbers_unsupported",
        "generator.names_unsupported",
        "generator.citations_unknown",
        "generator.words_unsupported_share",
    ),
    WarningType.GARBLED_CHUNK: ("retriever.garbled_share",),
    WarningType.TABLE_CUT: ("retriever.table_cut_share",),
    WarningType.SENTENCE_CUT: ("retriever.sentence_cut_share",),
}
"""Where the words for each warning are found."""

JUDGED_EVIDENCE: Mapping[FaultType, tuple[str, ...]] = {
    FaultType.CHANGES_INTENT: ("rewriter.graded_changes_entity",),
    FaultType.UNSUPPORTED_CLAIM: ("generator.statements_faulty", "generator.flow_unsupported"),
    FaultType.INCOMPLETE: ("generator.flow_omits_held",),
    FaultType.SHOULD_ABSTAIN: ("generator.flow_unfounded",),
}
"""Where an LLM's evidence is found beside its confidences that match a fault type."""

_JUDGED: Mapping[FaultType, tuple[str, ...]] = {
    fault: (
        *JUDGED_EVIDENCE.get(fault, ()),
        *(name for types in CONFIDENCES.values() for name in types.get(fault, ())),
    )
    for fault in FaultType
}
"""The measurements of an LLM's answers that speak for each fault type."""

_JUDGED_WARNINGS: Mapping[WarningType, str] = {
    rule.warning: rule.measurement for rules in JUDGED_WARNINGS.values() for rule in rules
}

_FACTS = frozenset({"retriever.best_relevance", "retriever.token_fit"})
"""What is told of every run, as a number beside which a reader can think his own part."""

_OK_EVIDENCE: Mapping[Stage, tuple[str, ...]] = {
    Stage.REWRITER: ("rewriter.unchanged", "rewriter.best_similarity"),
    Stage.EMBEDDER: ("embedder.faithful", "embedder.similarity"),
    Stage.RETRIEVER: ("retriever.best_relevance", "retriever.chunks"),
    Stage.RERANKER: ("reranker.relevance_gap", "reranker.excluded"),
    Stage.ASSEMBLY: ("assembly.intact_share",),
    Stage.GENERATOR: ("generator.refuses", "generator.context_relevance"),
}

_OK_WORDS: Mapping[Stage, str] = {
    Stage.REWRITER: "no name, number or other constraint was clearly lost or added",
    Stage.EMBEDDER: "the embedded text keeps the query's words",
    Stage.RETRIEVER: "a retrieved chunk seems to hold what the question asks",
    Stage.RERANKER: "no needed chunk seems to have been excluded",
    Stage.ASSEMBLY: "no needed text was lost on the way into the prompt",
    Stage.GENERATOR: "nothing in the answer clearly goes beyond the prompt",
}

_UNKNOWN: Mapping[UnknownReason, str] = {
    UnknownReason.NOT_CAPTURED: "what this stage did was not recorded",
    UnknownReason.INCOMPLETE: "parts of this stage's record were lost",
    UnknownReason.REDACTED: "this stage's texts are redacted",
    UnknownReason.ERROR: "this stage, or its analysis, ended in an error",
    UnknownReason.ABSTAINED: "too little could be measured to judge this stage",
    UnknownReason.SKIPPED: "the run was not analysed",
}


def explain(verdict: Verdict, measurements: Sequence[Measurement], *, quote_text: bool) -> str:
    """Return why the verdict is what it is, in at most 1,400 characters of plain English.

    Names the evidence found for each fault type and warning. Evidence is counts, scores, ranks
    and ids of chunks, and single names, numbers and words; passages of documents and answers
    appear only as quotes, with ``quote_text``. An unknown or absent verdict keeps the reason
    that the mapping or the detector gave.
    """
    if verdict.verdict in {StageVerdict.UNKNOWN, StageVerdict.ABSENT}:
        given = verdict.explanation
        if not given and verdict.verdict is StageVerdict.ABSENT:
            given = f"this pipeline has no {verdict.stage}"
        if not given:
            given = _UNKNOWN.get(verdict.reason, "") if verdict.reason else ""
        return _cut(_sentence(given or "this stage could not be judged"))
    found = _by_name(verdict, measurements)
    if verdict.verdict is StageVerdict.FAULTY:
        parts = list(_faults(verdict, found))
    elif verdict.explanation:
        parts = [_sentence(verdict.explanation)]
    else:
        parts = list(_fine(verdict, found))
    said = " ".join(parts).casefold()
    parts.extend(w for w in _warnings(verdict, found) if w[len("Warning: ") : -1] not in said)
    text = " ".join(dict.fromkeys(parts))
    if quote_text:
        text = f"{text}{_quotes(verdict, found)}"
    return _cut(text)


def _faults(verdict: Verdict, found: Mapping[str, Measurement]) -> Iterator[str]:
    said: set[str] = set()
    speaking = _speaking(found, _weights(verdict.stage, found))
    for fault in verdict.fault_types:
        phrases = (
            _unsaid(_phrases(fault, speaking), said)[:_EVIDENCE_PER_TYPE]
            or _unsaid(_of_any_type(verdict.stage, speaking), said)[:1]
            or list(_facts(fault, found))[:1]
        )
        said.update(phrases)
        what = _WHAT[fault]
        yield _sentence(f"{what}: {'; '.join(phrases)}" if phrases else what)
    if not verdict.fault_types:
        yield "This stage looks faulty."
    if verdict.explanation:
        yield _sentence(verdict.explanation)


def _weights(stage: Stage, found: Mapping[str, Measurement]) -> dict[str, float]:
    """Return how much each measurement speaks for a fault by the clues of rules-1 that read it."""
    values = values_of(tuple(found.values()))
    weights: dict[str, float] = {}
    for clue in CLUES[stage]:
        weight = clue.contribution(values)
        weights[clue.measurement] = max(weight, weights.get(clue.measurement, 0.0))
    return weights


def _speaking(
    found: Mapping[str, Measurement], weights: Mapping[str, float]
) -> dict[str, Measurement]:
    """Return what speaks for a fault.

    Some measurements are told in words of every run. They speak where a clue of rules-1 says so.
    """
    return {name: m for name, m in found.items() if weights.get(name, name not in _FACTS) > 0}


def _unsaid(phrases: Iterable[str], said: Collection[str]) -> list[str]:
    return [phrase for phrase in phrases if phrase not in said]


def _phrases(fault: FaultType, found: Mapping[str, Measurement]) -> Iterator[str]:
    """Yield what speaks for a fault type: of an LLM's answers the strongest, then all others."""
    said = [found[name] for name in _JUDGED[fault] if name in found and found[name].evidence]
    if said:
        yield max(said, key=lambda measurement: measurement.value or 0.0).evidence
    for name in EVIDENCE[fault]:
        if name in found and found[name].evidence:
            yield found[name].evidence


def _of_any_type(stage: Stage, found: Mapping[str, Measurement]) -> Iterator[str]:
    """Yield what was found of the stage: a type may be named for what has no words."""
    for fault in FAULT_TYPES[stage]:
        yield from _phrases(fault, found)


def _facts(fault: FaultType, found: Mapping[str, Measurement]) -> Iterator[str]:
    """Yield what is true of sound runs, too, and argues neither way."""
    yield from _phrases(fault, {name: m for name, m in found.items() if name in _FACTS})


def _fine(verdict: Verdict, found: Mapping[str, Measurement]) -> Iterator[str]:
    stage = verdict.stage
    if doubt := _doubt(verdict, found):
        yield _sentence(f"something speaks for a fault, but not enough: {doubt}")
        return
    phrases = [
        found[name].evidence
        for name in _OK_EVIDENCE[stage]
        if name in found and found[name].evidence
    ][:1]
    declines = (found.get("generator.refuses"), found.get("generator.context_relevance"))
    if stage is Stage.GENERATOR and declines[0] is not None and declines[0].value:
        yield _sentence("the answer declines, and the prompt does not seem to hold the answer")
        return
    if stage is Stage.ASSEMBLY and phrases:
        yield _sentence(phrases[0])
        return
    yield _sentence("; ".join((_OK_WORDS[stage], *phrases)))


def _doubt(verdict: Verdict, found: Mapping[str, Measurement]) -> str:
    """Return what speaks for a fault of a sound stage, empty when nothing does or too little.

    First that for which rules-1 would flag the stage; near the threshold, anything.
    """
    weights = _weights(verdict.stage, found)
    strong = sorted((n for n in weights if weights[n] >= THRESHOLD), key=lambda n: -weights[n])
    phrases = [found[name].evidence for name in strong]
    if _is_doubtful(verdict):
        phrases += _of_any_type(verdict.stage, _speaking(found, weights))
    return next(filter(None, phrases), "")


def _is_doubtful(verdict: Verdict) -> bool:
    """Tell whether the stage is fine, but nearer to its threshold than to no fault at all."""
    if verdict.probability is None or verdict.threshold is None:
        return False
    return verdict.probability >= verdict.threshold / 2


def _warnings(verdict: Verdict, found: Mapping[str, Measurement]) -> Iterator[str]:
    for warning in verdict.warnings:
        phrase = next(
            (
                found[name].evidence
                for name in (*WARNING_EVIDENCE[warning], _JUDGED_WARNINGS.get(warning, ""))
                if name in found and found[name].evidence and found[name].value
            ),
            warning.value.replace("_", " "),
        )
        yield f"Warning: {phrase}."


def _quotes(verdict: Verdict, found: Mapping[str, Measurement]) -> str:
    names = [name for fault in verdict.fault_types for name in (*_JUDGED[fault], *EVIDENCE[fault])]
    names = names or list(_OK_EVIDENCE[verdict.stage])
    quotes = [quote for name in names if name in found for quote in found[name].quotes]
    shown = [f"“{_short(quote)}”" for quote in dict.fromkeys(quotes)][:_QUOTES_SHOWN]
    return f" Text: {' '.join(shown)}" if shown else ""


def _by_name(verdict: Verdict, measurements: Sequence[Measurement]) -> Mapping[str, Measurement]:
    """Return the measurements with a value of the verdict's stage, and of its step if it has one."""
    return {
        m.name: m
        for m in measurements
        if m.stage is verdict.stage
        and m.value is not None
        and (m.step is None or verdict.step is None or m.step == verdict.step)
    }


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTE_CHARACTERS else f"{flat[: _QUOTE_CHARACTERS - 1]}…"


def _sentence(text: str) -> str:
    """Return ``text`` with a capital and a full stop."""
    trimmed = text.strip().rstrip(".")
    return f"{trimmed[:1].upper()}{trimmed[1:]}."


def _cut(text: str) -> str:
    cut = text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
    encoded = cut.encode("utf-8", "replace")
    if len(encoded) <= MAX_BYTES:
        return encoded.decode("utf-8")
    return encoded[: MAX_BYTES - len("…".encode())].decode("utf-8", "ignore") + "…"

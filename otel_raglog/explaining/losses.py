"""What a span lost to one line each: what it is, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.explaining.remedies import CUSTOM, content_remedy
from otel_raglog.explaining.span_reading import WORDS, SpanReading
from otel_raglog.model import Chunk, FieldStatus, Span

CUT = (
    "raise or unset OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT "
    "in the application's environment"
)
EVENTS = "raise OTEL_SPAN_EVENT_COUNT_LIMIT (128 unless it is set) in the application's environment"
GAPS = (
    "the SDK counts nothing as dropped: look for a processor (of the application or a collector) "
    "that removes attributes"
)
CUT_HERE = "nothing: only the analysis reads less of it, it is forwarded whole"
EXTERNAL = (
    "the content is stored elsewhere, which is not read: unset "
    "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK, or have the content on the span as well"
)
IDS_ONLY = (
    "this instrumentation records which documents were found, not their texts: use one that "
    "does, or " + CUSTOM.replace("map it", "write the texts on the span and map them")
)
NOT_BY_THIS = (
    "other spans of this convention have their content, so this one is not recorded: {key} "
    "yourself, or add an instrumentation that records it"
)

_EVICTION = {
    "python": "the Python SDK drops the oldest first: the input, and the first and best documents",
    "nodejs": "the JavaScript SDK drops the newest: outputs and token counts",
    "webjs": "the JavaScript SDK drops the newest: outputs and token counts",
}
_HIDE_ALL = {"input": "OPENINFERENCE_HIDE_INPUTS", "output": "OPENINFERENCE_HIDE_OUTPUTS"}
_HIDDEN = (
    (r"input\.value$|reranker\.(query|input)", "input", "OPENINFERENCE_HIDE_INPUTS"),
    (r"output\.value$|reranker\.output", "output", "OPENINFERENCE_HIDE_OUTPUTS"),
    (r"retrieval\.documents\b", "output", "OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS"),
    (r"embedding\.embeddings\b.*text$", "", "OPENINFERENCE_HIDE_EMBEDDINGS_TEXT"),
    (r"embedding\.embeddings\b.*vector$", "", "OPENINFERENCE_HIDE_EMBEDDINGS_VECTORS"),
    (r"llm\.prompts\b", "input", "OPENINFERENCE_HIDE_PROMPTS"),
    (r"llm\.choices\b", "output", "OPENINFERENCE_HIDE_CHOICES"),
    (r"llm\.input_messages\b", "input", "OPENINFERENCE_HIDE_INPUT_TEXT"),
    (r"llm\.output_messages\b", "output", "OPENINFERENCE_HIDE_OUTPUT_TEXT"),
    (r"llm\.invocation_parameters", "", "OPENINFERENCE_HIDE_LLM_INVOCATION_PARAMETERS"),
)
"""Keys that OpenInference hides: on which side of a step they are, and what hides them alone."""
_MOST_KEYS = 6


class LossKind(StrEnum):
    """In which way content got lost."""

    EVICTED = "evicted"
    DROPPED_EVENTS = "dropped_events"
    GAPS = "gaps"
    CUT = "truncated"
    CUT_HERE = "cut_for_the_analysis"
    REDACTED = "redacted"
    EXTERNAL = "external"
    IDS_ONLY = "documents_without_text"
    NOT_CAPTURED = "not_captured"


@dataclass(frozen=True, slots=True)
class Lost:
    """One loss of one span, and what to do about it."""

    kind: LossKind
    what: str
    remedy: str


def losses_of(
    reading: SpanReading,
    documents: Mapping[str, Sequence[Chunk]],
    not_captured: Collection[str],
    recording: Collection[str],
) -> tuple[Lost, ...]:
    """Return what a span lost.

    ``documents`` are those of the step that the span is, by the fact that holds them;
    ``not_captured`` are facts that were never recorded, though the step needs them. ``recording``
    are the names of conventions that recorded content elsewhere in the trace: switching content
    on would change nothing.
    """
    return (
        *_dropped(reading.span, reading),
        *_cut(reading),
        *_redacted(reading),
        *_elsewhere(reading),
        *_documents(documents),
        *uncaptured(reading, not_captured, recording),
    )


def shorten_keys(keys: Sequence[str]) -> str:
    """Return keys as a list that is not too long."""
    more = len(keys) - _MOST_KEYS
    return ", ".join(keys[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "")


def _dropped(span: Span, reading: SpanReading) -> list[Lost]:
    lost: list[Lost] = []
    loss = reading.facts.loss if reading.facts else None
    gaps = loss.gaps if loss else ()
    dropped = span.dropped_attributes_count
    if dropped > 0:
        kept = len(span.attributes)
        language = str(span.resource.get("telemetry.sdk.language", "")).lower()
        order = _EVICTION.get(
            language, "Python's SDK drops the oldest first, JavaScript's the newest"
        )
        remedy = (
            f"raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT (now {kept} by the look of it; 128 unless it "
            f"is set) in the application's environment; {order}"
        )
        if "openinference" in {item.name for item in reading.speaking} and language == "python":
            remedy += "; the TracerProvider of openinference.instrumentation allows 10,000"
        what = f"{dropped} attributes dropped by the SDK" + (
            f", with them parts of {shorten_keys(gaps)}" if gaps else ""
        )
        lost.append(Lost(LossKind.EVICTED, what, remedy))
    elif gaps:
        lost.append(Lost(LossKind.GAPS, f"indices missing in {shorten_keys(gaps)}", GAPS))
    if span.dropped_events_count > 0:
        what = f"{span.dropped_events_count} events dropped by the SDK"
        lost.append(Lost(LossKind.DROPPED_EVENTS, what, EVENTS))
    return lost


def _cut(reading: SpanReading) -> list[Lost]:
    lost: list[Lost] = []
    loss = reading.facts.loss if reading.facts else None
    here = sorted(reading.span.truncated_keys)
    before = [key for key in (loss.truncated if loss else ()) if key not in here]
    if before:
        lost.append(Lost(LossKind.CUT, f"cut: {shorten_keys(before)}", CUT))
    if here:
        lost.append(Lost(LossKind.CUT_HERE, f"very long: {shorten_keys(here)}", CUT_HERE))
    return lost


def _redacted(reading: SpanReading) -> list[Lost]:
    keys = reading.facts.loss.redacted if reading.facts else ()
    hidden = [item.fact for item in reading.sought if item.status is FieldStatus.REDACTED]
    if not keys and not hidden:
        return []
    switches: tuple[str, ...] = ()
    if "openinference" in {item.name for item in reading.speaking}:
        switches = _switches(keys)
    if switches:
        remedy = f"unset {', '.join(switches)} (or what says the same in the TraceConfig)"
    else:
        remedy = content_remedy(reading.speaking) or "show what the application hides"
    remedy += "; or a masking function, or a collector's redaction processor, hides it"
    what = shorten_keys(keys) if keys else _words(hidden)
    return [Lost(LossKind.REDACTED, f"hidden by a placeholder: {what}", remedy)]


def _switches(keys: Sequence[str]) -> tuple[str, ...]:
    """Return what hides ``keys``: the switch for a whole side of the step, where that is hidden."""
    sides = {side for side in _HIDE_ALL if f"{side}.value" in keys}
    found = [
        _HIDE_ALL[side] if side in sides else switch
        for key in keys
        for rule, side, switch in _HIDDEN
        if re.match(rule, key)
    ]
    return tuple(sorted(set(found)))


def _elsewhere(reading: SpanReading) -> list[Lost]:
    facts = [item.fact for item in reading.sought if item.status is FieldStatus.EXTERNAL]
    if not facts:
        return []
    return [Lost(LossKind.EXTERNAL, f"stored elsewhere: {_words(facts)}", EXTERNAL)]


def _documents(documents: Mapping[str, Sequence[Chunk]]) -> list[Lost]:
    lost: list[Lost] = []
    for fact, chunks in documents.items():
        bare = sum(
            not chunk.text and chunk.text_status is FieldStatus.NOT_CAPTURED for chunk in chunks
        )
        if bare:
            what = f"no text in {bare} of {len(chunks)} {WORDS[fact]}"
            lost.append(Lost(LossKind.IDS_ONLY, what, IDS_ONLY))
    return lost


def uncaptured(
    reading: SpanReading, facts: Collection[str], recording: Collection[str]
) -> list[Lost]:
    """Return that content was never recorded, and how to have it."""
    if not facts:
        return []
    sought = [item for item in reading.sought if item.fact in facts]
    notes = dict.fromkeys(note for item in sought for note in item.notes)
    what = f"not captured: {_words([fact for fact in WORDS if fact in facts])}"
    if notes:
        what += f" ({'; '.join(notes)})"
    remedy = content_remedy(reading.speaking, recording)
    if not remedy and content_remedy(reading.speaking):
        key = next((key for item in sought for key in item.keys), "")
        where = f"write it on the span as {key}" if key else "write it on the span"
        remedy = NOT_BY_THIS.format(key=where)
    return [Lost(LossKind.NOT_CAPTURED, what, remedy or f"write it on the span, or {CUSTOM}")]


def _words(facts: Sequence[str]) -> str:
    return ", ".join(WORDS[fact] for fact in facts)

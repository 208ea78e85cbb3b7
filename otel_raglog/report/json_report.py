"""Reports to the stable JSON that ``analyze --format json`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from otel_raglog.model import (
    AssemblyStep,
    Chunk,
    EmbedStep,
    Field,
    GenerateStep,
    JudgeUse,
    Message,
    Report,
    RerankStep,
    RetrieveStep,
    RewriteStep,
    Stage,
    Step,
    TokenUsage,
    Verdict,
)
from otel_raglog.report.documents import Document, documents_of

Json: TypeAlias = dict[str, Any]


def to_json(report: Report, *, content: bool = True) -> Json:
    """Return ``report`` as JSON-ready values; without texts of the run when not ``content``.

    Probabilities and thresholds are in [0, 1] or ``null``; ids of traces and spans are lower-case
    hex; a key for every stage is there. Where something is redacted, it is so here, too.
    """
    run = report.run.shown
    report = replace(report, run=run)
    return {
        "run_id": run.run_id,
        "trace_id": run.trace_id.hex() or None,
        "joined_traces": [trace_id.hex() for trace_id in run.joined_traces],
        "service": run.service,
        "question": run.question.value if content else None,
        "answer": run.answer.value if content else None,
        "verdict": report.verdict.value,
        "faulty_stages": [stage.value for stage in report.faulty_stages],
        "first_faulty_stage": report.first_faulty_stage and report.first_faulty_stage.value,
        "complete": report.complete,
        "completion": run.completion.value,
        "tier": report.tier.value,
        "detector_version": report.detector_version,
        "skip_reason": report.skip_reason,
        "cost_usd": report.cost_usd,
        "judge": _judge(report.judge),
        "session_id": run.session_id,
        "turn": run.turn,
        "conventions": list(run.conventions),
        "tokens": _tokens(run.tokens),
        "notes": list(run.notes),
        "stages": {stage.value: _stage(report, stage, content=content) for stage in Stage},
        "documents": [_document(item) for item in documents_of(run)],
    }


def _judge(use: JudgeUse | None) -> Json | None:
    if use is None:
        return None
    return {
        "model": use.model,
        "skipped": use.skipped or None,
        "calls": use.calls,
        "tokens": {
            "prompt": use.prompt_tokens,
            "cached": use.cached_tokens,
            "completion": use.completion_tokens,
        },
        "cost_usd": use.cost_usd,
        "seconds": round(use.seconds, 3),
        "abstained": dict(use.abstained),
        "injection_suspected": [{"kind": kind, "where": where} for kind, where in use.suspected],
        "left_out": list(use.left_out),
    }


def _document(item: Document) -> Json:
    return {
        "id": item.id,
        "retrieved_rank": item.retrieved,
        "reranked_rank": item.reranked,
        "in_prompt": item.fate and item.fate.value,
        "kept_share": item.kept,
        "answer_share": item.answer_share,
        "used": item.used,
    }


def _stage(report: Report, stage: Stage, *, content: bool) -> Json:
    verdict = report.verdicts[stage]
    steps = report.run.steps(stage)
    single = {item.step: item for item in verdict.steps}
    result: Json = {
        "verdict": verdict.verdict.value,
        "reason": verdict.reason and verdict.reason.value,
        "probability": verdict.probability,
        "threshold": verdict.threshold,
        "fault_types": [fault.value for fault in verdict.fault_types],
        "warnings": [warning.value for warning in verdict.warnings],
        "explanation": verdict.explanation,
        "steps": [
            _step(step, single.get(index), content=content) for index, step in enumerate(steps)
        ],
    }
    if content:
        result["inputs"] = _union([step_inputs(step) for step in steps])
        result["outputs"] = _union([step_outputs(step) for step in steps])
    return result


def _union(parts: Sequence[Json]) -> Json:
    """Return one view of all steps: lists joined without repeats, other values from the first."""
    joined: Json = {}
    for part in parts:
        for key, value in part.items():
            known = joined.get(key)
            if isinstance(known, list) and isinstance(value, list):
                joined[key] = known + [item for item in value if item not in known]
            elif known is None:
                joined[key] = value
    return joined


def _step(step: Step, verdict: Verdict | None, *, content: bool) -> Json:
    origin = step.origin
    result: Json = {
        "span_id": origin.span_id.hex() or None,
        "span_ids": [span_id.hex() for span_id in origin.span_ids],
        "name": origin.name,
        "why": origin.why,
        "duration_ms": round(origin.seconds * 1000, 3),
        "error": origin.error,
    }
    if verdict is not None:
        result["verdict"] = verdict.verdict.value
        result["probability"] = verdict.probability
    if content:
        result["inputs"] = step_inputs(step)
        result["outputs"] = step_outputs(step)
    return result


def step_inputs(step: Step) -> Json:
    """Return the texts that went into ``step``."""
    match step:
        case RewriteStep():
            return {"question": _value(step.input)}
        case EmbedStep():
            return {"texts": _texts(step.texts)}
        case RetrieveStep():
            return {"query": _value(step.query), "top_k": step.top_k, "filters": step.filters}
        case RerankStep():
            return {"query": _value(step.query), "chunks": _chunks(step.candidates)}
        case AssemblyStep():
            return {"chunks": _chunks(step.selected)}
        case GenerateStep():
            prompt = "\n\n".join(message.content for message in step.messages.value or ())
            return {
                "prompt": prompt if step.messages.usable else None,
                "messages": _messages(step.messages),
            }


def step_outputs(step: Step) -> Json:
    """Return the texts that came out of ``step``."""
    match step:
        case RewriteStep():
            return {"kind": step.kind.value, "rewrites": _texts(step.rewrites)}
        case EmbedStep():
            return {"model": step.model}
        case RetrieveStep():
            return {"chunks": _chunks(step.chunks)}
        case RerankStep():
            return {"chunks": _chunks(step.selected), "model": step.model}
        case AssemblyStep():
            return {"context": _value(step.context), "prompt": _value(step.prompt)}
        case GenerateStep():
            return {
                "answer": _value(step.answer),
                **({"draft": step.draft.value} if step.draft.usable else {}),
                "finish_reason": step.finish_reason,
                "model": step.model,
                "tokens": _tokens(step.tokens),
            }


def _value(field: Field[str]) -> str | None:
    return field.value if field.usable else None


def _texts(field: Field[tuple[str, ...]]) -> list[str] | None:
    return list(field.value or ()) if field.usable else None


def _messages(field: Field[tuple[Message, ...]]) -> list[Json] | None:
    if not field.usable:
        return None
    return [{"role": message.role, "content": message.content} for message in field.value or ()]


def _chunks(field: Field[tuple[Chunk, ...]]) -> list[Json] | None:
    return _chunk_list(field.value or ()) if field.usable else None


def _chunk_list(chunks: Sequence[Chunk]) -> list[Json]:
    return [
        {
            "id": chunk.id,
            "text": chunk.text,
            "score": chunk.score,
            "score_kind": chunk.score_kind.value if chunk.score is not None else None,
            "title": chunk.title,
        }
        for chunk in chunks
    ]


def _tokens(tokens: TokenUsage) -> Json:
    return {"prompt": tokens.prompt, "completion": tokens.completion, "total": tokens.total}

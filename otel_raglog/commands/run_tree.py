"""A report to the words that say what was read, which steps there are and why, and the verdicts."""

from __future__ import annotations

from rich.tree import Tree

from otel_raglog.commands.tables import shorten, text_of
from otel_raglog.model import (
    AssemblyStep,
    EmbedStep,
    Field,
    GenerateStep,
    Measurement,
    Report,
    RerankStep,
    RetrieveStep,
    RewriteStep,
    Stage,
    Step,
    Verdict,
)
from otel_raglog.report.documents import documents_of, way_of

_WIDTH = 100


def run_tree(report: Report, *, measurements: bool) -> Tree:
    """Return a run as a tree: what was asked and answered, and each stage with its steps."""
    run = report.run
    tree = Tree(
        text_of(f"run {run.run_id}  service {run.service or '-'}  verdict {report.verdict}")
    )
    tree.add(text_of(f"question: {_said(run.question)}{_place(run.question)}"))
    tree.add(text_of(f"answer: {_said(run.answer)}{_place(run.answer)}"))
    if run.session_id:
        tree.add(text_of(f"session {run.session_id}, turn {run.turn or 'unknown'}"))
    tree.add(
        text_of(
            f"released: {run.completion.value}; conventions: {', '.join(run.conventions) or 'none'}"
        )
    )
    loss = run.loss
    if loss.dropped_attributes or loss.gaps or loss.redacted or loss.truncated:
        tree.add(
            text_of(
                f"lost on the way: {loss.dropped_attributes} attributes dropped by the SDK; "
                f"gaps in {', '.join(loss.gaps) or 'none'}; redacted {', '.join(loss.redacted) or 'none'}; "
                f"cut {', '.join(loss.truncated) or 'none'}"
            )
        )
    if report.skip_reason:
        tree.add(text_of(f"not judged: {report.skip_reason}"))
    for note in run.notes:
        tree.add(text_of(note))
    if any(state.steps for state in run.stages.values()):
        for stage in Stage:
            _add_stage(tree, report, stage, measurements=measurements)
    documents = documents_of(run)
    if documents:
        branch = tree.add(text_of("documents"))
        for number, document in enumerate(documents, 1):
            branch.add(text_of(f"{document.id or f'chunk {number}'}: {way_of(document)}"))
    return tree


def _add_stage(tree: Tree, report: Report, stage: Stage, *, measurements: bool) -> None:
    verdict = report.verdicts[stage]
    branch = tree.add(text_of(_headline(verdict)))
    if verdict.explanation:
        branch.add(text_of(verdict.explanation))
    for step in report.run.steps(stage):
        origin = step.origin
        spans = f" span {origin.span_id.hex()}" if origin.span_id else ""
        more = f" (+{len(origin.span_ids) - 1} collapsed)" if len(origin.span_ids) > 1 else ""
        leaf = branch.add(text_of(f"{origin.name or 'step'}{spans}{more}: {origin.why}"))
        for line in _fields(step):
            leaf.add(text_of(line))
    own = [item for item in report.measurements if item.stage is stage] if measurements else []
    for item in own:
        branch.add(text_of(_measurement_line(item)))


def _headline(verdict: Verdict) -> str:
    head = f"{verdict.stage.value}: {verdict.verdict.value}"
    if verdict.probability is not None:
        head += f" (probability {verdict.probability:.2f}, threshold {verdict.threshold:.2f})"
    if verdict.reason is not None:
        head += f" ({verdict.reason.value})"
    if verdict.fault_types:
        head += f" {', '.join(verdict.fault_types)}"
    if verdict.warnings:
        head += f"; warnings {', '.join(verdict.warnings)}"
    return head


def _measurement_line(item: Measurement) -> str:
    if item.value is not None:
        return f"{item.name} = {item.value:.4g}"
    return f"{item.name}: {item.status.value}" + (f" ({item.reason})" if item.reason else "")


def _fields(step: Step) -> list[str]:
    match step:
        case RewriteStep():
            return [
                _text_line("question", step.input),
                f"{step.kind.value}: " + _list_line("rewrites", step.rewrites),
            ]
        case EmbedStep():
            return [_list_line("texts", step.texts)]
        case RetrieveStep():
            return [_text_line("query", step.query), _count_line("chunks", step.chunks)]
        case RerankStep():
            return [
                _text_line("query", step.query),
                _count_line("candidates", step.candidates),
                _count_line("selected", step.selected),
            ]
        case AssemblyStep():
            return [
                _count_line("selected", step.selected),
                _text_line("context", step.context),
                _text_line("prompt", step.prompt),
            ]
        case GenerateStep():
            tokens = step.tokens
            model = f"model {step.model or 'unknown'}"
            finish = f"finish reason {step.finish_reason or 'unknown'}"
            usage = f"tokens {tokens.prompt} in, {tokens.completion} out"
            return [
                _count_line("messages", step.messages),
                *([_text_line("draft", step.draft)] if step.draft.usable else ()),
                _text_line("answer", step.answer),
                f"{model}, {finish}, {usage}",
            ]


def _said(field: Field[str]) -> str:
    return shorten(field.value, _WIDTH) if field.usable else field.status.value


def _text_line(name: str, field: Field[str]) -> str:
    value = f'"{shorten(field.value, _WIDTH)}"' if field.usable else field.status.value
    return f"{name}: {value}{_place(field)}"


def _list_line(name: str, field: Field[tuple[str, ...]]) -> str:
    if not field.usable:
        return f"{name}: {field.status.value}{_place(field)}"
    return (
        f"{name}: " + "; ".join(f'"{shorten(item)}"' for item in field.value or ()) + _place(field)
    )


def _count_line(name: str, field: Field[tuple[object, ...]] | Field[tuple[str, ...]]) -> str:
    if not field.usable:
        return f"{name}: {field.status.value}{_place(field)}"
    return f"{name}: {len(field.value or ())} ({field.status.value}){_place(field)}"


def _place(field: Field[str] | Field[tuple[str, ...]] | Field[tuple[object, ...]]) -> str:
    source = field.source
    return f"  [{source.key} of {source.span_id.hex()}]" if source else ""

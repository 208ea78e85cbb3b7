"""A trace to its runs: which spans are which steps of which question, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.mapping.afterwards import embeddings_for_answer, search_for_answer
from otel_raglog.mapping.collapse import Call, View, llm_calls, rewriter_calls
from otel_raglog.mapping.context import shows_context
from otel_raglog.mapping.conversation import find_history, find_question, turn_of, unless_rewritten
from otel_raglog.mapping.coverage import Signs, Steps, has_searched, is_retrieved, states_of
from otel_raglog.mapping.embedding import find_embeddings, is_indexing, mark_hypothetical
from otel_raglog.mapping.evaluators import evaluator_spans
from otel_raglog.mapping.family import find_family, speakers
from otel_raglog.mapping.generating import as_told, find_generator, generate_step, total_tokens
from otel_raglog.mapping.prompting import find_assembly, template_variables, with_rendered_prompts
from otel_raglog.mapping.question import spoken_answer
from otel_raglog.mapping.retrieving import Search, find_search, retriever_spans
from otel_raglog.mapping.rewording import find_rewordings, reworded
from otel_raglog.mapping.rewriting import find_rewrites, search_texts
from otel_raglog.mapping.roles import (
    ACTION_TOOL_NAME,
    is_lexical,
    name_of,
    settle_roles,
)
from otel_raglog.mapping.selecting import selected_chunks
from otel_raglog.mapping.sessions import number_turns, session_of
from otel_raglog.mapping.skipping import (
    around_evaluators,
    explain_skip,
    skipped_run,
    unread_run,
)
from otel_raglog.mapping.splitting import Part, split
from otel_raglog.mapping.texts import same_normal
from otel_raglog.mapping.tools import CACHE_NAME, cached_answer, is_answer_cache
from otel_raglog.mapping.tree import NONE, Tree, build_tree, unique_spans
from otel_raglog.model import (
    NOT_CAPTURED,
    AssemblyStep,
    Chunk,
    Completion,
    EmbedStep,
    Field,
    FieldStatus,
    Loss,
    Message,
    RetrieveStep,
    RewriteStep,
    Role,
    Run,
    Span,
    SpanFacts,
    Stage,
    StageState,
    TokenUsage,
    Trace,
    UnknownReason,
)

OWN_SCOPES = ("otel_raglog", "otel-raglog", "raglog")
"""Beginnings of the scope names of spans that we write ourselves."""

_CUT_SHORT = {Completion.MAX_WAIT, Completion.EVICTED, Completion.SPAN_LIMIT, Completion.SHUTDOWN}


def map_trace(trace: Trace, conventions: ConventionSet = BUILT_IN) -> tuple[Run, ...]:
    """Return the runs of a trace in order of time, at least one.

    Never raises, however odd the spans are. The result does not depend on the order of the
    spans nor on repetitions. Spans of evaluators, our own, and what a user said to ignore are left
    out. Where nothing can be judged the one run says why (``skip_reason``, ``notes``).
    """
    spans = unique_spans(s for s in trace.spans if not s.scope_name.startswith(OWN_SCOPES))
    facts = {span.span_id: read for span in spans if (read := conventions.read(span)) is not None}
    judging = evaluator_spans(spans, facts)
    outside = judging | {key for key, read in facts.items() if read.role is Role.IGNORED}
    spans = _without(spans, outside)
    if not spans:
        reason = "evaluation" if trace.spans else "no_spans"
        note = "all spans are of evaluators" if trace.spans else "the trace has no spans"
        if any(facts[key].role is Role.IGNORED for key in outside):
            reason, note = "ignored", "the configuration leaves all spans out (stage: ignore)"
        return (skipped_run(trace, (), reason, note),)
    if not any(span.span_id in facts for span in spans):
        return (unread_run(trace, spans),)
    tree = build_tree(spans, facts)
    parts = split(tree)
    runs = [_run(trace, tree, part, _run_id(trace, number)) for number, part in enumerate(parts, 1)]
    return number_turns([around_evaluators(run) for run in runs] if judging else runs)


def _run_id(trace: Trace, number: int) -> str:
    return trace.trace_id.hex() + (f"-{number}" if number > 1 else "")


def _without(spans: Sequence[Span], outer: set[bytes]) -> list[Span]:
    """Leave out spans and all below them."""
    if not outer:
        return list(spans)
    children: dict[bytes, list[bytes]] = {}
    for span in spans:
        children.setdefault(span.parent_id, []).append(span.span_id)
    gone: set[bytes] = set()
    pending = list(outer)
    while pending:
        span_id = pending.pop()
        if span_id not in gone:
            gone.add(span_id)
            pending.extend(children.get(span_id, ()))
    return [span for span in spans if span.span_id not in gone]


def _run(trace: Trace, tree: Tree, part: Part, run_id: str) -> Run:
    view = View(tree, part.indices, settle_roles(tree, part.indices, part.spoken), part.top)
    spoken = view.facts(part.spoken) if part.spoken != NONE else None
    said = spoken_answer(spoken) if spoken and not part.voices else NOT_CAPTURED
    all_calls = with_rendered_prompts(view, llm_calls(view))
    helping = view.under(Role.RERANKER) | view.under(Role.GUARDRAIL) | view.under(Role.REWRITER)
    declared = rewriter_calls(view)
    calls = [
        as_told(call, _said_around(view, part, call) if part.voices else said)
        for call in all_calls
        if call.leaf not in helping
    ]
    cut, end = trace.completion in _CUT_SHORT, not (said.usable and said.value)
    search = _find_search(view, calls, said, spoken, whole=not (cut and end))
    ends = [step.origin.end_unix_nano for step in search.retrievals]
    ends += [step.origin.end_unix_nano for step in search.rerankings]
    last, found = max(ends, default=0), _found_chunks(search)
    call = find_generator(view, calls, said, last, found)
    embeddings = find_embeddings(view, search.retrievals)
    searched = search.retrievals or search.rerankings
    if call is not None and not searched and is_indexing(embeddings, calls, call):
        call = None
    embeddings = embeddings_for_answer(view, call, calls, said, embeddings, search)
    asked = partial(
        find_question,
        view,
        spoken,
        retrievals=search.retrievals,
        embeddings=embeddings,
        calls=calls,
    )
    closing = tree.subtree(part.voices[-1]) if part.voices else ()
    call, later = find_rewordings(
        view, call, calls, found, asked, after=last, open_end=end, closing=closing
    )
    if part.voices and call is not None:
        said = _said_around(view, part, [call, *later][-1])
    question = asked(call)
    search = _with_queries(search, embeddings)
    others = [other for other in calls if other is not call]
    targets = search_texts(search.retrievals, embeddings)
    rewrites = find_rewrites(view, others, targets, search.retrievals, question)
    question, rewrites = unless_rewritten(question, rewrites, spoken, call, others)
    steps = Steps(
        rewriters=rewrites,
        embedders=mark_hypothetical(embeddings, rewrites),
        retrievers=search.retrievals or _reconstructed(search),
        rerankers=search.rerankings,
    )
    apart = _apart(view, calls, rewrites)
    family: tuple[Call, ...] = ()
    if call is not None:
        chosen = selected_chunks(view, search)
        family = find_family(view, call, calls, apart, chosen, said)
    signs = _signs(view, search, steps, family, others, partial=cut)
    if call is not None:
        generator = generate_step(view, call, said, speakers(call, family, said))
        generator = reworded(view, generator, later, said)
        assemblies: tuple[AssemblyStep, ...] = ()
        if is_retrieved(steps, signs):
            judges = [o for o in others if o not in family and o.leaf not in apart]
            if judges:
                chosen = selected_chunks(view, search, family, judges)
            assemblies = (find_assembly(view, family, chosen, question),)
        steps = replace(steps, generators=(generator,), assemblies=assemblies)
    answer, cached = _find_answer(view, steps, question, said)
    history = find_history(spoken, call, rewrites, [*others, *declared], question)
    talk = _Talk(
        question, answer, history, total_tokens([c.tokens for c in (*all_calls, *declared)])
    )
    stages = states_of(steps, question, signs)
    return explain_skip(
        _assembled(trace, run_id, view, talk=talk, steps=steps, stages=stages), cached=cached
    )


def _said_around(view: View, part: Part, call: Call) -> Field[str]:
    """Return the output of the pipeline, of several that are one run, that a call is in."""
    around = next((v for v in part.voices if view.tree.contains(v, call.leaf)), NONE)
    facts = view.facts(around) if around != NONE else None
    return spoken_answer(facts) if facts else NOT_CAPTURED


@dataclass(frozen=True, slots=True)
class _Talk:
    """What was said in a run, and what it cost."""

    question: Field[str]
    answer: Field[str]
    history: Field[tuple[Message, ...]]
    tokens: TokenUsage


def _assembled(
    trace: Trace,
    run_id: str,
    view: View,
    *,
    talk: _Talk,
    steps: Steps,
    stages: Mapping[Stage, StageState],
) -> Run:
    facts = [f for index in view.indices if (f := view.facts(index)) is not None]
    top = view.node(view.top).span
    service = top.resource.get("service.name")
    return Run(
        run_id=run_id,
        trace_id=trace.trace_id,
        top_span_id=top.span_id,
        service=str(service) if service else "unknown",
        question=talk.question,
        answer=talk.answer,
        rewriters=steps.rewriters,
        embedders=steps.embedders,
        retrievers=steps.retrievers,
        rerankers=steps.rerankers,
        assemblies=steps.assemblies,
        generators=steps.generators,
        stages=stages,
        history=talk.history,
        session_id=session_of(view),
        turn=turn_of(talk.history),
        completion=trace.completion,
        conventions=tuple(sorted({f.convention for f in facts})),
        loss=_loss(facts),
        tokens=talk.tokens,
        span_ids=tuple(view.node(index).span.span_id for index in view.indices),
    )


# ----------------------------------------------------------------- steps and their signs


def _with_queries(search: Search, embeddings: Sequence[EmbedStep]) -> Search:
    """Give a retriever that was searched with a vector the text that this is the vector of."""
    steps: list[RetrieveStep] = []
    for step in search.retrievals:
        if step.query.status is not FieldStatus.NOT_CAPTURED:
            steps.append(step)
            continue
        before = [
            embedding
            for embedding in embeddings
            if embedding.texts.value
            and not embedding.passage
            and embedding.origin.start_unix_nano <= step.origin.end_unix_nano
        ]
        if before:
            nearest = before[-1].texts
            text = (nearest.value or ("",))[0]
            steps.append(replace(step, query=Field(text, nearest.status, nearest.source)))
        else:
            steps.append(step)
    return replace(search, retrievals=tuple(steps))


def _reconstructed(search: Search) -> tuple[RetrieveStep, ...]:
    """Rebuild retrievals that left no span from what the rerankers were given."""
    steps: list[RetrieveStep] = []
    for step in search.rerankings:
        if step.candidates.status is FieldStatus.NOT_CAPTURED:
            continue
        origin = replace(
            step.origin,
            why="no span of its own: rebuilt from the candidates of the reranker, on whose span "
            "the verdict stands",
            error=None,
        )
        steps.append(RetrieveStep(origin, step.query, step.candidates, reconstructed=True))
    return tuple(steps[:1])


def _found_chunks(search: Search) -> tuple[Chunk, ...]:
    lists = [step.chunks.value for step in search.retrievals]
    lists += [step.selected.value for step in search.rerankings]
    return tuple(chunk for chunks in lists for chunk in chunks or ())


def _apart(view: View, calls: Sequence[Call], rewrites: Sequence[RewriteStep]) -> frozenset[int]:
    """Return the leaves of the calls that rewrite, or that a retriever makes for itself."""
    rewriting = {span_id for step in rewrites for span_id in step.origin.span_ids}
    searching = view.under(Role.RETRIEVER)
    return frozenset(
        call.leaf
        for call in calls
        if call.leaf in searching or view.node(call.leaf).span.span_id in rewriting
    )


def _searches_by_words(view: View, step: RetrieveStep) -> bool:
    return is_lexical([view.node(index) for index in retriever_spans(view, step)])


def _find_search(
    view: View,
    calls: Sequence[Call],
    said: Field[str],
    spoken: SpanFacts | None,
    *,
    whole: bool,
) -> Search:
    """Return what was searched for the answer; all of it where that may be still to come."""
    search = find_search(view)
    asked = partial(find_question, view, spoken, retrievals=search.retrievals, embeddings=())
    return search_for_answer(view, calls, said, search, asked) if whole else search


def _find_answer(
    view: View, steps: Steps, question: Field[str], said: Field[str]
) -> tuple[Field[str], bool]:
    """Return the answer: what the run says, or its generator, or a cache; and whether a cache did."""
    known = said.usable and bool(said.value)
    if steps.generators or steps.retrievers or steps.rerankers:
        return (said if known or not steps.generators else steps.generators[0].answer), False
    cached = _cached_answer(view, question, said)
    return (cached or said), cached is not None


def _cached_answer(view: View, question: Field[str], said: Field[str]) -> Field[str] | None:
    """Return what a cache gave back for the question: the answer of the run, if that says one."""
    asked = question.value if question.usable else None
    found: list[tuple[int, int, Field[str]]] = []
    for index in view.of_role(Role.TOOL, Role.CHAIN, Role.UNKNOWN):
        node, facts = view.node(index), view.facts(index)
        name = name_of(node)
        if facts is None or not asked or not CACHE_NAME.search(name):
            continue
        given = facts.query.value or facts.input.value or ""
        text = cached_answer(facts)
        other = (
            said.usable and bool(said.value) and not same_normal(said.value or "", text.value or "")
        )
        if text.value and not other and (is_answer_cache(name) or same_normal(given, asked)):
            found.append((node.span.end_unix_nano, index, text))
    return max(found, key=lambda item: item[:2])[2] if found else None


def _done(view: View) -> list[str]:
    """Return what tools gave that by their names compute or act."""
    found: list[str] = []
    for index in view.of_role(Role.TOOL):
        facts = view.facts(index)
        if facts is not None and ACTION_TOOL_NAME.search(name_of(view.node(index))):
            found.append(facts.output.value or "")
            found += [chunk.text for chunk in facts.documents.value or ()]
    return [text for text in found if text.strip()]


def _signs(
    view: View,
    search: Search,
    steps: Steps,
    family: Sequence[Call],
    others: Sequence[Call],
    *,
    partial: bool,
) -> Signs:
    lexical = (
        not steps.embedders
        and bool(search.retrievals)
        and all(_searches_by_words(view, step) for step in search.retrievals)
    )
    call = family[-1] if family else None
    context = (
        call is not None
        and not has_searched(steps)
        and shows_context(call.messages.value or (), template_variables(view, call), _done(view))
    )
    first = min((step.origin.start_unix_nano for step in search.retrievals), default=0)
    known = {span_id for step in steps.rewriters for span_id in step.origin.span_ids}
    hidden = any(
        other.end <= first
        and other.output.status is FieldStatus.REDACTED
        and view.node(other.leaf).span.span_id not in known
        for other in others
    )
    unexplained = call is not None and any(
        other.end <= call.start and other not in family for other in others
    )
    return Signs(
        lexical=lexical,
        shows_context=context,
        unread_calls=UnknownReason.REDACTED if hidden else None,
        early_calls=unexplained,
        partial=partial,
    )


def _loss(facts: Iterable[SpanFacts]) -> Loss:
    losses = [read.loss for read in facts]
    return Loss(
        dropped_attributes=sum(loss.dropped_attributes for loss in losses),
        dropped_events=sum(loss.dropped_events for loss in losses),
        gaps=tuple(sorted({gap for loss in losses for gap in loss.gaps})),
        redacted=tuple(sorted({key for loss in losses for key in loss.redacted})),
        truncated=tuple(sorted({key for loss in losses for key in loss.truncated})),
    )

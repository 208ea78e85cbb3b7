"""Findings to labels, by the rules of design.md, section 2: the LLM never says what is a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from otel_raglog.checks.judge.answers import Held
from otel_raglog.checks.reading import answer_of
from otel_raglog.lab.judges.case import Case
from otel_raglog.lab.judges.findings import (
    Alteration,
    AssemblyFindings,
    EmbedderFindings,
    Findings,
    GeneratorFindings,
    RerankerFindings,
    RetrieverFindings,
    RewriterFindings,
    StatementKind,
)
from otel_raglog.lab.labelling.label import Label, faulty, fine, listed, undecided
from otel_raglog.model import Stage

_OF_ALTERATIONS: Mapping[Alteration, str] = {
    Alteration.CORRUPTED: "corrupted_input",
    Alteration.MISSPELLED: "misspelled_input",
    Alteration.CUT_OFF: "truncated_input",
    Alteration.MISSING: "altered_input",
    Alteration.UNRELATED_ADDED: "altered_input",
}
_OF_STATEMENTS: Mapping[StatementKind, str] = {
    StatementKind.CONTRADICTION: "unsupported_claim",
    StatementKind.UNSUPPORTED_ANSWER: "unsupported_claim",
    StatementKind.ADDED_NAME: "unsupported_claim",
    StatementKind.ADDED_NUMBER: "unsupported_claim",
    StatementKind.ADDED_DATE: "unsupported_claim",
    StatementKind.ADDED_PLACE: "unsupported_claim",
    StatementKind.MISSTATED_NUMBER: "misstated_number",
}
"""Kinds that are faults; harmless elaboration and hedged remarks are none."""


def labels_from(findings: Findings, case: Case) -> dict[Stage, Label]:
    """Return the label of every stage of the run that ``findings`` are about.

    A label that hangs on what was not recorded is left undecided.
    """
    found: dict[Stage, Label] = {}
    findings = case.about_its_stages(findings)
    for stage in case.stages:
        about = getattr(findings, stage.value)
        if about is not None:
            found[stage] = _RULES[stage](about, findings, case)
    return found


def _rewriter(about: RewriterFindings, _: Findings, __: Case) -> Label:
    types, reasons = [], []
    if about.changed_entities:
        types.append("changes_entity")
        changes = [f"{each.asked!r} became {each.became!r}" for each in about.changed_entities]
        reasons.append(listed(changes))
    if about.dropped_constraints:
        types.append("drops_constraint")
        reasons.append(f"{_quoted(about.dropped_constraints)} was dropped")
    if about.added_constraints:
        types.append("adds_constraint")
        reasons.append(f"{_quoted(about.added_constraints)} was added")
    if about.intent_changed:
        types.append("changes_intent")
        reasons.append("something else is asked for")
    if types:
        return faulty("; ".join(reasons), tuple(types))
    return fine("the rewrites keep what is asked, and add nothing")


def _embedder(about: EmbedderFindings, _: Findings, __: Case) -> Label:
    if about.passage_like:
        return fine("what was embedded is a passage, which is no rendering of the query")
    if not about.altered:
        return fine("what was embedded is the query")
    types = dict.fromkeys(_OF_ALTERATIONS[each.how] for each in about.altered)
    altered = [f"{each.text!r} ({each.how.value.replace('_', ' ')})" for each in about.altered]
    return faulty(listed(altered), tuple(types))


def _retriever(about: RetrieverFindings, findings: Findings, case: Case) -> Label:
    if not case.chunks and not case.misses_chunks:
        return faulty("nothing was retrieved", ("empty_result",))
    needed = dict.fromkeys(about.needed_chunks)
    # What a later stage lost was there.
    if findings.reranker is not None:
        needed.update(dict.fromkeys(findings.reranker.needed_excluded))
    if findings.assembly is not None:
        needed.update(dict.fromkeys(each.chunk for each in findings.assembly.needed_lost))
    if needed:
        return fine(f"{listed(case.ids_of(needed))} holds needed information")
    if case.unread or case.misses_chunks:
        return undecided("retrieved chunks or their texts were not recorded")
    return faulty("no retrieved chunk holds needed information", ("no_relevant_chunk",))


def _reranker(about: RerankerFindings, _: Findings, case: Case) -> Label:
    if case.unread & set(case.selected if about.needed_excluded else case.excluded):
        return undecided("texts of chunks that were passed on or excluded were not recorded")
    if about.needed_excluded:
        lost = listed(case.ids_of(about.needed_excluded))
        return faulty(
            f"{lost} holds needed information that nothing passed on holds", ("evidence_excluded",)
        )
    return fine("no needed information was excluded")


def _assembly(about: AssemblyFindings, _: Findings, case: Case) -> Label:
    types, reasons = [], []
    for cut, fault_type, words in (
        (False, "evidence_dropped", "is not in the prompt"),
        (True, "evidence_truncated", "was cut before what is needed"),
    ):
        lost = case.ids_of(each.chunk for each in about.needed_lost if each.cut is cut)
        if lost:
            types.append(fault_type)
            reasons.append(f"{listed(lost)} {words}")
    if about.blank_slots > 0:
        types.append("blank_context")
        reasons.append(f"{about.blank_slots} context slots are blank")
    if types:
        return faulty("; ".join(reasons), tuple(types))
    if case.unread & set(case.selected):
        return undecided("texts of selected chunks were not recorded")
    return fine("needed information that was selected is in the prompt")


def _generator(about: GeneratorFindings, _: Findings, case: Case) -> Label:
    found = list(_of_answer(about, case))
    if found:
        types = tuple(dict.fromkeys(fault_type for fault_type, _ in found))
        return faulty("; ".join(why for _, why in found), types)
    return fine("rightly refuses" if about.refuses else "what was asked, as the prompt has it")


def _of_answer(about: GeneratorFindings, case: Case) -> Iterator[tuple[str, str]]:
    answer = answer_of(case.run)
    if about.cut_off or case.cut_off:
        yield "output_truncated", "the answer breaks off"
    if answer is not None and not answer.strip():
        yield "incomplete", "there is no answer"
    elif not about.refuses and about.prompt_holds_answer is Held.NO:
        yield "should_abstain", "answers, and the prompt does not hold the answer"
    if about.refuses and about.prompt_holds_answer is Held.YES:
        yield "wrong_refusal", "refuses, and the prompt holds the answer"
    for each in about.unstated:
        if each.kind in _OF_STATEMENTS:
            kind = each.kind.value.replace("_", " ")
            yield _OF_STATEMENTS[each.kind], f"{each.statement!r} ({kind})"
    if about.omitted_items and not about.refuses:
        yield "incomplete", f"{_quoted(about.omitted_items)} was asked for and is left out"
    if about.other_question:
        yield "off_question", "answers another question"


def _quoted(texts: tuple[str, ...]) -> str:
    return listed([repr(text) for text in texts])


_RULES: Mapping[Stage, Callable[[Any, Findings, Case], Label]] = {
    Stage.REWRITER: _rewriter,
    Stage.EMBEDDER: _embedder,
    Stage.RETRIEVER: _retriever,
    Stage.RERANKER: _reranker,
    Stage.ASSEMBLY: _assembly,
    Stage.GENERATOR: _generator,
}

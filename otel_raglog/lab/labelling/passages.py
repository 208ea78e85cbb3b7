"""Rules of retriever, reranker and assembly: where the evidence went."""

from __future__ import annotations

from otel_raglog.checks.text.survival import PromptText
from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.labelling.known import GONE, Known
from otel_raglog.lab.labelling.label import Label, faulty, fine, listed, undecided


def label_retriever(known: Known) -> Label:
    """Return whether any retrieved passage holds evidence."""
    found = [hit["id"] for hit in known.retrieved]
    if not found:
        return faulty("nothing was retrieved", ("empty_result",))
    if right := known.of(found, Holds.YES):
        return fine(f"{listed(right)} holds evidence")
    if perhaps := known.of(found, Holds.MAYBE):
        return undecided(f"{listed(perhaps)} may hold evidence")
    return faulty("no retrieved passage holds evidence", ("no_relevant_chunk",))


def label_reranker(known: Known) -> Label:
    """Return whether evidence was retrieved and excluded."""
    right = known.of([hit["id"] for hit in known.retrieved], Holds.YES)
    if not right:
        return fine("no evidence was retrieved that could be excluded")
    if passed := known.of(known.passed, Holds.YES):
        missing = [name for name in right if name not in passed]
        if missing and not known.evidence.stated and len(known.evidence.question.gold_docs) > 1:
            return undecided(f"{listed(missing)} was excluded, and may be needed as well")
        return fine(f"{listed(passed)} was passed on")
    if perhaps := known.of(known.passed, Holds.MAYBE):
        return undecided(f"{listed(perhaps)} was passed on and may hold evidence")
    return faulty(f"{listed(right)} was retrieved and excluded", ("evidence_excluded",))


def label_assembly(known: Known) -> Label:
    """Return whether selected evidence is missing from the prompt, or a slot is blank."""
    blank = int((known.record.get("reference") or {}).get("blank_slots") or 0)
    if blank:
        return faulty(f"{blank} slots are blank", ("blank_context",))
    right = known.of(known.passed, Holds.YES)
    if not right:
        return fine("no evidence was selected that could be lost")
    if any(known.seen[name] is Holds.YES for name in right):
        return fine(f"{listed(right)} is in the prompt")
    if known.context is Holds.MAYBE or any(known.seen[n] is Holds.MAYBE for n in right):
        return undecided("what is in the prompt may hold evidence")
    cut = any(PromptText(known.prompt).survival(_text_of(known, n)).kept >= GONE for n in right)
    kind = "evidence_truncated" if cut else "evidence_dropped"
    return faulty(f"{listed(right)} was selected, its evidence is not in the prompt", (kind,))


def _text_of(known: Known, name: str) -> str:
    return next(str(hit["text"]) for hit in known.retrieved if hit["id"] == name)

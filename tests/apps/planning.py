"""A seed to plans: which question goes to which application, worded how, and with which fault."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from catalogue import Catalogue, Question, Turn
from faults import EMPTY, NOTICES

STAGES = {
    "handbook-search": ("embedder", "retriever", "reranker", "assembly", "generator"),
    "passenger-desk": ("rewriter", "embedder", "retriever", "reranker", "assembly", "generator"),
    "crew-assistant": ("rewriter", "embedder", "retriever", "reranker", "assembly", "generator"),
    "office-answers": ("retriever", "reranker", "assembly", "generator"),
    "policy-finder": ("rewriter", "retriever", "assembly", "generator"),
    "island-chat": ("rewriter", "retriever", "assembly", "generator"),
    "compare-desk": ("rewriter", "retriever", "assembly", "generator"),
}
SINGLE_TURN_RUNS = {
    "handbook-search": 14,
    "passenger-desk": 12,
    "office-answers": 8,
    "policy-finder": 6,
    "compare-desk": 3,
}
BATCHES = {"office-answers": 2}  # runs that share one HTTP request
CONVERSATIONS = {"crew-assistant": 3, "island-chat": 2}
MULTI_HOP = frozenset({"compare-desk"})
EXPANDING = frozenset({"policy-finder"})
# Every fault is planted this often; a generator that answers without evidence needs a retriever that found none.
PLANTS: tuple[tuple[tuple[tuple[str, str], ...], int], ...] = (
    ((("rewriter", "adds_constraint"),), 1),
    ((("rewriter", "drops_constraint"),), 2),
    ((("rewriter", "changes_entity"),), 2),
    ((("rewriter", "changes_intent"),), 1),
    ((("embedder", "truncated_input"),), 1),
    ((("embedder", "misspelled_input"),), 1),
    ((("embedder", "altered_input"),), 1),
    ((("embedder", "corrupted_input"),), 1),
    ((("retriever", "wrong_department"),), 1),
    ((("retriever", "wrong_collection"),), 1),
    ((("retriever", "empty_result"),), 2),
    ((("retriever", "wrong_department"), ("generator", "should_abstain")), 2),
    ((("reranker", "evidence_excluded"),), 2),
    ((("assembly", "evidence_dropped"),), 1),
    ((("assembly", "evidence_truncated"),), 1),
    ((("assembly", "blank_context"),), 1),
    ((("generator", "unsupported_claim"),), 2),
    ((("generator", "misstated_number"),), 2),
    ((("generator", "wrong_refusal"),), 2),
    ((("generator", "off_question"),), 1),
    ((("generator", "incomplete"),), 1),
    ((("generator", "output_truncated"),), 1),
)
REFUSALS = (
    "I could not find this in the handbook pages I was given.",
    "The context does not say, so I cannot answer.",
    "I'm sorry, but the provided documents do not contain that information.",
    "The documents above do not answer this question.",
    "I don't know; the pages say nothing about it.",
    "There is no information about this in the given context.",
    "Unfortunately the excerpts do not mention it.",
    "I am not able to answer that from the pages at hand.",
)
PARTIALS = (
    "The pages do not say the rest.",
    "I could not find the other part of the question in the context.",
    "The excerpts do not mention the other part.",
)
OPENERS = ("", "", "", "According to the handbook, ", "The handbook is clear on this: ")
LOWERED = (
    "The ",
    "In ",
    "From ",
    "It ",
    "There ",
    "A ",
    "An ",
    "If ",
    "On ",
    "Up ",
    "They ",
    "She ",
    "Both ",
)


@dataclass
class Slot:
    """A run that is going to happen; question and plants are filled in one after the other."""

    pipeline: str
    conversation: tuple[Turn, ...] = ()
    turn: int | None = None
    session: str | None = None
    batch: int | None = None
    question: Question | None = None
    plants: tuple[tuple[str, str], ...] = field(default=())

    @property
    def here(self) -> Turn | None:
        return self.conversation[self.turn - 1] if self.turn else None

    @property
    def rewrites(self) -> bool:
        """Whether the application rewrites the question of this run."""
        return "rewriter" in STAGES[self.pipeline] and self.turn != 1

    def takes(self, plants: tuple[tuple[str, str], ...]) -> bool:
        """Whether these faults can be planted here (the question apart)."""
        stages = {stage for stage, _ in plants}
        if self.plants or not stages <= set(STAGES[self.pipeline]):
            return False
        if "rewriter" in stages and (not self.rewrites or self.pipeline in MULTI_HOP):
            return False
        return self.batch is None or stages <= {"reranker", "generator"}


def plan_jobs(seed: int, catalogue: Catalogue) -> list[dict[str, Any]]:
    """Jobs in the order in which they are run; a job has one plan, a batch has several."""
    rng = random.Random(seed)
    slots = _slots(rng, catalogue)
    unused = list(catalogue.questions.values())
    rng.shuffle(unused)
    _plant(rng, slots, unused)
    for slot in slots:
        if slot.question is None:
            slot.question = _take(unused, slot, ())
    jobs: list[dict[str, Any]] = []
    batches: dict[tuple[str, int], dict[str, Any]] = {}
    for slot in slots:
        plan = _plan(rng, slot)
        if slot.batch is not None and (slot.pipeline, slot.batch) in batches:
            batches[slot.pipeline, slot.batch]["plans"].append(plan)
            continue
        job = {"pipeline": slot.pipeline, "session": slot.session, "plans": [plan]}
        jobs.append(job)
        if slot.batch is not None:
            batches[slot.pipeline, slot.batch] = job
    return jobs


def _slots(rng: random.Random, catalogue: Catalogue) -> list[Slot]:
    slots = [Slot(pipeline) for pipeline, count in SINGLE_TURN_RUNS.items() for _ in range(count)]
    slots += [Slot(pipeline, batch=0) for pipeline, count in BATCHES.items() for _ in range(count)]
    names = sorted(catalogue.conversations)
    rng.shuffle(names)
    for pipeline, count in CONVERSATIONS.items():
        for _ in range(count):
            turns = catalogue.conversations[names.pop()]
            session = f"{pipeline}-{rng.getrandbits(32):08x}"
            for number, turn in enumerate(turns, 1):
                question = catalogue.questions[turn.question]
                slots.append(Slot(pipeline, turns, number, session, question=question))
    return slots


def _plant(rng: random.Random, slots: list[Slot], unused: list[Question]) -> None:
    plants = [plants for plants, count in PLANTS for _ in range(count)]
    rng.shuffle(plants)
    plants.sort(key=lambda entry: entry[0][0] not in {"rewriter", "embedder"})  # the pickiest first
    for wanted in plants:
        candidates = [slot for slot in slots if slot.takes(wanted)]
        rng.shuffle(candidates)
        for slot in candidates:
            if slot.question is None:
                slot.question = _take(unused, slot, wanted)
            elif not _supports(slot.question, slot, wanted):
                continue
            if slot.question is not None:
                slot.plants = wanted
                break
        else:
            message = f"nowhere to plant {wanted}"
            raise ValueError(message)


def _take(
    unused: list[Question], slot: Slot, plants: tuple[tuple[str, str], ...]
) -> Question | None:
    for index, question in enumerate(unused):
        if _supports(question, slot, plants):
            return unused.pop(index)
    return None


def _supports(question: Question, slot: Slot, plants: tuple[tuple[str, str], ...]) -> bool:
    if (slot.pipeline in MULTI_HOP) != bool(question.hops) and slot.turn is None:
        return False
    for stage, kind in plants:
        broken = slot.here.faulty if slot.here else question.faulty
        if stage == "rewriter" and kind not in broken:
            return False
        if kind in {"misstated_number", "should_abstain"} and not question.number:
            return False
        if kind == "incomplete" and not question.incomplete:
            return False
    return True


def _plan(rng: random.Random, slot: Slot) -> dict[str, Any]:
    question = slot.question
    if question is None:
        message = f"no question left for {slot.pipeline}"
        raise ValueError(message)
    kinds = dict(slot.plants)
    asked = rng.choice((slot.here and slot.here.ask) or question.ask)
    opener = rng.choice(OPENERS)
    answer = rng.choice(question.answers)
    departments = sorted(
        {document.split("-")[0] for document in ("fleet-x", "it-x", "freight-x", "people-x")}
        - {need.doc.split("-")[0] for need in question.needs}
    )
    retriever = kinds.get("retriever")
    return {
        "pipeline": slot.pipeline,
        "question_id": question.id,
        "question": asked,
        "session": slot.session,
        "turn": slot.turn,
        "planted": [list(plant) for plant in slot.plants],
        "rewrites": _rewrites(rng, slot, question, asked, kinds.get("rewriter")),
        "needs": [
            {"doc": need.doc, "quote": need.quote, "says": need.says} for need in question.needs
        ],
        "answer": _open(opener, answer),
        "says": _says(rng, question, opener, answer),
        "wrong": _open(opener, _misstate(rng, question, answer)),
        "refusal": rng.choice(REFUSALS),
        "partial": rng.choice(PARTIALS),
        "generator": kinds.get("generator", "honest"),
        "embedder": kinds.get("embedder"),
        "collection": {"wrong_collection": NOTICES, "empty_result": EMPTY}.get(retriever or ""),
        "department": rng.choice(departments) if retriever == "wrong_department" else None,
        "exclude": "reranker" in kinds,
        "assembly": kinds.get("assembly"),
        "salt": rng.getrandbits(32),
    }


def _rewrites(
    rng: random.Random, slot: Slot, question: Question, asked: str, fault: str | None
) -> list[str]:
    if not slot.rewrites:
        return []
    if slot.pipeline in MULTI_HOP:
        return list(question.hops)
    broken = (slot.here.faulty if slot.here else question.faulty).get(fault or "", ())
    if fault and slot.pipeline in EXPANDING:
        text = rng.choice(broken)
        return [text, f"Tarrow Sound Ferries: {text[0].lower()}{text[1:]}", _keywords(text)]
    if fault:
        return [rng.choice(broken)]
    faithful = list(slot.here.condensed if slot.here else (*question.rewrites, question.keywords))
    if slot.pipeline in EXPANDING:
        others = [text for text in question.ask if text != asked]
        return [*rng.sample(others, min(1, len(others))), *question.rewrites, question.keywords][:3]
    return [rng.choice(faithful)]


def _says(rng: random.Random, question: Question, opener: str, answer: str) -> dict[str, str]:
    """What the generator says in each of its faulty modes, where the context does hold the answer."""
    full = _open(opener, answer)
    words = full.split()
    says = {
        "unsupported_claim": f"{full} {rng.choice(question.extra)}",
        "wrong_refusal": rng.choice(REFUSALS),
        "output_truncated": " ".join(words[: max(3, round(len(words) * 0.55))]).rstrip(".,;"),
    }
    if question.number:
        says["misstated_number"] = _open(opener, _misstate(rng, question, answer))
    if question.incomplete:
        says["incomplete"] = _open(opener, rng.choice(question.incomplete))
    return says


def _misstate(rng: random.Random, question: Question, answer: str) -> str:
    if not question.number:
        return answer
    right, *wrong = question.number
    return answer.replace(right, rng.choice(wrong))


def _open(opener: str, text: str) -> str:
    if opener and text.startswith(LOWERED):
        return opener + text[0].lower() + text[1:]
    return text  # may begin with a name


def _keywords(text: str) -> str:
    dull = {"what", "which", "does", "did", "the", "a", "an", "is", "are", "was", "were", "how"}
    words = [word.strip("?,.") for word in text.split()]
    return " ".join(word for word in words if word.lower() not in dull)

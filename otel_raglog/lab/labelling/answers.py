"""Rules of the generator: the answer against the prompt and the known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberIndex, numbers
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex, content_words, words
from otel_raglog.lab.evidence import Holds, plain, states
from otel_raglog.lab.labelling.known import Known
from otel_raglog.lab.labelling.label import Label, faulty, fine, listed, undecided
from otel_raglog.lab.pipelines.generators import REFUSALS
from otel_raglog.model import Stage

_ALL_OF_IT = 0.8
_ON_THE_POINT = 0.34


def declined(answer: str) -> bool:
    """Whether the answer is a refusal: one of the lab's own, or one by its words."""
    return answer in REFUSALS or refuses(answer)


def label_generator(known: Known) -> Label:
    """Return whether the answer is what the prompt allowed it to be."""
    record = known.record
    answer = str(record["answer"] or "")
    injected = record.get("injected") or {}
    own = injected if injected.get("stage") == Stage.GENERATOR else {}
    told = _by_itself(known, answer, own)
    if told is not None:
        return told
    if known.context is Holds.MAYBE:
        return undecided("the prompt may hold evidence")
    foreign = _foreign(known, answer)
    if known.context is Holds.NO:
        types = ("should_abstain", "unsupported_claim") if foreign else ("should_abstain",)
        return faulty("answered, and the prompt does not hold the answer", types)
    if foreign:
        kind = "misstated_number" if foreign[0][:1].isdigit() else "unsupported_claim"
        return faulty(f"{listed(foreign)} is nowhere in the prompt", (kind,))
    return _of_right_or_wrong(known, answer, own)


def _by_itself(known: Known, answer: str, own: Mapping[str, Any]) -> Label | None:
    """Return what can be said before it matters whether the prompt holds the answer."""
    if known.record.get("finish_reason") == "length" or own.get("type") == "cut_off":
        return faulty("the answer breaks off", ("output_truncated",))
    if not answer.strip():
        return faulty("there is no answer", ("incomplete",))
    if _declines(known, answer):
        return _refusal(known)
    if _swapped(own, answer):
        kind = "misstated_number" if own["type"] == "number_swapped" else "unsupported_claim"
        return faulty(f"{own['before']} became {own['after']}", (kind,))
    return None


def _of_right_or_wrong(known: Known, answer: str, own: Mapping[str, Any]) -> Label:
    right = _rightness(known, answer)
    if right is None:
        return undecided("whether the answer is right cannot be told by its words")
    if right:
        return fine("states the known answer, which the prompt holds")
    kind = "off_question" if _verbatim(known, answer) else "unsupported_claim"
    kind = "incomplete" if own.get("type") == "item_omitted" else kind
    return faulty("does not state the known answer, which the prompt holds", (kind,))


def _verbatim(known: Known, answer: str) -> bool:
    return plain(answer).strip() in plain(known.prompt)


def _declines(known: Known, answer: str) -> bool:
    # Sentences of documents can sound like a refusal: "he must not mention it".
    quoted = _verbatim(known, answer) and len(words(answer)) > _FRAME
    return declined(answer) and not quoted and not states(answer, known.evidence.question.answers)


def _refusal(known: Known) -> Label:
    if known.context is Holds.YES:
        return faulty("refuses, and the prompt holds the answer", ("wrong_refusal",))
    if known.context is Holds.MAYBE:
        return undecided("refuses, and the prompt may hold the answer")
    return fine("rightly refuses")


def _swapped(injected: Mapping[str, Any], answer: str) -> bool:
    if injected.get("type") not in {"number_swapped", "name_swapped"}:
        return False
    return states(answer, [injected["after"]]) and not states(answer, [injected["before"]])


def _rightness(known: Known, answer: str) -> bool | None:
    """Return whether the answer states a known one; ``None`` where words cannot tell."""
    answers = known.evidence.question.answers
    if not answers or not known.evidence.stated:
        return _by_first_word(answers, answer)
    if states(answer, answers):
        return _stated_to_the_point(known, answer)
    shares = [_share(known_answer, answer) for known_answer in answers]
    reverse = any(states(known_answer, [answer]) for known_answer in answers)
    asked = WordIndex([_question(known)])
    new = [w for a in answers for w in content_words(a) if not asked.holds_related(w)]
    partly = any(map(WordIndex([answer]).holds_related, new))
    several = [s for s, a in zip(shares, answers, strict=True) if len(content_words(a)) > 1]
    if max(several, default=0.0) >= _ALL_OF_IT:
        return True
    return None if reverse or partly else False


def _stated_to_the_point(known: Known, answer: str) -> bool | None:
    """Return ``None`` where the answer's words may stand in the sentence for another reason."""
    answers = known.evidence.question.answers
    if len(words(answer)) <= max(len(words(text)) for text in answers) + _FRAME:
        return True
    question = _question(known)
    if states(question, answers):
        return None
    asked = content_words(question)
    telling = [s for s in sentences(answer) if states(s, answers)] or [answer]
    best = max(
        sum(map(WordIndex([text, _titles(known)]).holds_related, asked)) / max(1, len(asked))
        for text in telling
    )
    return True if best >= _ON_THE_POINT else None


_FRAME = 6


def _question(known: Known) -> str:
    told = (known.record.get("reference") or {}).get("standalone")
    return str(told or known.record["question"])


def _titles(known: Known) -> str:
    return " ".join(
        str(hit.get("title") or "")
        for hit in known.retrieved
        if known.holds[hit["id"]] is Holds.YES
    )


def _by_first_word(answers: Sequence[str], answer: str) -> bool | None:
    wanted = {plain(text).strip() for text in answers}
    said = words(answer)[:1]
    if wanted <= {"yes", "no"} and wanted and said and said[0] in {"yes", "no"}:
        return said[0] in wanted
    return None


def _share(wanted: str, answer: str) -> float:
    needed = content_words(wanted) or words(wanted)
    index = WordIndex([answer])
    return sum(map(index.holds, needed)) / max(1, len(needed))


def _foreign(known: Known, answer: str) -> list[str]:
    """Return the numbers and names of the answer that neither prompt nor question has."""
    told = [known.prompt, str(known.record["question"])]
    told += [str(turn[1]) for turn in known.record.get("history") or ()]
    figures, index = NumberIndex(told), WordIndex(told)
    found = [n.text for n in numbers(answer) if not figures.holds_about(n)]
    found = [text for text in found if text not in plain(told[0])]
    found += [
        name.text
        for name in names(answer)
        if name.words and not any(map(index.holds_name, name.words))
    ]
    return found

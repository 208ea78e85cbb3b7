"""Examples E: yes or no, and one of two things: the right answer against the only other one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from training.reader.answers import ClaimPair, is_read_whole
from training.reader.corpora import Question, Side, YesOrNo
from training.reader.limits import Limits
from training.reader.texts import Span, capitalised, words

_FORMS = 2
"""Pairs of a question, each in another form."""

_MOST_WORDS = 8
"""Of one of the two that a question compares."""

_ASKS = re.compile(
    r"^(are|were|is|was|do|did|does|have|has|had|can|could)\s+(both\s+)?(?:of\s+)?(.+?)[\s?.]*$",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"\s*,?\s+(?:and|or)\s+")
_BE_OR_HAVE = frozenset("are were is was have has had can could".split())
_STEM = re.compile(
    r"^(?:which|who|what)\b(?:(?! (?:is|was|are|were|has|have|had)\b).)*? "
    r"(?=(?:is|was|are|were|has|have|had|won|came|started|began|opened|received|lived|died|wrote"
    r"|made|contains|covers|plays|played|sold|published|released|directed|originated)\b)",
    re.IGNORECASE,
)
_ASKS_WHICH = re.compile(r"^(is|was|are|were)\s+", re.IGNORECASE)


class Compared(NamedTuple):
    """A text that names two things: what stands before, the two, and what stands behind."""

    before: str
    one: str
    two: str
    behind: str


def choice_pairs(side: Side, limits: Limits, rng: Random) -> list[ClaimPair]:
    """Return the pairs of all yes-or-no questions, then those of questions that name two answers.

    The passage is the whole document: a comparison needs both of its halves.
    """
    pairs: list[ClaimPair] = []
    for polar in side.yes_or_no:
        forms = yes_or_no_forms(polar)
        chosen = rng.sample(forms, min(_FORMS, len(forms)))
        pairs += _pairs(polar.text, polar.document, chosen, limits, rng)
    for question in side.questions:
        forms = _either_or_forms(question)
        chosen = rng.sample(forms, min(_FORMS, len(forms)))
        pairs += _pairs(question.text, question.document, chosen, limits, rng)
    return pairs


def _pairs(
    question: str,
    document: str,
    claims: Sequence[tuple[str, str]],
    limits: Limits,
    rng: Random,
) -> list[ClaimPair]:
    """Return a pair of each right and wrong claim about the whole document."""
    found = []
    for right, wrong in claims:
        longest = f"{question} {max(right, wrong, key=len)}"
        all_of_it = Span(0, len(document))
        passage = limits.passage(document, all_of_it, limits.room_beside(longest), rng)
        if passage is not None:
            pair = ClaimPair(question, right, wrong, passage.text, passage.text)
            found += [pair] if is_read_whole(pair, limits) else []
    return found


def yes_or_no_forms(polar: YesOrNo) -> list[tuple[str, str]]:
    """Return the right and the wrong answer in each form that fits the question."""
    forms = [("Yes.", "No."), ("The answer is yes.", "The answer is no.")]
    asked = _ASKS.match(polar.text)
    compared = asked and _compared(asked.group(3), polar.document)
    if asked and compared:
        auxiliary = asked.group(1).lower()
        subject = f"{compared.before}{compared.one} and {compared.two}".strip()
        both = bool(asked.group(2)) or compared.behind.startswith("both ")
        rest = compared.behind.removeprefix("both ")
        yes, no = _statements(auxiliary, subject, rest, both=both)
        forms += [(f"Yes, {yes}", f"No, {no}"), (capitalised(yes), capitalised(no))]
        if auxiliary in {"are", "were"}:
            forms.append((f"Yes, they {auxiliary}.", f"No, they {auxiliary} not."))
    return forms if polar.is_yes else [(no, yes) for yes, no in forms]


def _statements(auxiliary: str, subject: str, rest: str, *, both: bool) -> tuple[str, str]:
    """Return what "yes" says and what "no" says."""
    together = "both " if both else ""
    no = f"{subject} {auxiliary} not {together}{rest}."
    if auxiliary in _BE_OR_HAVE:
        return f"{subject} {auxiliary} {together}{rest}.", no
    did = "" if auxiliary == "do" else f"{auxiliary} "
    return f"{together}{subject} {did}{rest}.", no


def _either_or_forms(question: Question) -> list[tuple[str, str]]:
    """Return the right one of the two and the other one, in each form that fits the question."""
    if " or " not in question.text:
        return []
    compared = _compared(question.text.rstrip("? ."), question.document)
    if compared is None:
        return []
    is_one, is_two = (_is_answer(each, question.answer) for each in (compared.one, compared.two))
    if is_one == is_two:
        return []
    right, wrong = compared.one, compared.two
    if is_two:
        right, wrong = wrong, right
    forms = ["{}", "The answer is {}."]
    before = re.sub(r"(?:[\s,:;-]|\bbetween|\beither|\bout of)+$", "", compared.before)
    stem = f"{before} {compared.behind.lstrip(', ')}".strip()
    stated = _STEM.sub("", stem, count=1)
    if stated != stem:
        forms += [f"{{}} {_escaped(stated)}."] * 2
    elif (which := _ASKS_WHICH.match(question.text)) and before.lower() == which.group(1).lower():
        forms += [f"{{}} {before.lower()} {_escaped(compared.behind.lstrip(', '))}."] * 2
    elif stated:
        one, two = _escaped(compared.one), _escaped(compared.two)
        forms.append(f"Of {one} and {two}, it is {{}}.")
    return [(capitalised(f.format(right)), capitalised(f.format(wrong))) for f in forms]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _is_answer(option: str, answer: str) -> bool:
    """Return whether the words of one are among those of the other."""
    one, two = set(words(option)), set(words(answer))
    return one <= two or two <= one


def _compared(text: str, document: str) -> Compared | None:
    """Return the two things that an "and" or "or" joins, as long as the document names them."""
    for joint in _SPLIT.finditer(text):
        left, right = text[: joint.start()].split(), text[joint.end() :].split()
        one = _longest_named(left, document, ends=True)
        two = _longest_named(right, document, ends=False)
        if one and two:
            before, behind = left[: len(left) - one], right[two:]
            return Compared(
                "".join(f"{word} " for word in before),
                " ".join(left[-one:]).strip(" ,:;"),
                " ".join(right[:two]).strip(" ,:;"),
                " ".join(behind),
            )
    return None


def _longest_named(all_words: Sequence[str], document: str, *, ends: bool) -> int:
    """Return how many words at the begin, or else at the end, are a name that the document has.

    0 if there is none, or if the name seems to go on.
    """
    for count in range(min(len(all_words), _MOST_WORDS), 0, -1):
        run = all_words[-count:] if ends else all_words[:count]
        is_list = any(word.endswith(",") for word in run[:-1])
        if is_list or not (_is_named(run[0]) and _is_named(run[-1])):
            continue
        if _is_mentioned(run, document):
            before, behind = all_words[-count - 1 : -count], all_words[count : count + 1]
            if ends:
                goes_on = bool(before) and _is_named(before[0]) and before[0][-1] not in ",:"
                return 0 if goes_on and count + 1 < len(all_words) else count
            goes_on = bool(behind) and _is_named(behind[0]) and run[-1][-1] not in ",:"
            return 0 if goes_on else count
    return 0


def _is_named(word: str) -> bool:
    first = word.lstrip("\"'(\u201c")[:1]
    return first.isupper() or first.isdigit()


def _is_mentioned(run: Sequence[str], document: str) -> bool:
    """Return whether the words stand in the document in order, with up to three others between."""
    named = [re.escape(word) for word in words(" ".join(run))]
    between = r"\W+(?:\w+\W+){0,3}?"
    return bool(named) and re.search(rf"\b{between.join(named)}\b", document.lower()) is not None

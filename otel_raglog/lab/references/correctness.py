"""Run records to whether their answers are right: as recorded, by their words, or by an LLM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from otel_raglog.checks.judge.answers import Answer
from otel_raglog.checks.judge.budget import Excerpt, estimated_tokens, excerpt, fair_shares
from otel_raglog.checks.judge.prompting import fenced
from otel_raglog.checks.text.lexicon import NEGATIONS
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.conventions.json_text import parse_json
from otel_raglog.errors import BadInput, Rejected, Unavailable
from otel_raglog.judge.client import Ask, JudgeClient
from otel_raglog.lab.references.asking import ask_for, is_of_every_call, new_mark
from otel_raglog.lab.references.budgeted import OVER_BUDGET
from otel_raglog.lab.references.whole_words import whole_words

_INSTRUCTIONS = Path(__file__).with_name("correctness.md")
_MOST_TOKENS = 100
_ANSWER_TOKENS, _REFERENCE_TOKENS, _QUESTION_TOKENS = 8_000, 4_000, 2_000
"""The most of each text that an LLM is shown."""
_HARMLESS_WORDS = 40


class Correctness(StrEnum):
    """Whether an answer agrees with the reference answers."""

    CORRECT = "correct"
    PARTLY = "partly"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class By(StrEnum):
    """Who said so: the record, its words, or an LLM. ``NOBODY`` where nothing could be said."""

    RECORD = "record"
    WORDS = "words"
    LLM = "llm"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether the answer of a run is right, who said so, and why nobody could.

    ``failed``: an LLM was asked, and gave no answer. ``over_budget``: none was asked, since that
    would cost more than is left.
    """

    run_id: str
    correctness: Correctness
    by: By
    why_not: str | None = None
    failed: bool = False
    over_budget: bool = False


class _Said(StrEnum):
    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class _Verdict(Answer):
    correct: _Said


_OF_WORDS: Mapping[object, Correctness] = {
    True: Correctness.CORRECT,
    False: Correctness.WRONG,
    **{each.value: each for each in Correctness},
    "yes": Correctness.CORRECT,
    "no": Correctness.WRONG,
}


def correctness_of(
    records: Iterable[Mapping[str, Any]],
    client: JudgeClient | None,
    *,
    timeout_seconds: float = 60,
    parallel: int = 4,
    redact: Callable[[str], str] = str,
) -> Iterator[Judged]:
    """Yield for each record, in order, whether its answer is right.

    ``reference.correct`` is taken where it is recorded. Else ``client`` is asked in one small call
    (question, reference answers, answer); without a client, or where it fails, an answer that states
    a reference answer word for word is right, and of any other nothing is known: never is one called
    wrong by its words. Records without reference answers or without an answer are unknown; so are
    answers that are too long to be shown whole, and those that an LLM does not call right by texts
    that were shortened or redacted. ``redact`` is what texts go through before they are sent.

    Raises:
        Rejected: the provider refuses key, account or model: no call would work.
        BadInput: ``reference`` is malformed; names the record.
    """
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            yield from pool.map(
                lambda record: _judged(record, client, timeout_seconds, redact), records
            )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def known_correctness(
    records: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, Judged], list[str]]:
    """Return what is known without an LLM, by run id, and a sentence for each malformed reference.

    Ids of which two things are known are none.
    """
    found: dict[str, Judged] = {}
    twice: set[str] = set()
    problems: list[str] = []
    for record in records:
        try:
            judged = _judged(record, None, 0.0, str)
        except BadInput as error:
            problems.append(str(error))
            continue
        before = found.setdefault(judged.run_id, judged)
        if before.correctness is not judged.correctness:
            twice.add(judged.run_id)
    return {run_id: each for run_id, each in found.items() if run_id not in twice}, problems


def with_correctness(record: Mapping[str, Any], judged: Judged, model: str) -> dict[str, Any]:
    """Return the record with what was found in its ``reference``.

    ``correct`` is true, false or ``"partly"``, ``correct_by`` who said so: ``words`` or ``model``.
    Nothing is written over, and nothing where nothing is known.
    """
    if judged.by in {By.RECORD, By.NOBODY}:
        return dict(record)
    value = {Correctness.CORRECT: True, Correctness.WRONG: False}.get(
        judged.correctness, judged.correctness.value
    )
    by = model if judged.by is By.LLM else judged.by.value
    reference = {**_reference(record), "correct": value, "correct_by": by}
    return {**record, "reference": reference}


def _judged(
    record: Mapping[str, Any],
    client: JudgeClient | None,
    timeout_seconds: float,
    redact: Callable[[str], str],
) -> Judged:
    run_id = str(record.get("id"))
    reference = _reference(record)
    recorded = _recorded(run_id, reference)
    if recorded is not None:
        by = By.LLM if _by_model(reference) else By.RECORD
        by = By.WORDS if reference.get("correct_by") == By.WORDS else by
        return Judged(run_id, recorded, by)
    answers, answer = _answers(run_id, reference), record.get("answer")
    if not answers or not isinstance(answer, str):
        why = "no reference answers" if not answers else "no answer was recorded"
        return _unknown(run_id, why)
    found = _unknown(run_id, "its words do not tell")
    if client is not None:
        shown = _shown(_question(record), answers, answer, redact)
        found = _by_llm(run_id, shown, client, timeout_seconds)
    undecided = found.correctness is Correctness.UNKNOWN and not found.over_budget
    if undecided and states_reference(answer, answers, _question(record)):
        failure = found.why_not if found.failed else None
        return Judged(run_id, Correctness.CORRECT, By.WORDS, failure, found.failed)
    return found


def _by_llm(run_id: str, shown: _Shown, client: JudgeClient, timeout_seconds: float) -> Judged:
    if shown.answer.left_out:
        return _unknown(run_id, "the answer is too long to be judged")
    if shown.alike_by_redaction:
        return _unknown(run_id, "parts of answer and reference answers are redacted")
    try:
        said = _asked(shown, client, timeout_seconds)
    except (BadInput, Unavailable) as error:
        return _unknown(run_id, str(error), failed=True)
    except Rejected as error:
        if is_of_every_call(error):
            raise
        return _unknown(run_id, str(error), failed=True, over_budget=error.reason == OVER_BUDGET)
    if said is not _Said.YES and shown.in_part:
        return _unknown(run_id, "not called right by texts that are shortened or redacted")
    return Judged(run_id, _OF_WORDS[said.value], By.LLM)


def _unknown(run_id: str, why: str, *, failed: bool = False, over_budget: bool = False) -> Judged:
    return Judged(run_id, Correctness.UNKNOWN, By.NOBODY, why, failed, over_budget)


def states_reference(answer: str, references: Iterable[str], question: str = "") -> bool:
    """Tell whether ``answer`` is a reference answer, or a short one that contains it word for word.

    Case, punctuation and articles do not matter. An answer of many words, a refusal, a negation that
    the reference lacks, or a reference that the question itself states may contain the words for
    another reason: then only equality counts. A number is one word (:func:`whole_words`). What an
    answer says of the words is not understood: "He lost to Federer" states "Federer".
    """
    said, asked = _plain(answer), _plain(question)
    if not said:
        return False
    declines = refuses(answer)
    for reference in references:
        wanted = _plain(reference)
        if not wanted:
            continue
        if said == wanted:
            return True
        short = len(said) <= len(wanted) + _HARMLESS_WORDS
        turned = (set(said) - set(wanted) - set(asked)) & NEGATIONS
        alike = not declines and short and not turned and not _contains(asked, wanted)
        if alike and _contains(said, wanted):
            return True
    return False


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word for word in whole_words(text) if word not in {"a", "an", "the"})


def _contains(said: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    width = len(wanted)
    return any(said[at : at + width] == wanted for at in range(len(said) - width + 1))


@dataclass(frozen=True, slots=True)
class _Shown:
    """The texts that an LLM is shown, each whole or its beginning and its end.

    ``in_part``: something of them is left out or redacted. ``alike_by_redaction``: in the answer
    and in references, so that different ones may look alike.
    """

    question: Excerpt
    references: tuple[Excerpt, ...]
    answer: Excerpt
    in_part: bool
    alike_by_redaction: bool


def _shown(
    question: str, references: Sequence[str], answer: str, redact: Callable[[str], str]
) -> _Shown:
    asked, known, said = redact(question), tuple(map(redact, references)), redact(answer)
    shares = fair_shares(tuple(map(estimated_tokens, known)), _REFERENCE_TOKENS)
    texts = (excerpt(asked, _QUESTION_TOKENS), *map(excerpt, known, shares))
    hidden = (asked != question, known != tuple(references), said != answer)
    return _Shown(
        question=texts[0],
        references=texts[1:],
        answer=excerpt(said, _ANSWER_TOKENS),
        in_part=any(hidden) or any(each.left_out for each in texts),
        alike_by_redaction=hidden[1] and hidden[2],
    )


def _asked(shown: _Shown, client: JudgeClient, timeout_seconds: float) -> _Said:
    mark = new_mark()
    references = ((f"reference_answer_{n}", each) for n, each in enumerate(shown.references, 1))
    parts = (("question", shown.question), *references, ("answer", shown.answer))
    request = Ask(
        system=_INSTRUCTIONS.read_text(encoding="utf-8").strip(),
        prompt="\n\n".join(_fenced(name, each, mark) for name, each in parts),
        schema_name="correctness",
        schema=_Verdict.model_json_schema(),
        max_tokens=_MOST_TOKENS,
    )
    return ask_for(client, request, _Verdict, timeout_seconds=timeout_seconds).correct


def _fenced(name: str, shown: Excerpt, mark: str) -> str:
    if not shown.left_out:
        return fenced(name, shown.head, mark)
    return (
        f"{fenced(name, shown.head, mark)}\n({shown.left_out:,} characters of {name} are left out "
        f"here)\n{fenced(f'{name}_end', shown.tail, mark)}"
    )


def _question(record: Mapping[str, Any]) -> str:
    return str(_reference(record).get("standalone") or record.get("question") or "")


def _reference(record: Mapping[str, Any]) -> Mapping[str, Any]:
    found = record.get("reference")
    if isinstance(found, str):
        found = parse_json(found)
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise BadInput(f"run record {record.get('id')!r}: reference: must be a mapping")
    return found


def _recorded(run_id: str, reference: Mapping[str, Any]) -> Correctness | None:
    value = reference.get("correct")
    if value is None:
        return None
    known = _OF_WORDS.get(value.lower() if isinstance(value, str) else value)
    if known is None:
        raise BadInput(
            f"run record {run_id!r}: reference.correct: must be true, false, yes, partly or no"
        )
    return known


def _by_model(reference: Mapping[str, Any]) -> bool:
    return bool(reference.get("correct_by")) and reference["correct_by"] != By.WORDS


def _answers(run_id: str, reference: Mapping[str, Any]) -> tuple[str, ...]:
    value = reference.get("answers")
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise BadInput(f"run record {run_id!r}: reference.answers: must be a list of texts")
    return tuple(each for each in value if each.strip())

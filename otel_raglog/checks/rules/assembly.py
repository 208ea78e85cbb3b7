"""Measures what became of each selected chunk in the rendered prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.phrases import chunk_name, counted
from otel_raglog.checks.reading import (
    answering_step,
    chunk_text,
    prompt_of,
    question_of,
    readable,
    selected_of,
)
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.lexicon import CONTEXT_HEADINGS
from otel_raglog.checks.text.survival import Fate, PromptText, Survival
from otel_raglog.checks.text.words import WordIndex
from otel_raglog.model import Chunk, Measurement, Run, Stage

_LIMITS_FILE = Path(__file__).parent / "context_limits.json"
_HEADING = "|".join(re.escape(heading) for heading in CONTEXT_HEADINGS)
_BLANK_AFTER_HEADING = re.compile(
    rf"(?im)^[#*\s]{{0,6}}(?:{_HEADING})[ *]{{0,3}}:[ *\t]*+"
    rf"(?:\n?[ \t]*+(?:none|null|nan|n/a|\[\]|\"\"|''))?[ \t]*+(?:\n[-=*`\s]{{0,40}})?"
    rf"(?=\Z|\n[ \t*#]*(?:question|query|user|answer|instructions?)\b)"
)
# An instruction may name the tags ("answer from the <context></context> tags"); a slot stands alone.
_BLANK_TAG = re.compile(
    rf"(?im)(?:^(?:[ \t#*\w]{{0,20}}:)?|>)[ \t]*<({_HEADING})>\s{{0,40}}</\1>(?=[ \t]*(?:$|<))"
)
# DSPy describes its fields with their names in braces, right below a line of its own marks.
_UNFILLED = re.compile(
    r"(?i)(?<!## \]\]\n)(?<!\{)\{{1,3}\s?(?:context|context_str|documents?|chunks|passages)\s?\}{1,2}"
)
_BLANK_NUMBER = re.compile(r"(?m)^\[\d{1,3}\][ \t]*+(?::[ \t]*+)?$(?=\n\s*(?:\[\d|\n|\Z))")
_A_CHUNK = "\0"
"""One character: a longer mark would let the prompt grow, chunk by chunk, where texts are short."""

_READ_CHARACTERS = 400_000
_RULES_NAMING_ALL = 5


@dataclass(frozen=True, slots=True)
class Fates:
    """The selected chunks whose text is known, with what became of each in the prompt."""

    chunks: tuple[Chunk, ...]
    survivals: tuple[Survival, ...]

    def ranks(self, *fates: Fate) -> tuple[int, ...]:
        """Return the ranks, from 1, of the chunks with one of ``fates``."""
        return tuple(i for i, s in enumerate(self.survivals, start=1) if s.fate in fates)


def fates_of(run: Run) -> Fates | None:
    """Return what became of the selected chunks, ``None`` without selection or prompt."""
    prompt, selected = prompt_of(run), selected_of(run)
    if prompt is None or selected is None:
        return None
    chunks = readable(selected)
    seen = PromptText.of(prompt[:_READ_CHARACTERS])
    return Fates(chunks, tuple(seen.survival(chunk.text) for chunk in chunks))


class AssemblyRules:
    """Survival of every selected chunk in the prompt, blank slots, the prompt's size.

    Whether a lost chunk was needed is told by the question's words that no surviving chunk
    has; the similarity checks add to that.
    """

    name = "rules.assembly"
    stage = Stage.ASSEMBLY
    _of_chunks = (
        "assembly.intact_share",
        "assembly.dropped",
        "assembly.truncated",
        "assembly.altered",
        "assembly.kept_share",
        "assembly.lost_words_share",
    )
    declarations = (
        Declaration(
            "assembly.intact_share",
            Unit.SHARE,
            Suspect.LOW,
            "share of the selected chunks that are whole in the prompt",
        ),
        Declaration(
            "assembly.dropped",
            Unit.COUNT,
            Suspect.HIGH,
            "selected chunks that are not in the prompt",
        ),
        Declaration(
            "assembly.truncated",
            Unit.COUNT,
            Suspect.HIGH,
            "selected chunks of which only the beginning is in the prompt",
        ),
        Declaration(
            "assembly.altered",
            Unit.COUNT,
            Suspect.HIGH,
            "selected chunks of which only parts are in the prompt",
        ),
        Declaration(
            "assembly.kept_share",
            Unit.SHARE,
            Suspect.LOW,
            "share of the selected text that is in the prompt",
        ),
        Declaration(
            "assembly.lost_words_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the question's words that were selected but are not in the prompt",
        ),
        Declaration(
            "assembly.blank_slots",
            Unit.COUNT,
            Suspect.HIGH,
            "empty context headings or tags, unfilled template variables, empty numbered slots; none when nothing was selected",
        ),
        Declaration(
            "assembly.budget_ratio",
            Unit.RATIO,
            Suspect.NEITHER,
            "prompt tokens / the model's window (`rules/context_limits.json`), when both are known",
        ),
    )
    measures = names_of(declarations)

    def __init__(self, limits: Mapping[str, int] | None = None) -> None:
        self._limits = limits if limits is not None else context_limits()

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has the stage."""
        if not run.assemblies:
            return
        prompt = prompt_of(run)
        fates = fates_of(run)
        if fates is None or not fates.chunks:
            reason = "no selection, no chunk text, or no prompt recorded"
            yield from all_not_applicable(self._of_chunks, reason)
        else:
            yield from _survival(fates)
            yield from _lost_words(question_of(run), fates)
        selected = selected_of(run)
        if prompt is None:
            yield from all_not_applicable(("assembly.blank_slots",), "prompt not recorded")
        elif selected is not None and not selected:
            # The slot is blank because nothing was retrieved: not the assembly's doing.
            yield from all_not_applicable(("assembly.blank_slots",), "nothing was selected")
        else:
            yield _blank_slots(_without_chunks(prompt[:_READ_CHARACTERS], selected or ()))
        yield self._budget(run)

    def _budget(self, run: Run) -> Measurement:
        step = answering_step(run)
        tokens = step.tokens.prompt if step else None
        limit = context_limit(step.model, self._limits) if step else None
        if not tokens or not limit:
            (missing,) = all_not_applicable(
                ("assembly.budget_ratio",), "prompt tokens or the model's limit unknown"
            )
            return missing
        ratio = tokens / limit
        return measured(
            "assembly.budget_ratio", ratio, f"the prompt fills {ratio:.0%} of the model's window"
        )


def context_limits(path: Path = _LIMITS_FILE) -> Mapping[str, int]:
    """Return the context windows in tokens, by prefix of the model's name."""
    return {str(k): int(v) for k, v in json.loads(path.read_text("utf-8"))["tokens"].items()}


def context_limit(model: str | None, limits: Mapping[str, int]) -> int | None:
    """Return the window of ``model`` by its longest known prefix, ``None`` when unknown.

    A provider in front (``openai/gpt-4o``) is ignored.
    """
    if not model:
        return None
    name = model.rpartition("/")[2].casefold()
    known = [prefix for prefix in limits if name.startswith(prefix)]
    return limits[max(known, key=len)] if known else None


def _survival(fates: Fates) -> Iterator[Measurement]:
    total = len(fates.chunks)
    whole = fates.ranks(Fate.INTACT, Fate.REFORMATTED)
    yield measured("assembly.intact_share", len(whole) / total, _intact_phrase(fates, len(whole)))
    for name, fate, phrase in (
        ("assembly.dropped", Fate.DROPPED, "not in the prompt"),
        ("assembly.truncated", Fate.TRUNCATED, "cut short in the prompt"),
        ("assembly.altered", Fate.PARTIAL, "only partly in the prompt"),
    ):
        ranks = fates.ranks(fate)
        yield measured(name, len(ranks), f"{_named(ranks, fates.chunks)} {phrase}" if ranks else "")
    kept = sum(survival.kept for survival in fates.survivals) / total
    yield measured("assembly.kept_share", kept)


def _intact_phrase(fates: Fates, whole: int) -> str:
    total = len(fates.chunks)
    if whole < total:
        return f"{whole} of {counted(total, 'selected chunk')} are whole in the prompt"
    how = "unchanged" if len(fates.ranks(Fate.INTACT)) == total else "whole, in another form"
    if total == 1:
        return f"the only selected chunk is in the prompt {how}"
    return f"all {total} selected chunks are in the prompt {how}"


def _named(ranks: Sequence[int], chunks: Sequence[Chunk]) -> str:
    shown = [chunk_name(rank, chunks[rank - 1]) for rank in ranks[:_RULES_NAMING_ALL]]
    if len(ranks) > len(shown):
        shown.append(f"{len(ranks) - len(shown)} more")
    verb = "is" if len(ranks) == 1 else "are"
    joined = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{joined} {verb}"


def _lost_words(question: str | None, fates: Fates) -> Iterator[Measurement]:
    """Yield the share of the question's words that were selected but are not in the prompt."""
    if question is None:
        yield from all_not_applicable(("assembly.lost_words_share",), "no question")
        return
    weights = question_weights(question)
    before = WordIndex(chunk_text(chunk) for chunk in fates.chunks)
    after = WordIndex(
        " ".join(
            word for word in chunk_text(chunk).split() if survival.fate is not Fate.DROPPED
        ).removesuffix(survival.lost_text)
        for chunk, survival in zip(fates.chunks, fates.survivals, strict=True)
    )
    lost = max(0.0, coverage(weights, before) - coverage(weights, after))
    yield measured(
        "assembly.lost_words_share",
        lost,
        f"the missing text alone has {lost:.0%} of the question's words" if lost else "",
    )


def _without_chunks(prompt: str, selected: Sequence[Chunk]) -> str:
    """Return the prompt with a mark for each chunk, whose own headings are no slots."""
    for chunk in readable(selected):
        text = chunk.text.strip()
        if text in prompt:
            prompt = prompt.replace(text, _A_CHUNK)
        else:
            prompt = prompt.replace(f"\n{text.partition(chr(10))[0]}\n", f"\n{_A_CHUNK}\n")
    return prompt


def _blank_slots(prompt: str) -> Measurement:
    blanks = sum(
        len(pattern.findall(prompt))
        for pattern in (_BLANK_AFTER_HEADING, _BLANK_TAG, _UNFILLED, _BLANK_NUMBER)
    )
    return measured(
        "assembly.blank_slots",
        blanks,
        f"the prompt has {counted(blanks, 'blank context slot')}" if blanks else "",
    )

"""One LLM that states findings about runs whose references it knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from otel_raglog.checks.judge.prompting import fenced
from otel_raglog.errors import BadInput, Rejected, Unavailable
from otel_raglog.judge.client import Ask, JudgeClient
from otel_raglog.lab.judges.case import Case, parts_of
from otel_raglog.lab.judges.findings import Findings
from otel_raglog.lab.references.asking import ask_for, is_of_every_call, new_mark

_INSTRUCTIONS = Path(__file__).with_name("instructions.md")
_MOST_TOKENS = 4_000
_OTHERS = (
    "Two other examiners stated these findings, and differ on: {stages}. Either may be wrong, or "
    "both. Read the texts yourself and state findings of your own, for all stages."
)


@dataclass(frozen=True, slots=True)
class Judge:
    """An LLM by the name that it was given on the command line; at most so many seconds a call."""

    name: str
    client: JudgeClient
    timeout_seconds: float = 120


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge found; without findings, why not, or nothing where it was not asked."""

    judge: str
    findings: Findings | None
    failure: str | None = None


def opinion_of(judge: Judge, case: Case) -> Opinion:
    """Return what ``judge`` finds of ``case``.

    Raises:
        Rejected: the provider refuses key, account or model: it would refuse every run.
    """
    return _opinion(judge, case, _prompt(case, new_mark()))


def second_look(
    judge: Judge, case: Case, others: tuple[Findings, Findings], stages: str, random: Random
) -> Opinion:
    """Return what ``judge`` finds after it was shown two findings, unnamed and in random order.

    ``stages`` are those on which they differ.

    Raises:
        Rejected: see :func:`opinion_of`.
    """
    mark = new_mark()
    shown = list(others)
    random.shuffle(shown)
    parts = [
        fenced(f"findings_{number}", each.model_dump_json(), mark)
        for number, each in enumerate(shown, 1)
    ]
    told = "\n\n".join((_prompt(case, mark), _OTHERS.format(stages=stages), *parts))
    return _opinion(judge, case, told)


def _prompt(case: Case, mark: str) -> str:
    return "\n\n".join(fenced(name, text, mark) for name, text in parts_of(case))


def _opinion(judge: Judge, case: Case, prompt: str) -> Opinion:
    request = Ask(
        system=_INSTRUCTIONS.read_text(encoding="utf-8").strip(),
        prompt=prompt,
        schema_name="findings",
        schema=Findings.model_json_schema(),
        max_tokens=_MOST_TOKENS,
    )
    try:
        findings = ask_for(
            judge.client,
            request,
            Findings,
            timeout_seconds=judge.timeout_seconds,
            sound=case.check,
        )
    except (BadInput, Unavailable) as error:
        return Opinion(judge.name, None, str(error))
    except Rejected as error:
        if is_of_every_call(error):
            raise Rejected(f"{judge.name}: {error}", error.reason) from None
        return Opinion(judge.name, None, str(error))
    return Opinion(judge.name, case.about_its_stages(findings))

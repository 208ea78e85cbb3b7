"""Write ``docs/reference/conventions.md`` from the golden traces and the registry; ``--check`` compares."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "reference" / "conventions.md"
sys.path.insert(0, str(ROOT / "tests" / "support"))

from golden_conventions import FOLDER, expected_of, read_runs, traces  # noqa: E402

from otel_raglog.conventions.convention import KnownByScope  # noqa: E402
from otel_raglog.conventions.registry import CONVENTIONS  # noqa: E402
from otel_raglog.model import (  # noqa: E402
    AssemblyStep,
    Chunk,
    EmbedStep,
    GenerateStep,
    RerankStep,
    RetrieveStep,
    RewriteStep,
    Run,
    Stage,
    Step,
)

HEAD = """# Conventions: what is read, and what instrumentations record

This page is generated: `make conventions` runs the mapping over every golden trace and writes it; `make lint` fails when it is
out of date. The tables are what the code reads from traces of real applications, not what an instrumentation promises.

* **captured**: the stage's steps are there with everything that is judged.
* **partial**: the steps are there, without what is named, in all scenarios or in as many of them as stand behind it; checks that
  need it give no measurement.
* **seen in n of m**: the stage left spans in n of the m scenarios whose application has it.
* **not recorded**: the application has the stage, and no span of it was sent; its verdict is `unknown` or, where nothing
  hints at the stage at all, `absent`.
* **-**: the applications that were run have no such stage.

"""
RUN = """## Run

Applications that were run under the instrumentation (`make golden-traces`; traces and what a reader wrote down about them are in
`tests/golden/conventions/run`).

"""
REDUCED = """## Run, with less content

The same applications with content switched off, hidden or lost, and what is left then.

"""
DOCUMENTED = """## Documented only

What cannot run in our environment: traces built from the documented shape (`tests/golden/conventions/documented`).

"""
KEYS = """## Keys that are read

In order of precedence: of several vocabularies on one span the first wins, and the others fill what it leaves open. `N` is an
index; `event/attribute` is an attribute of a span event. Content that is not there: see *how to turn it on*.

"""


def lacks_of_chunks(chunks: Iterable[Chunk]) -> Iterator[str]:
    """Yield what the chunks of one step do not have."""
    known = list(chunks)
    if any(not chunk.text for chunk in known):
        yield "texts"
    if any(chunk.id is None for chunk in known):
        yield "ids"
    if any(chunk.score is None for chunk in known):
        yield "scores"


def lacks(step: Step) -> Iterator[str]:
    """Yield what a step does not say."""
    match step:
        case RewriteStep():
            yield from () if step.rewrites.usable else ("rewrites",)
        case EmbedStep():
            yield from () if step.texts.usable else ("text",)
            yield from () if step.model else ("model",)
        case RetrieveStep():
            yield from () if step.query.usable else ("query",)
            yield from () if step.chunks.usable else ("chunks",)
            yield from lacks_of_chunks(step.chunks.value or ())
        case RerankStep():
            yield from () if step.query.usable else ("query",)
            yield from () if step.candidates.usable else ("candidates",)
            yield from () if step.selected.usable else ("selected chunks",)
            yield from (
                word for word in lacks_of_chunks(step.selected.value or ()) if word != "ids"
            )
        case AssemblyStep():
            yield from () if step.prompt.usable and step.prompt.value else ("prompt",)
        case GenerateStep():
            yield from () if step.messages.usable else ("messages",)
            yield from () if step.answer.usable else ("answer",)
            yield from () if step.model else ("model",)
            yield from () if step.tokens.prompt is not None else ("tokens",)
            yield from () if step.finish_reason else ("finish reason",)


def cell(runs: list[tuple[list[str], list[Run]]], stage: Stage) -> str:
    """Return what is captured of a stage in the runs of applications that have it."""
    having = [found for application, found in runs if stage.value in application]
    if not having:
        return "-"
    seen = [found for found in having if any(run.steps(stage) for run in found)]
    if not seen:
        return "not recorded"
    missing: dict[str, int] = {}
    for found in seen:
        for word in dict.fromkeys(w for run in found for s in run.steps(stage) for w in lacks(s)):
            missing[word] = missing.get(word, 0) + 1
    words = [word + _share(count, len(seen)) for word, count in missing.items()]
    text = f"partial: no {', '.join(words)}" if words else "captured"
    return text if len(seen) == len(having) else f"{text}; seen in {len(seen)} of {len(having)}"


def _share(count: int, of: int) -> str:
    return "" if count == of else f" ({count} of {of})"


def table(folder: Path, *, reduced: bool = False) -> Iterator[str]:
    """Yield the lines of the table over the traces of a folder.

    With ``reduced`` over those in which content was switched off, hidden or lost, else over the
    others.
    """
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in traces(folder):
        framework, instrumentation = path.relative_to(folder).parts[:2]
        if bool(expected_of(path).get("reduced")) is reduced:
            groups.setdefault((framework, instrumentation), []).append(path)
    names = [stage.value for stage in Stage]
    yield f"| framework | instrumentation | scenarios | {' | '.join(names)} |"
    yield "|" + "---|" * (len(names) + 3)
    for (framework, instrumentation), paths in sorted(groups.items()):
        runs = [(expected_of(path)["application"], answering(path)) for path in paths]
        scenarios = ", ".join(map(scenario, paths))
        cells = " | ".join(cell(runs, stage) for stage in Stage)
        yield f"| {framework} | {instrumentation} | {scenarios} | {cells} |"


def answering(path: Path) -> list[Run]:
    """Return the runs of a trace without those of evaluators, whose steps are not the application's."""
    return [run for run in read_runs(path) if run.skip_reason != "evaluation"]


def scenario(path: Path) -> str:
    """Return the name of a scenario, with what reduces its content."""
    name = path.name.removesuffix(".otlp.jsonl")
    why = expected_of(path).get("reduced")
    return f"{name} ({why})" if why else name


def keys() -> Iterator[str]:
    """Yield the lines about the keys of each convention."""
    for convention in CONVENTIONS:
        yield f"### {convention.title} (`{convention.name}`)"
        yield ""
        if convention.remedy:
            yield f"*How to turn it on:* {convention.remedy}."
            yield ""
        if isinstance(convention, KnownByScope):
            names = ", ".join(f"`{name}`" for name in convention.sender_scopes)
            yield f"*Spans with GenAI keys alone are known by their scope:* {names}."
            yield ""
        yield "| role | fact | keys |"
        yield "|---|---|---|"
        for role, wanted in convention.wanted.items():
            for item in wanted:
                words = ", ".join(f"`{key}`" for key in item.keys)
                note = f"{words} ({item.note})" if words and item.note else words or item.note
                yield f"| {role.value} | {item.fact.replace('_', ' ')} | {note} |"
        yield ""


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, RUN, "\n".join(table(FOLDER / "run")), "\n\n"]
    parts += [REDUCED, "\n".join(table(FOLDER / "run", reduced=True)), "\n\n"]
    if traces(FOLDER / "documented"):
        parts += [DOCUMENTED, "\n".join(table(FOLDER / "documented")), "\n\n"]
    return "".join([*parts, KEYS, "\n".join(keys())]).rstrip() + "\n"


def main() -> int:
    """Write the page, or compare."""
    text = page()
    if "--check" not in sys.argv[1:]:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write("docs/reference/conventions.md is out of date: run make conventions\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""What became of the selected chunks in the prompt."""

from dataclasses import replace

import pytest
from handbook_runs import HANDBOOK, QUESTION, make_run

from otel_raglog.checks.rules.assembly import AssemblyRules, context_limit, context_limits
from otel_raglog.model import Chunk, Measurement, Run, present


def found(run: Run) -> dict[str, Measurement]:
    return {m.name.removeprefix("assembly."): m for m in AssemblyRules().measure(run)}


def test_whole_chunks_are_said_to_be_unchanged() -> None:
    """The good case has words of its own."""
    intact = found(make_run())["intact_share"]
    assert intact.value == 1
    assert intact.evidence == "all 3 selected chunks are in the prompt unchanged"


def test_a_dropped_chunk_is_named_by_rank_and_id() -> None:
    """And the question's words that went with it are counted."""
    measurements = found(make_run(in_prompt=["remote", "expenses"]))
    assert measurements["dropped"].value == 1
    assert measurements["dropped"].evidence == "chunk 1 (vacation) is not in the prompt"
    lost = measurements["lost_words_share"].value
    assert lost is not None
    assert lost > 0.3
    assert found(make_run())["lost_words_share"].value == 0


def test_a_cut_chunk_is_truncated() -> None:
    """Its beginning is in the prompt, its end is not."""
    prompt = f"Context:\n{HANDBOOK['vacation'][:60]}\n\nQuestion: {QUESTION}"
    assert found(make_run(retrieved=["vacation"], prompt=prompt))["truncated"].value == 1
    assert found(make_run(retrieved=["vacation"]))["truncated"].value == 0


@pytest.mark.parametrize(
    "prompt",
    [
        f"Context:\n\n\nQuestion: {QUESTION}",
        f"## Context:\nNone\n\n## Question: {QUESTION}",
        f"<context>\n</context>\n{QUESTION}",
        f"<documents></documents><question>{QUESTION}</question>",
        f"Context: <context></context>\n{QUESTION}",
        f"Answer from this: {{context}}\n{QUESTION}",
        f"Context:\n[1]\n[2]\n\nQuestion: {QUESTION}",
    ],
)
def test_blank_slots(prompt: str) -> None:
    """Templates rendered without their context."""
    value = found(make_run(prompt=prompt))["blank_slots"].value
    assert value is not None
    assert value >= 1
    assert found(make_run())["blank_slots"].value == 0


@pytest.mark.parametrize(
    "head",
    ["Answer from the text inside the <context></context> tags.", "Keep to <context></context> ."],
)
def test_tags_that_an_instruction_names(head: str) -> None:
    """They are no slots: the filled one follows."""
    prompt = f"{head}\n<context>\n{HANDBOOK['vacation']}\n</context>\n{QUESTION}"
    assert found(make_run(retrieved=["vacation"], prompt=prompt))["blank_slots"].value == 0


def test_a_chunk_that_begins_as_a_slot_ends() -> None:
    """Of questions and answers, right below the heading: the slot holds it."""
    run = make_run(retrieved=["vacation"])
    (step,) = run.retrievers
    text = f"Question: {QUESTION}\nAnswer: {HANDBOOK['vacation']}"
    chunks = (replace(step.chunks.value[0], text=text),)
    prompt = f"Context:\n{text}\n\nQuestion: {QUESTION}"
    whole = replace(
        make_run(retrieved=["vacation"], prompt=prompt),
        retrievers=(replace(step, chunks=present(chunks)),),
    )
    selected = tuple(replace(s, selected=present(chunks)) for s in whole.assemblies)
    assert found(replace(whole, assemblies=selected))["blank_slots"].value == 0


def test_a_blank_slot_after_empty_retrieval_is_not_the_assemblys() -> None:
    """There was nothing to put there."""
    run = make_run(retrieved=[], prompt=f"Context:\n\nQuestion: {QUESTION}")
    assert found(run)["blank_slots"].value is None


def test_the_budget_is_a_share_of_the_models_window() -> None:
    """Measured only for models whose window is known."""
    assert found(make_run(model="gpt-4", prompt_tokens=4096))["budget_ratio"].value == 0.5
    assert found(make_run(model="my-model", prompt_tokens=4096))["budget_ratio"].value is None


def test_the_longest_prefix_of_a_model_decides() -> None:
    """Providers in front are ignored."""
    limits = context_limits()
    assert context_limit("openai/gpt-4o-mini-2024", limits) == limits["gpt-4o"]
    assert context_limit("gpt-4-0613", limits) == limits["gpt-4"]
    assert context_limit(None, limits) is None


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "prompt",
    [
        "Context:" + " " * 50_000 + "x",
        "Context:\n" + " " * 50_000 + "x",
        "Context:" + "\n" * 50_000 + "x",
        "[1]" + " " * 50_000 + "x",
        "[1]" + "\n" * 50_000 + "x",
        "x" + "\n" * 50_000,
        ">" * 50_000,
        "{" * 50_000,
        "<context>" + " " * 50_000,
    ],
    ids=range(9),
)
def test_no_prompt_takes_long(prompt: str) -> None:
    """Work grows with its length, no faster."""
    assert found(make_run(prompt=prompt))["blank_slots"].value is not None


@pytest.mark.timeout(5)
def test_chunks_of_one_letter_do_not_let_the_prompt_grow() -> None:
    """The mark that stands for one holds none of another."""
    chunks = tuple(Chunk(letter) for letter in "achunk" * 10)
    run = make_run(prompt="each aunt\nContext:\n\nQuestion: ?")
    step = replace(run.assemblies[0], selected=present(chunks))
    assert found(replace(run, assemblies=(step,)))["blank_slots"].value is not None

"""The recent runs: how many, how large and how old they may be, and what is kept of each."""

from dataclasses import replace

import pytest
from kept_runs import follow_up, kept, report, store

from otel_raglog.clock import ManualClock
from otel_raglog.model import FaultType, Message, RunVerdict, Stage, StageVerdict, Tier, present
from otel_raglog.report.json_report import to_json

RETRIEVER = {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}


def numbers(runs):
    """Return the numbers of the kept runs, the newest first."""
    return [int(run.run_id, 16) for run in runs.newest_first()]


@pytest.mark.parametrize("content", [True, False])
def test_the_report_is_kept_as_its_stable_json(content):
    """Compressed, and word for word what `analyze` prints."""
    made = report(7, RETRIEVER)
    assert kept(made, content=content).report() == to_json(made, content=content)


def test_without_content_no_text_of_the_run_is_anywhere():
    """Neither in the JSON nor beside it."""
    made = report(7, question=present("Where is the Brightwater?"), answer=present("In dock."))
    found = kept(made, content=False)
    shown = f"{found} {found.report()}"
    assert "Brightwater" not in shown
    assert "ferry" not in shown
    assert "In dock" not in shown


def test_what_is_searched_and_counted_is_beside_it():
    """So that a list does not unpack what it does not show."""
    found = kept(report(7, RETRIEVER, service="desk", session_id="s1", turn=3))
    assert found.trace_ids == ((7).to_bytes(16, "big").hex(),)
    assert (found.service, found.session_id, found.turn) == ("desk", "s1", 3)
    assert found.verdict is RunVerdict.FAULTY
    assert found.stages[Stage.RETRIEVER].fault_types == ("no_relevant_chunk",)
    assert found.stages[Stage.RERANKER].verdict is StageVerdict.ABSENT
    assert found.first_faulty is Stage.RETRIEVER
    assert found.judged_unix_nano == 1_000 * 10**9


def test_a_joined_run_is_found_by_each_of_its_traces():
    """Each trace of it is one that somebody may look at."""
    traces = (b"\x01" * 16, b"\x02" * 16)
    found = kept(report(1, trace_id=traces[0], joined_traces=traces))
    assert found.trace_ids == tuple(trace.hex() for trace in traces)


def test_what_is_redacted_is_not_kept():
    """Neither in the report nor in what a session tells beside it."""
    said = (("user", "Is the Brightwater in dock?"), ("assistant", "Yes."))
    made = follow_up(1, "When does it leave?", "departure times", said)
    assert "Brightwater" in str(kept(made))
    view = replace(
        made.run,
        service="[redacted]",
        session_id="[redacted]",
        history=present(
            (Message("user", "Is the [redacted] in dock?"), Message("assistant", "Yes."))
        ),
    )
    found = kept(replace(made, run=replace(made.run, view=view)))
    assert "Brightwater" not in f"{found} {found.report()}"
    assert (found.service, found.session_id) == ("[redacted]", "[redacted]")


def test_texts_that_are_no_unicode_are_kept_all_the_same():
    """Half a surrogate pair comes from a cut text."""
    found = kept(report(1, question=present("cut \ud83d")))
    assert found.report()["question"] == "cut \ud83d"


def test_the_newest_come_first_and_the_oldest_go():
    """By number."""
    runs = store(max_runs=3)
    for number in range(1, 6):
        runs.add(kept(report(number)))
    assert numbers(runs) == [5, 4, 3]
    assert len(runs) == 3


def test_bytes_are_bounded():
    """A run that is larger than all that may be kept goes at once, with those before it."""
    size = kept(report(1)).size_bytes
    runs = store(max_bytes=int(2.5 * size))
    for number in (1, 2, 3):
        runs.add(kept(report(number)))
    assert numbers(runs) == [3, 2]
    assert runs.size_bytes <= 2.5 * size
    noise = "".join(map(chr, range(0x100, 0x8000)))
    runs.add(kept(report(4, question=present(noise))))
    assert numbers(runs) == []
    assert runs.size_bytes == 0


def test_a_long_id_counts_as_much_as_a_report():
    """Ids come from outside."""
    small, large = kept(report(1)), kept(report(1, session_id="s" * 100_000))
    assert large.size_bytes > small.size_bytes + 99_000


def test_runs_expire_by_age_even_if_nothing_comes():
    """What is too old is not shown, and its memory is free."""
    clock = ManualClock(1_000.0)
    runs = store(clock, max_age_seconds=60)
    runs.add(kept(report(1), clock))
    clock.advance(50)
    runs.add(kept(report(2), clock))
    clock.advance(11)
    assert numbers(runs) == [2]
    clock.advance(60)
    assert numbers(runs) == []
    assert runs.size_bytes == 0


def test_a_later_verdict_replaces_the_earlier_in_its_place():
    """An LLM's answer: one run, one report, where it was, and no older or younger for it."""
    clock = ManualClock(1_000.0)
    runs = store(clock, max_age_seconds=60)
    for number in (1, 2, 3):
        runs.add(kept(report(number), clock))
    clock.advance(50)
    runs.add(kept(replace(report(2, RETRIEVER), tier=Tier.LLM), clock))
    assert numbers(runs) == [3, 2, 1]
    (second,) = runs.newest_first(lambda run: run.verdict is RunVerdict.FAULTY)
    assert second.report()["tier"] == "llm"
    assert runs.size_bytes == sum(run.size_bytes for run in runs.newest_first())
    clock.advance(11)
    assert numbers(runs) == []


def test_a_verdict_that_comes_after_its_run_has_gone_is_new():
    """It is worth showing."""
    runs = store(max_runs=1)
    for number in (1, 2, 1):
        runs.add(kept(report(number)))
    assert numbers(runs) == [1]

"""A conversation's timeline, and the faults that only several turns show."""

from dataclasses import replace

from kept_runs import follow_up, kept, store

from otel_raglog.checks.check import measured
from otel_raglog.model import FaultType, Stage
from otel_raglog.web.api.sessions import timeline

LOST = {Stage.REWRITER: FaultType.DROPS_CONSTRAINT}
EMPTY = {Stage.RETRIEVER: FaultType.EMPTY_RESULT}
FIRST = ("user", "Where may dogs stay on the Aurelia?"), ("assistant", "On deck 4.")


def session(*reports, content=True):
    """Return the timeline of reports that came in this order."""
    runs = store()
    for made in reports:
        runs.add(kept(made, content=content))
    return timeline("s1", runs.newest_first())


def talk(faulty=None):
    """Return two turns, the second of which leans on the first, and loses what it leans on."""
    first = follow_up(1, "Where may dogs stay on the Aurelia?", None)
    second = follow_up(2, "And what do they pay there?", "dog prices", FIRST, faulty, turn=2)
    lost = measured("rewriter.words_dropped_share", 0.5, 'the rewrite leaves out "there"', step=0)
    return first, replace(second, measurements=(lost,))


def test_the_turns_are_told_in_order_with_their_texts():
    """Whatever order they came in."""
    first, second = talk()
    found = session(second, first)
    assert [turn["question"] for turn in found["turns"]] == [
        "Where may dogs stay on the Aurelia?",
        "And what do they pay there?",
    ]
    assert [turn["rewrites"] for turn in found["turns"]] == [[], ["dog prices"]]
    assert [turn["answer"] for turn in found["turns"]] == ["It leaves at 22:15."] * 2
    assert [turn["verdict"] for turn in found["turns"]] == ["ok", "ok"]
    assert (found["session_id"], found["runs"], found["faulty_runs"]) == ("s1", 2, 0)
    assert found["services"] == ["shop"]
    assert found["faults_over_turns"] == []


def test_a_rewrite_that_loses_what_the_question_leans_on():
    """It is shown with what was lost, as far as the names of the talk tell, and what was measured."""
    (fault,) = session(*talk(LOST))["faults_over_turns"]
    assert fault["kind"] == "referent_lost"
    assert fault["what"].endswith("no rewrite names what they were about: Aurelia")
    assert (fault["stage"], fault["fault_types"]) == ("rewriter", ["drops_constraint"])
    assert (fault["positions"], fault["run_ids"]) == ([2], [(2).to_bytes(16, "big").hex()])
    assert fault["measured"] == [
        {"name": "rewriter.words_dropped_share", "evidence": 'the rewrite leaves out "there"'}
    ]


def test_it_is_seen_without_content_too():
    """What it was is not said then."""
    found = session(*talk(LOST), content=False)
    (fault,) = found["faults_over_turns"]
    assert fault["kind"] == "referent_lost"
    assert "Aurelia" not in str(found)
    second = found["turns"][1]
    assert (second["question"], second["rewrites"], second["answer"]) == (None, None, None)
    assert second["referent"] == {
        "leans_on_earlier_turns": True,
        "named_before": 1,
        "kept_by_rewrites": 0,
        "not_kept": None,
        "lost": True,
    }


def test_a_sound_rewrite_is_no_fault_though_it_names_nothing():
    """Words may carry what was meant; the names are only told."""
    found = session(*talk())
    assert found["turns"][1]["referent"]["lost"] is True
    assert found["faults_over_turns"] == []


def test_another_fault_of_a_follow_ups_rewrite_is_told_as_such():
    """It keeps the ship and changes what is asked."""
    first, _ = talk()
    other = follow_up(2, "And what do they pay there?", "Aurelia deck plan", FIRST, LOST)
    (fault,) = session(first, other)["faults_over_turns"]
    assert fault["kind"] == "follow_up_altered"


def test_a_faulty_rewrite_of_the_first_question_is_no_fault_over_turns():
    """It is one of its own turn, and there."""
    found = session(follow_up(1, "Where is the Aurelia?", "ships", faulty=LOST))
    assert found["faults_over_turns"] == []
    assert found["turns"][0]["faults"]["rewriter"]["fault_types"] == ["drops_constraint"]


def test_a_fault_that_lasts_is_told_once_with_its_turns():
    """Each stretch of at least two; a single one is of its turn alone."""
    faults = [EMPTY, EMPTY, None, EMPTY, None, EMPTY, EMPTY, EMPTY]
    reports = [follow_up(n, f"Question {n}?", None, faulty=f) for n, f in enumerate(faults, 1)]
    found = session(*reports)["faults_over_turns"]
    assert [fault["kind"] for fault in found] == ["lasting", "lasting"]
    assert [fault["positions"] for fault in found] == [[1, 2], [6, 7, 8]]
    assert found[1]["what"] == "retriever: empty_result in 3 turns in a row"


def test_different_faults_of_one_stage_do_not_last():
    """Nor do faults of different stages."""
    found = session(
        follow_up(1, "One?", None, faulty=EMPTY),
        follow_up(2, "Two?", None, faulty={Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}),
        follow_up(3, "Three?", None, faulty={Stage.GENERATOR: FaultType.INCOMPLETE}),
    )
    assert found["faults_over_turns"] == []


def test_turns_are_counted_from_one_that_is_told():
    """The first turn has no history; those that have gone are counted."""
    first, second = talk()
    assert [turn["turn"] for turn in session(first, second)["turns"]] == [1, 2]
    late = session(replace(second, run=replace(second.run, turn=7)))
    assert [(turn["position"], turn["turn"]) for turn in late["turns"]] == [(1, 7)]
    untold = session(first, replace(second, run=replace(second.run, turn=None)))
    assert [turn["turn"] for turn in untold["turns"]] == [None, None]


def test_turns_that_contradict_each_other_are_told_as_they_are():
    """In the order of time then."""
    found = session(
        follow_up(1, "One?", None, turn=3),
        follow_up(2, "Two?", None, turn=3),
        follow_up(3, "Three?", None),
    )
    assert [turn["turn"] for turn in found["turns"]] == [3, 3, None]


def test_runs_without_times_keep_the_order_in_which_they_came():
    """Nothing else tells."""
    reports = [follow_up(n, f"Question {n}?", None) for n in (1, 2, 3)]
    bare = [replace(r, run=replace(r.run, retrievers=(), generators=())) for r in reports]
    found = session(*bare)
    assert [turn["question"] for turn in found["turns"]] == [f"Question {n}?" for n in (1, 2, 3)]

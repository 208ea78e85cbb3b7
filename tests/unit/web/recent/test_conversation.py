"""What a turn tells: what its rewrite lost of the talk before."""

from dataclasses import replace

from kept_runs import follow_up

from otel_raglog.checks.check import measured
from otel_raglog.model import FaultType, Stage
from otel_raglog.web.recent.conversation import told_of

TALK = (
    ("user", "Where may dogs stay on the Aurelia?"),
    ("assistant", "On deck 4 of the Aurelia."),
)
LOST = {Stage.REWRITER: FaultType.DROPS_CONSTRAINT}


def referent(question, rewrite, history=TALK, *, content=True, **run):
    """Return what a follow-up leaves to the talk."""
    return told_of(follow_up(2, question, rewrite, history, **run), content=content).referent


def test_a_rewrite_that_names_what_the_question_leans_on_keeps_it():
    """The pronoun is replaced by what it stands for."""
    found = referent("And what does it cost there?", "What does a dog cost on the Aurelia?")
    assert (found.leans, found.named, found.kept, found.lost) == (True, 1, 1, False)
    assert found.names == ()


def test_a_rewrite_that_names_nothing_of_it_loses_it():
    """And says what was lost."""
    found = referent("And what does it cost there?", "What does it cost?")
    assert found.lost
    assert found.names == ("Aurelia",)


def test_without_content_it_is_counted_and_not_named():
    """A name is text of the run."""
    found = referent("And what does it cost there?", "What does it cost?", content=False)
    assert found.lost
    assert found.named == 1
    assert found.names == ()


def test_a_question_that_says_all_itself_loses_nothing():
    """It may leave the talk's names behind."""
    found = referent("What does a bicycle cost?", "price of a bicycle")
    assert (found.leans, found.named, found.lost) == (False, 1, False)


def test_a_name_that_the_question_repeats_is_not_left_to_the_talk():
    """Whether the rewrite drops it is measured otherwise."""
    found = referent("And cats on the Aurelia, do they pay?", "cats price")
    assert (found.named, found.lost) == (0, False)


def test_only_the_last_turns_count_and_the_latest_come_first():
    """A pronoun leans on what was said last."""
    talk = (("user", "What is the Tarrow?"), ("assistant", "A ship."), *TALK)
    talk += (("user", "And Brightwater?"), ("assistant", "No dogs there."))
    found = referent("Is it new?", "Is it new?", talk)
    assert found.names == ("Brightwater", "Aurelia")


def test_without_a_history_the_rewriters_input_tells():
    """Some frameworks record the talk only there."""
    found = follow_up(2, "Is it new?", "Is it new?")
    assert told_of(found, content=True).referent is None
    (step,) = found.run.rewriters
    talk = replace(step.input, value="user: Where is the Aurelia?\nuser: Is it new?")
    run = replace(found.run, rewriters=(replace(step, input=talk),))
    assert told_of(replace(found, run=run), content=True).referent.names == ("Aurelia",)


def test_a_run_without_rewrites_or_talk_has_none():
    """There is nothing to compare."""
    assert referent("Is it new?", None) is None
    assert referent("Is it new?", "Is it new?", ()) is None


def test_what_was_measured_of_a_faulty_rewriter_is_kept_in_words():
    """Of others it would only be noise; each finding once."""
    names = measured("rewriter.names_dropped", 1, 'the rewrite drops "Aurelia"', step=0)
    silent = measured("rewriter.numbers_dropped", 0, "", step=0)
    other = measured("retriever.empty", 1, "nothing was retrieved")
    made = follow_up(2, "Is it new?", "Is it new?", TALK, LOST)
    made = replace(made, measurements=(names, names, silent, other))
    assert told_of(made, content=False).said == (
        ("rewriter.names_dropped", 'the rewrite drops "Aurelia"'),
    )
    sound = replace(made, verdicts=follow_up(2, "Is it new?", "x", TALK).verdicts)
    assert told_of(sound, content=False).said == ()

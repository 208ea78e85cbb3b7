"""What calls of a model were for, where no step of the run tells."""

from __future__ import annotations

from bridge_calls import Pipeline

from otel_raglog_proxy_bridge.roles import other_roles
from otel_raglog_proxy_bridge.runs import Grouper

LEAVE = "Annual leave is 27 days a year for everybody."


def run_of(*calls):
    grouper = Grouper()
    for call in calls:
        grouper.add(call)
    (run,) = grouper.flush()
    return run


def test_a_model_that_was_shown_what_was_found_answers():
    """So does a try that failed; what stands before the search is not told."""
    app = Pipeline()
    run = run_of(
        app.chat("Rewrite: leave days please", "annual leave days"),
        app.embed("annual leave days"),
        app.search("annual leave days", LEAVE),
        app.chat(f"{LEAVE} leave days please", None),
        app.chat(f"{LEAVE} leave days please", "27"),
    )
    assert other_roles(run, {"c5": "generator"}) == {"c4": "generator"}


def test_a_model_that_is_told_what_a_rewriter_was_told_rewrites():
    """Also when it finds nothing more to ask."""
    app = Pipeline()
    told = "Say what to search for next, or None. Question: leave days please"
    run = run_of(
        app.chat(told, "annual leave days"),
        app.embed("annual leave days"),
        app.search("annual leave days", LEAVE),
        app.chat(f"{told} annual leave days", "None"),
    )
    assert other_roles(run, {"c1": "rewriter"}) == {"c4": "rewriter"}

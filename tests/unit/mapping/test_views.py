"""What may be shown of a run is the run that its redacted spans map to."""

from dataclasses import replace

from samples import make_run

from otel_raglog.mapping.views import with_views
from otel_raglog.model import FieldStatus, present


def test_each_run_knows_its_view():
    """And is itself as it was."""
    runs = [replace(make_run(), run_id="r-1"), replace(make_run(), run_id="r-2", top_span_id=b"2")]
    seen = [replace(run, question=present("[redacted]")) for run in runs]
    viewed = list(with_views(runs, seen))
    assert [run.shown for run in viewed] == seen
    assert [replace(run, view=None) for run in viewed] == runs


def test_a_run_that_is_not_found_again_shows_nothing():
    """Two questions that look the same redacted are one run then: neither is shown as the other."""
    runs = [replace(make_run(), run_id="r-1"), replace(make_run(), run_id="r-2", top_span_id=b"2")]
    for run in with_views(runs, runs[:1]):
        assert run.shown.skip_reason == "redacted"
        assert run.shown.question.status is FieldStatus.REDACTED
        assert run.shown.run_id == run.run_id
        assert run.question.value not in str(run.shown)
        assert run.answer.value not in str(run.shown)


def test_a_run_without_redaction_is_shown_as_it_is():
    """There is no second one."""
    assert make_run().shown == make_run()

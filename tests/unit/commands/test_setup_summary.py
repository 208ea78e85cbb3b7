"""What `explain --setup` prints of services."""

import io
from dataclasses import replace

from rich.console import Console

from otel_raglog.commands.setup_summary import print_setup
from otel_raglog.explaining.setup import Finding, ServiceSetup, StageSetup
from otel_raglog.model import Stage

RETRIEVER = StageSetup(
    stage=Stage.RETRIEVER,
    captured=3,
    partly=1,
    missing=0,
    absent=0,
    of=4,
    span_names=(("search [docs]", 3), ("a", 2), ("b", 1), ("c", 1)),
    conventions=("OpenInference",),
)
EMBEDDER = StageSetup(
    stage=Stage.EMBEDDER,
    captured=0,
    partly=0,
    missing=4,
    absent=0,
    of=4,
    span_names=(),
    conventions=(),
    why="no span",
    remedy="instrument it",
)
SERVICE = ServiceSetup(
    service="shop",
    traces=1,
    runs=4,
    counted=4,
    judgeable=3,
    conventions=("OpenInference",),
    stages=(EMBEDDER, RETRIEVER),
    findings=(Finding("no_session", "runs without\x1b a session id", 4, "set one", ("ab12",)),),
)


def printed(*services):
    """Return what is printed."""
    stream = io.StringIO()
    print_setup(services, Console(file=stream, width=400, highlight=False))
    return stream.getvalue()


def test_each_stage_is_a_row_with_its_share_and_spans():
    """What is not captured has its reason and what to do below."""
    text = printed(SERVICE)
    assert "service shop: 1 trace, 4 runs, 3 of them can be judged" in text
    assert "3 of 4 (75%)" in text
    assert "search [docs], a, b and 1 more" in text
    assert "embedder: no span. To do: instrument it" in text


def test_findings_say_how_often_what_to_do_and_where():
    """Without control characters."""
    text = printed(SERVICE)
    assert "no_session (4): runs without\ufffd a session id. To do: set one (--trace ab12)" in text


def test_a_service_of_which_nothing_counts_has_no_table():
    """A table of zeros tells nothing."""
    text = printed(replace(SERVICE, counted=0))
    assert "captured" not in text
    assert "no_session" in text


def test_many_findings_are_limited():
    """The first ones are the most telling."""
    text = printed(replace(SERVICE, findings=SERVICE.findings * 50))
    assert text.count("no_session") == 30
    assert "… 20 more" in text


def test_no_service_at_all_is_said():
    """Nothing printed would look like a bug."""
    assert "No span in these files may belong to a run." in printed()

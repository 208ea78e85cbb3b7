"""The demo as a user runs it: verdicts beside the truth, metrics, and nothing left behind."""

import os
import subprocess
import sys
from pathlib import Path

from otel_raglog.model import Stage


def processes(folder):
    """Return the command lines of processes that were started with files of ``folder``."""
    lines = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if str(folder) in line:
            lines.add(line)
    return lines


def test_the_demo_prints_verdicts_and_metrics_and_leaves_nothing(tmp_path):
    """A part of the bundled traces through a real service, over gRPC."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_raglog.cli", "demo", "--runs", "8"],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for stage in Stage:
        assert stage.value in done.stdout
    assert "raglog_runs_total{" in done.stdout
    assert "raglog_spans_pending 0.0" in done.stdout
    assert "faulty runs were flagged" in done.stdout
    assert processes(tmp_path) == set()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_set_of_traces_is_named(tmp_path):
    """The option is answered with a sentence."""
    done = subprocess.run(
        [sys.executable, "-m", "otel_raglog.cli", "demo", "--traces", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 2
    assert "cannot read" in done.stderr
    assert "Traceback" not in done.stderr

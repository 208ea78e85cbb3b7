"""An application with attributes of its own, through the commands and the running service."""

import json
import subprocess
import sys
from pathlib import Path

import yaml
from services import collect, running_sink, serving

from otel_raglog.commands.reading import read_files
from otel_raglog.receive.span import decode_span

FOLDER = Path(__file__).parents[1] / "golden" / "custom"
RULES, TRACE = FOLDER / "help-desk.yaml", FOLDER / "help-desk.otlp.json"


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "otel_raglog.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_analyze_takes_the_rules_of_a_file():
    """Both turns are judged, and counted by the history of the second."""
    done = run("analyze", TRACE, "--config", RULES, "--format", "json")
    assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)
    assert [report["verdict"] for report in reports] == ["ok", "ok"]
    rewriter = reports[1]["stages"]["rewriter"]
    assert (rewriter["verdict"], rewriter["fault_types"]) == ("ok", [])


def test_explain_names_turn_rule_and_place():
    """What was read where, and why a span is a rewriter."""
    done = run("explain", TRACE, "-c", RULES)
    assert done.returncode == 0, done.stderr
    for text in ("chat-77", "app.hits", "candidate/*", "the configuration calls a rewriter"):
        assert text in done.stdout


def test_a_wrong_rule_is_one_line(tmp_path):
    """It names the option and the place in the path."""
    path = tmp_path / "raglog.yaml"
    path.write_text(RULES.read_text().replace("body.q", "body..q"))
    for command in (("config", "check", path), ("analyze", TRACE, "-c", path)):
        done = run(*command)
        assert done.returncode == 2
        assert "conventions.custom.0.question.0.path: 'body..q'" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_service_holds_and_judges_what_rules_are_about(tmp_path):
    """Verdicts stand on the application's own spans; a turn is only what one trace tells."""
    spans = [span for batch in read_files([TRACE]).batches for span in batch.spans]
    rules = yaml.safe_load(RULES.read_text())["conventions"]
    with (
        running_sink() as sink,
        serving(tmp_path, {"sink": sink.endpoint}, conventions=rules) as served,
    ):
        served.send(spans)
        received = [decode_span(span) for span in collect(sink, len(spans))]
        assert served.metric("raglog_stage_verdicts_total", stage="reranker", verdict="ok") == 1
    by_id = {span.span_id.hex(): span.attributes for span in received}
    assert by_id["1000000000000003"]["raglog.stage"] == "retriever"
    assert by_id["2000000000000002"]["raglog.stage"] == "rewriter"
    assert by_id["2000000000000001"]["raglog.session.turn"] == 2
    assert by_id["1000000000000001"]["raglog.session.id"] == "chat-77"
    assert "raglog.session.turn" not in by_id["1000000000000001"]
    assert not any(key.startswith("raglog.") for key in by_id["1000000000000002"])

"""What the recording and alerting rules promise, and what promtool says of them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from monitoring import PROMETHEUS, RULE_FILES, alerts, known_names, problems_of, rules

RUNBOOK = Path(__file__).resolve().parent.parent.parent / "docs" / "prometheus.md"
UNIT_TESTS = sorted((PROMETHEUS / "tests").glob("*.yaml"))
ALERT_NAMES = [alert["alert"] for alert in alerts()]
_SHOWN = re.compile(r"\$labels\.(\w+)")


def names(rule):
    return rule.get("record") or rule["alert"]


@pytest.mark.parametrize("rule", rules(), ids=names)
def test_a_rule_uses_metrics_and_labels_that_exist(rule):
    """Names come from the code's own registries, and from the rules that record."""
    assert not problems_of(rule["expr"], known_names())


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("rate(raglog_run_total[5m])", "no metric raglog_run_total"),
        ("rate(raglog_runs[5m])", "no metric raglog_runs"),
        ("raglog_stage_fault_probability", "no metric raglog_stage_fault_probability"),
        ("service:raglog_nothing:increase1h > 0", "no metric service:raglog_nothing:increase1h"),
        ('raglog_runs_total{stage="x"}', "raglog_runs_total has no label stage"),
        ("sum by (stage) (raglog_runs_total)", "nothing has a label stage"),
    ],
)
def test_unknown_names_are_found(query, problem):
    """A counter without _total, a histogram without _bucket, a label of another metric."""
    assert problems_of(query, known_names()) == [problem]


@pytest.mark.parametrize("alert", alerts(), ids=names)
def test_an_alert_says_what_to_look_at(alert):
    """A severity, a sentence, what to look at, and a section of the runbook."""
    assert alert["labels"]["severity"] in {"critical", "warning"}
    notes = alert["annotations"]
    assert notes["summary"]
    assert "Look at" in notes["description"]
    headings = re.findall(r"^### (\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert alert["alert"] in headings
    assert notes["runbook"] == f"docs/prometheus.md#{alert['alert'].lower()}"


def test_the_runbook_has_no_alert_that_is_gone():
    """Its sections are the alerts."""
    headings = re.findall(r"^### (Raglog\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(ALERT_NAMES)


def test_alerts_on_stages_name_service_and_stage():
    """In their labels, for routing, and in their words, for people."""
    (stages,) = (
        group
        for file in RULE_FILES
        for group in yaml.safe_load(file.read_text())["groups"]
        if group["name"] == "raglog-stages"
    )
    assert len(stages["rules"]) == 7
    for rule in stages["rules"]:
        words = rule["annotations"]["summary"] + rule["annotations"]["description"]
        assert "$labels.service" in words
        stage = rule["labels"].get("stage")
        assert f"stage {stage}" in words if stage else "$labels.stage" in words


@pytest.mark.parametrize("name", ALERT_NAMES)
def test_an_alert_has_unit_tests_for_firing_and_for_staying_quiet(name):
    """Run by promtool, below."""
    expected = [
        (bool(check["exp_samples"]), check["exp_samples"])
        for file in UNIT_TESTS
        for test in yaml.safe_load(file.read_text())["tests"]
        for check in test["promql_expr_test"]
        if f'alertname="{name}"' in check["expr"]
    ]
    assert {fires for fires, _ in expected} == {True, False}
    (alert,) = (rule for rule in alerts() if rule["alert"] == name)
    shown = set(_SHOWN.findall(" ".join(alert["annotations"].values())))
    for fires, samples in expected:
        for sample in samples if fires else ():
            assert shown <= set(re.findall(r"(\w+)=", sample["labels"]))


@pytest.fixture
def promtool():
    """Prometheus' own checker, or a skip."""
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("promtool is not installed: `make e2e` installs it where it can")
    return path


def test_promtool_takes_rules_and_configuration(promtool):
    """``promtool check``."""
    for command in (["check", "rules", *map(str, RULE_FILES)], ["check", "config"]):
        files = [] if "rules" in command else [str(PROMETHEUS / "prometheus.yaml")]
        done = subprocess.run(
            [promtool, *command, *files], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(600)
@pytest.mark.parametrize("file", UNIT_TESTS, ids=lambda file: file.stem)
def test_alerts_fire_and_stay_quiet_as_their_unit_tests_say(promtool, file):
    """``promtool test rules``."""
    done = subprocess.run(
        [promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_alertmanager_takes_its_configuration():
    """``amtool check-config``."""
    amtool = shutil.which("amtool")
    if amtool is None:
        pytest.skip("amtool is not installed: `make e2e` installs it where it can")
    file = str(PROMETHEUS / "alertmanager.yaml")
    done = subprocess.run([amtool, "check-config", file], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr

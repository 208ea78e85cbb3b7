"""What the Grafana dashboards promise. Whether Grafana draws them is not tested: it is not here."""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from monitoring import GRAFANA, dashboards, known_names, panel_queries, problems_of
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from samples import make_report

from otel_raglog.model import FaultType, Measurement, Stage
from otel_raglog.telemetry import CONTEXT_UTILIZATION, PROMPT_BUDGET, WORDS_UNSUPPORTED, RunMetrics

ROOT = Path(__file__).resolve().parent.parent.parent
CORE_PANELS = {"row", "timeseries", "stat", "bargauge", "heatmap"}
BUILT_IN = {"__range", "__rate_interval", "__from", "__to"}
QUERIES = list(panel_queries())


@pytest.mark.parametrize(
    ("panel", "target"),
    [(title, target) for _, title, target in QUERIES],
    ids=[f"{uid}: {title} {target['refId']}" for uid, title, target in QUERIES],
)
def test_a_query_uses_metrics_and_labels_that_exist(panel, target):
    """Names come from the code's own registries and from the recording rules."""
    assert not problems_of(target["expr"], known_names())


def test_the_dashboards_are_the_four_promised():
    """Overview, stage, health, cost, each under a stable address."""
    uids = [dashboard["uid"] for dashboard in dashboards().values()]
    assert sorted(uids) == ["raglog-cost", "raglog-health", "raglog-overview", "raglog-stage"]


@pytest.mark.parametrize("dashboard", dashboards().values(), ids=lambda board: board["uid"])
def test_a_dashboard_needs_no_plugin_and_every_variable_is_defined(dashboard):
    """Panels of Grafana itself, the chosen data source, variables from the list."""
    defined = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        assert panel["type"] in CORE_PANELS
        if panel["type"] != "row":
            assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            assert panel["targets"]
        text = unquote(json.dumps(panel))
        used = set(re.findall(r"\$\{?(\w+)", text)) - BUILT_IN
        assert used <= defined, panel["title"]


@pytest.mark.parametrize("dashboard", dashboards().values(), ids=lambda board: board["uid"])
def test_panels_do_not_overlap(dashboard):
    """Each cell of the grid, 24 wide, belongs to one panel."""
    taken = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("name", ["raglog-overview.json", "raglog-stage.json"])
def test_services_and_stages_can_be_chosen_and_lead_to_traces(name):
    """Variables for both; panels link to the faulty traces of the chosen services in Tempo."""
    dashboard = dashboards()[name]
    assert {"service", "stage", "tempo"} <= {
        variable["name"] for variable in dashboard["templating"]["list"]
    }
    links = [
        unquote(link["url"])
        for panel in dashboard["panels"]
        for link in panel.get("fieldConfig", {}).get("defaults", {}).get("links", ())
    ]
    assert links
    for link in links:
        pane = json.loads(link.partition("left=")[2])
        assert pane["datasource"] == "${tempo}"
        assert 'span.raglog.verdict = "faulty"' in pane["queries"][0]["query"]


def test_exemplars_are_asked_of_series_that_have_them():
    """A panel with exemplars on names a metric that the service shows with a trace id."""
    registry = CollectorRegistry()
    measured = (CONTEXT_UTILIZATION, PROMPT_BUDGET, WORDS_UNSUPPORTED)
    report = make_report(
        {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK},
        measurements=tuple(Measurement(name, Stage.ASSEMBLY, 0.5) for name in measured),
    )
    RunMetrics(registry).count(report, exemplar=True)
    shown = generate_latest(registry).decode().splitlines()
    having = {re.match(r"\w+", line)[0] for line in shown if "# {trace_id=" in line}
    families = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in having}
    asked = [(title, target["expr"]) for _, title, target in QUERIES if target["exemplar"]]
    assert {"Fault rate by stage", "Fault types a second"} <= {title for title, _ in asked}
    for title, expr in asked:
        names = re.findall(r"raglog_\w+", expr)
        assert any(re.sub(r"_(total|bucket|sum|count)$", "", name) in families for name in names), (
            title
        )


def test_what_is_provisioned_fits_the_links():
    """An exemplar's trace id leads to Tempo, whose data source is there, and to Phoenix."""
    sources = {
        source["uid"]: source
        for source in yaml.safe_load(
            (GRAFANA / "provisioning" / "datasources" / "raglog.yaml").read_text()
        )["datasources"]
    }
    prometheus = next(source for source in sources.values() if source["type"] == "prometheus")
    to_tempo, to_phoenix = prometheus["jsonData"]["exemplarTraceIdDestinations"]
    assert {to_tempo["name"], to_phoenix["name"]} == {"trace_id"}
    assert sources[to_tempo["datasourceUid"]]["type"] == "tempo"
    assert to_phoenix["url"].endswith("/redirects/traces/$${__value.raw}")


def test_the_files_are_what_the_script_writes():
    """``make lint`` says the same."""
    script = ROOT / "scripts" / "write_dashboards.py"
    done = subprocess.run([sys.executable, str(script), "--check"], check=False)
    assert done.returncode == 0

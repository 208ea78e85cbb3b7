"""A real Prometheus and Alertmanager on a real service: queries, an alert, an exemplar's trace.

The rules are the shipped ones with every duration divided by ``FACTOR`` (an hour is three minutes),
so that an incident can be waited for. Their shipped durations are tested by promtool.
"""

import gzip
import json
import math
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
import yaml
from judge_server import JudgeServer
from monitoring import PROMETHEUS, RULE_FILES, hastened, panel_queries, without_variables
from ports import free_port
from programs import running
from services import Served, collect, running_sink, serving, wait_until

from otel_raglog import samples
from otel_raglog.commands.demo import Backend
from otel_raglog.receive.span import decode_span

pytestmark = pytest.mark.timeout(900)

FACTOR = 20
WAVES = 3
COPIES = 8
SAMPLE_MODEL, KNOWN_MODEL = "harbour-chat-1", "gpt-4"
ALERT = "RaglogStageFaultsFast"
PATIENCE_SECONDS = 300.0
QUIET = yaml.safe_load(Path(__file__).with_name("quiet_panels.yaml").read_text()) or {}


@dataclass(frozen=True)
class Watched:
    """A service with runs behind it, the Prometheus that scrapes it, and what was alerted."""

    served: Served
    sink: Backend
    prometheus: str
    alerted: list

    def get(self, path, **query):
        """Return the data of an answer of Prometheus' API."""
        answer = httpx2.get(f"{self.prometheus}/api/v1/{path}", params=query, timeout=30)
        body = answer.json()
        assert body["status"] == "success", body
        return body["data"]

    def query(self, expr):
        """Return the numbers that ``expr`` yields now."""
        results = self.get("query", query=expr)["result"]
        return [float(result["value"][1]) for result in results]

    def alerts(self, name):
        """Return the labels of the alerts ``name`` that came to the webhook as firing."""
        return [
            alert
            for message in list(self.alerted)
            for alert in message["alerts"]
            if alert["labels"]["alertname"] == name and alert["status"] == "firing"
        ]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Replay the bundled runs, then an incident: again and again those with a faulty retriever."""
    programs = [shutil.which(name) for name in ("prometheus", "prometheus-alertmanager")]
    if not all(programs):
        pytest.skip("Prometheus or Alertmanager is not installed: `make e2e` installs them")
    folder = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as stack:
        sample_set = stack.enter_context(samples.open_set())
        sink = stack.enter_context(running_sink())
        judge = stack.enter_context(JudgeServer())
        served = stack.enter_context(
            serving(
                folder,
                {"sink": sink.endpoint},
                judge={"when": "always", "every_runs": 10, "endpoint": judge.url_anthropic},
                metrics={"port": 0, "exemplars_per_minute": 600},
            )
        )
        alerted = []
        hook = stack.enter_context(webhook(alerted))
        manager = stack.enter_context(running_alertmanager(programs[1], hook, folder))
        target = served.addresses["metrics"]
        prometheus = stack.enter_context(running_prometheus(programs[0], target, manager, folder))
        everything = Watched(served, sink, prometheus, alerted)
        replay(served, sample_set.traces)
        judged(everything)
        incident = incident_of(sample_set, folder)
        for _ in range(WAVES):
            replay(served, incident)
            judged(everything)
            scraped(everything)
        yield everything


def replay(served, file):
    """Send the spans of a file under ids of their own."""
    command = [sys.executable, "-m", "otel_raglog.cli", "replay", str(file), "--new-ids"]
    door = f"http://{served.addresses['grpc']}"
    subprocess.run([*command, "--endpoint", door], check=True, timeout=PATIENCE_SECONDS)


def judged(watched):
    """Wait until nothing is on its way."""
    wait_until(lambda: watched.served.metric("raglog_spans_pending") == 0, PATIENCE_SECONDS)


def scraped(watched):
    """Wait until Prometheus has what the service shows now, twice."""
    runs = watched.served.metric("raglog_runs_total")
    wait_until(lambda: sum(watched.query("raglog_runs_total")) == runs, PATIENCE_SECONDS)
    time.sleep(3)  # an increase needs two samples


def incident_of(sample_set, folder):
    """Write a file with the runs in which a faulty retriever was planted, each several times.

    Their model gets the name of one whose window is known, as that of the samples is not.
    """
    runs = json.loads(sample_set.planted.read_text())["runs"]
    faulty = {run["trace_id"] for run in runs if run["labels"]["retriever"]["faulty"]}
    with gzip.open(sample_set.traces, "rt") as file:
        requests = [json.loads(line) for line in file]
    lines = []
    for _ in range(COPIES):
        fresh = {trace_id: secrets.token_hex(16) for trace_id in faulty}
        for request in deepcopy(requests):
            for resource in request["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    scope["spans"] = [
                        span | {"traceId": fresh[span["traceId"]]}
                        for span in scope["spans"]
                        if span["traceId"] in faulty
                    ]
            lines.append(json.dumps(request).replace(SAMPLE_MODEL, KNOWN_MODEL))
    path = folder / "incident.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


@contextmanager
def webhook(alerted):
    """Keep what Alertmanager posts; yield the address."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self):
            alerted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def running_alertmanager(program, hook, folder):
    """Run Alertmanager as shipped, with our webhook and without its waits; yield its address."""
    config = yaml.safe_load((PROMETHEUS / "alertmanager.yaml").read_text())
    config["route"] |= {"group_wait": "0s", "group_interval": "1s"}
    config["receivers"][0]["webhook_configs"][0]["url"] = hook
    own = folder / "alertmanager"
    own.mkdir()
    (own / "alertmanager.yaml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = [program, "--config.file=alertmanager.yaml", f"--web.listen-address={address}"]
    command += ["--cluster.listen-address=", f"--storage.path={own / 'data'}"]
    with running(command, {}, f"http://{address}/-/ready", own):
        yield address


@contextmanager
def running_prometheus(program, target, manager, folder):
    """Run Prometheus as shipped on the hastened rules, scraping each second; yield its address."""
    config = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [manager]
    own = folder / "prometheus"
    own.mkdir()
    for file in RULE_FILES:
        (own / file.name).write_text(hastened(file.read_text(), FACTOR))
    (own / "prometheus.yaml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = [program, "--config.file=prometheus.yaml", f"--web.listen-address={address}"]
    command += ["--enable-feature=exemplar-storage", f"--storage.tsdb.path={own / 'data'}"]
    with running(command, {}, f"http://{address}/-/ready", own):
        yield f"http://{address}"


def test_every_metric_of_the_service_is_scraped(watched):
    """The target is up, and Prometheus knows each name that the queries may use."""
    assert watched.query('up{job="otel-raglog"}') == [1]
    assert watched.query("sum(raglog_runs_total)")[0] >= 60


def test_an_alert_for_the_retriever_names_service_and_stage(watched):
    """It comes to the webhook, says so in its words, and leads to the runbook."""
    wait_until(
        lambda: any(a["labels"]["stage"] == "retriever" for a in watched.alerts(ALERT)),
        PATIENCE_SECONDS,
    )
    alert = next(a for a in watched.alerts(ALERT) if a["labels"]["stage"] == "retriever")
    service = alert["labels"]["service"]
    judged = watched.get("query", query=f'raglog_stage_verdicts_total{{service="{service}"}}')
    assert judged["result"]
    words = alert["annotations"]
    assert words["summary"] == f"{service}: the retriever fails far more often than usual"
    assert f"The stage retriever of {service} was faulty in" in words["description"]
    assert words["runbook"].startswith("docs/prometheus.md#")


def test_sound_stages_and_a_healthy_detector_stay_quiet(watched):
    """During that incident neither the assembly nor the detector itself is alerted about."""
    firing = Counter(
        (alert["labels"]["alertname"], alert["labels"].get("stage"))
        for message in list(watched.alerted)
        for alert in message["alerts"]
    )
    health = {"RaglogDown", "RaglogSpansDropped", "RaglogRefusesSpans", "RaglogNothingJudged"}
    assert not health & {name for name, _ in firing}
    assert (ALERT, "retriever") in firing
    assert (ALERT, "assembly") not in firing


def test_an_exemplar_leads_to_a_trace_that_is_marked_and_has_the_fault(watched):
    """Its trace id is of a trace that arrived at the backend with ``raglog.exemplar``."""
    found = watched.get(
        "query_exemplars",
        query='raglog_stage_verdicts_total{stage="retriever",verdict="faulty"}',
        start=time.time() - 3600,
        end=time.time() + 60,
    )
    ids = {exemplar["labels"]["trace_id"] for series in found for exemplar in series["exemplars"]}
    assert ids
    forwarded = int(watched.served.metric("raglog_spans_forwarded_total"))
    arrived = [decode_span(span) for span in collect(watched.sink, forwarded)]
    for trace_id in ids:
        spans = [span for span in arrived if span.trace_id.hex() == trace_id]
        (top,) = (span for span in spans if "raglog.run.verdict" in span.attributes)
        assert top.attributes["raglog.exemplar"] is True
        assert "retriever" in top.attributes["raglog.run.faulty_stages"]


def test_every_panel_shows_something_or_is_listed_with_its_reason(watched):
    """Each query of each dashboard, for all services, stages and instances."""
    scraped(watched)
    silent, all_queries = set(), set()
    for uid, title, target in panel_queries():
        place = f"{uid}: {title} {target['refId']}"
        all_queries.add(place)
        values = watched.query(without_variables(target["expr"], "10m"))
        if not any(math.isfinite(value) for value in values):
            silent.add(place)
    assert silent == set(QUIET)
    assert set(QUIET) <= all_queries
    assert all(QUIET.values())

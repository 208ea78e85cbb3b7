"""The Collector's and rotel's files: known keys, whole wiring, no loops, sampling after the verdict."""

import copy
import re
from dataclasses import replace

import pytest
import yaml
from collector_components import problems
from samples import make_report
from topology import COLLECTOR_CONFIG, read_topology, topologies

from otel_raglog.model import RunVerdict
from otel_raglog.report.annotations import run_attributes
from otel_raglog.report.carriers import SUPERSEDES

KNOWN = yaml.safe_load((COLLECTOR_CONFIG / "components.yaml").read_text())
TOPOLOGIES = topologies()
COLLECTORS = {
    f"{name}/{host}": config
    for name, topology in TOPOLOGIES.items()
    for host, config in topology.collectors.items()
}
SAMPLING = {
    name: config["processors"]["tail_sampling"]
    for name, config in COLLECTORS.items()
    if "tail_sampling" in config["processors"]
}
each_topology = pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)
each_collector = pytest.mark.parametrize("config", COLLECTORS.values(), ids=COLLECTORS)
each_sampling = pytest.mark.parametrize("name", SAMPLING)


def test_all_ways_to_deploy_are_here():
    """Gateway, one pod, replicas, rotel, one instance, the operator: none is overlooked below."""
    assert set(TOPOLOGIES) == {"agent", "gateway", "operator", "replicas", "rotel", "single"}
    assert set(COLLECTORS) == {
        "agent/collector",
        "gateway/collector",
        "operator/gateway",
        "replicas/collector-back",
        "replicas/collector-front",
    }
    assert set(SAMPLING) == {"gateway/collector", "operator/gateway", "replicas/collector-back"}


@each_collector
def test_a_collector_would_take_its_file(config):
    """Every key is documented, every name in a pipeline defined, everything defined used."""
    assert problems(config, KNOWN) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("exporters", "otlp_grpc/raglog", "tls", {"insecur": True}), "insecur: unknown key"),
        (("exporters", "otlp_grpc/raglog", "endpoint", 4317), "is no str"),
        (("exporters", "otlp/spare", {"endpoint": "x:1"}), "otlp is not in the list"),
        (("exporters", "otlp_grpc/spare", {"endpoint": "x:1"}), "otlp_grpc/spare is not used"),
        (("processors", "tail_sampling", "decision_wait", 150), "150 is no duration"),
        (("processors", "tail_sampling", "decision_wait", "a while"), "is no duration"),
        (("service", "pipelines", "traces/apps", "receivers", ["otlp/ap"]), "is not defined"),
        (("service", "pipelines", "traces/apps", "exporters", []), "has no exporters"),
        (("service", "extensions", []), "extensions.health_check is not used"),
        (("processor", {}), "processor is no section"),
        (
            ("processors", "tail_sampling", "policies", [{"name": "a", "type": "latency"}]),
            "policy a is not of its type",
        ),
    ],
)
def test_what_a_collector_would_refuse_is_found(change, expected):
    """The check of the files can fail: wrong keys, types, names and leftovers are told."""
    config = copy.deepcopy(COLLECTORS["gateway/collector"])
    *way, key, value = change
    place = config
    for step in way:
        place = place[step]
    place[key] = value
    assert any(expected in problem for problem in problems(config, KNOWN))


@each_topology
def test_spans_do_not_come_back(topology):
    """From what raglog sends to there is no way back into raglog, over however many hops."""
    assert topology.sidecar.name not in topology.behind(topology.sidecar)


@pytest.mark.parametrize("name", sorted(set(TOPOLOGIES) - {"agent", "single"}))
def test_spans_get_to_raglog_and_on(name):
    """What is in front of raglog leads to it, and its exporter meets a door that is there."""
    topology = TOPOLOGIES[name]
    fronts = [hop for hop in topology.hops if hop.sends_to(topology.sidecar)]
    assert fronts
    if name != "rotel":  # whose raglog sends to the backends itself
        assert topology.behind(topology.sidecar)


def test_in_one_pod_raglog_sends_to_its_collector():
    """The application's pod: raglog's exporter meets the Collector on loopback, nothing else does."""
    topology = TOPOLOGIES["agent"]
    assert topology.behind(topology.sidecar) == {"collector traces"}


@pytest.mark.parametrize("way", ["one receiver", "a connector", "another Collector"])
def test_a_loop_is_found(tmp_path, way):
    """One receiver for both ways sends a span round for ever; so do joined pipelines, or two files."""
    folder = "replicas" if way == "another Collector" else "gateway"
    collectors = copy.deepcopy(dict(TOPOLOGIES[folder].collectors))
    raglog = (COLLECTOR_CONFIG / folder / "raglog.yaml").read_text()
    if way == "one receiver":
        raglog = raglog.replace("14317", "4317")
    elif way == "a connector":
        gateway = collectors["collector"]
        gateway["connectors"] = {"forward": None}
        gateway["service"]["pipelines"]["traces/judged"]["exporters"].append("forward")
        gateway["service"]["pipelines"]["traces/apps"]["receivers"].append("forward")
    else:
        tempo = collectors["collector-back"]["exporters"]["otlp_grpc/tempo"]
        tempo["endpoint"] = "collector-front.observability.svc:4317"
    (tmp_path / "raglog.yaml").write_text(raglog)
    for host, collector in collectors.items():
        (tmp_path / f"{host}.yaml").write_text(yaml.safe_dump(collector))
    topology = read_topology(tmp_path)
    assert topology.sidecar.name in topology.behind(topology.sidecar)


def seconds(duration: str) -> float:
    """Return a Go duration of one unit in seconds."""
    number, unit = re.fullmatch(r"([\d.]+)(ms|s|m)", duration).groups()
    return float(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


@each_sampling
def test_sampling_waits_longer_than_we_hold(name):
    """A decision comes after the verdict, although spans that wait for nothing came before it."""
    config = TOPOLOGIES[name.partition("/")[0]].raglog
    held = config.hold.max_wait_seconds + config.hold.escalated_seconds
    joined = config.join.window_seconds  # counted although off by default
    longest = held + joined + config.sending.batch_seconds
    assert seconds(SAMPLING[name]["decision_wait"]) > longest
    assert seconds("130s") < longest  # the margin is no accident of the numbers


def deciding(policies, attributes):
    """Return the names of the policies on attributes that keep a trace with these."""
    kept = []
    for policy in policies:
        options = policy.get(policy["type"], {})
        value = attributes.get(options.get("key"))
        if policy["type"] == "boolean_attribute" and value is options["value"]:
            kept.append(policy["name"])
        if policy["type"] == "string_attribute" and isinstance(value, str):
            patterns = options["values"]
            found = (
                any(re.search(pattern, value) for pattern in patterns)
                if options.get("enabled_regex_matching")
                else value in patterns
            )
            kept += [policy["name"]] if found else []
    return kept


@each_sampling
def test_sampling_keeps_faulty_runs_exemplars_and_a_share(name):
    """Of the attributes that we write, a fault or an exemplar keeps a trace; a sound run is drawn."""
    policies = SAMPLING[name]["policies"]
    report = make_report()
    sound = replace(report, verdict=RunVerdict.OK)
    faulty = replace(report, verdict=RunVerdict.FAULTY)
    assert deciding(policies, run_attributes(sound, exemplar=False)) == []
    assert deciding(policies, run_attributes(sound, exemplar=True)) == ["exemplars"]
    assert deciding(policies, run_attributes(faulty, exemplar=False)) == ["faulty-runs"]
    assert deciding(policies, {SUPERSEDES: "local-1"}) == ["later-verdicts"]
    shares = [
        policy["probabilistic"]["sampling_percentage"]
        for policy in policies
        if policy["type"] == "probabilistic"
    ]
    assert len(shares) == 1
    assert 0 < shares[0] < 100


@each_sampling
def test_late_spans_follow_the_decision(name):
    """Decisions are remembered for longer than traces are, so that late spans find theirs."""
    cache, traces = SAMPLING[name]["decision_cache"], SAMPLING[name]["num_traces"]
    assert min(cache.values()) >= 10 * traces


def test_replicas_get_whole_traces():
    """In front of replicas, a trace's id chooses the replica, at the headless service's port."""
    topology = TOPOLOGIES["replicas"]
    balancing = topology.collectors["collector-front"]["exporters"]["loadbalancing"]
    assert balancing["routing_key"] == "traceID"
    assert int(balancing["resolver"]["dns"]["port"]) == topology.raglog.receive.grpc.port


@each_collector
def test_collectors_take_what_raglog_sends(config):
    """A Collector's limit of 4 MiB on a message would refuse requests that raglog accepts."""
    for receiver in config["receivers"].values():
        largest = receiver["protocols"]["grpc"]["max_recv_msg_size_mib"]
        assert largest >= TOPOLOGIES["gateway"].raglog.receive.max_request_mib

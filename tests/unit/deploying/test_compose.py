"""``docker-compose.yaml``: its services find each other, its files exist, and only loopback is open."""

import re

import pytest
from topology import COLLECTOR_CONFIG, ROOT, container_config, read_topology, read_yaml

from otel_raglog import __version__

(COMPOSE,) = read_yaml(ROOT / "docker-compose.yaml")
SERVICES = COMPOSE["services"]
MOUNTS = [
    (name, mount.split(":"))
    for name, service in SERVICES.items()
    for mount in service.get("volumes", ())
]


def test_all_parts_are_here():
    """Collector, sidecar, and the places where verdicts are seen."""
    assert set(SERVICES) == {"raglog", "collector", "prometheus", "grafana", "phoenix", "tempo"}


@pytest.mark.parametrize("name", SERVICES)
def test_images_are_pinned(name):
    """Each image has a version; ours is built here, from the Dockerfile, as this version."""
    assert re.search(r":\D*\d+\.\d+\.\d+$", SERVICES[name]["image"])
    if name == "raglog":
        assert SERVICES[name]["image"] == f"otel-raglog:{__version__}"
        assert (ROOT / SERVICES[name]["build"] / "Dockerfile").exists()


@pytest.mark.parametrize("parts", [parts for _, parts in MOUNTS], ids=lambda parts: parts[1])
def test_what_is_mounted_exists(parts):
    """A file of the repository is there and mounted read-only; else it is a declared volume."""
    source = parts[0]
    if not source.startswith("."):
        assert source in COMPOSE["volumes"]
        return
    assert parts[2] == "ro"
    assert (ROOT / source).exists()


def test_declared_volumes_are_used():
    """No volume is declared for nobody."""
    assert set(COMPOSE["volumes"]) == {it[0] for _, it in MOUNTS if not it[0].startswith(".")}


@pytest.mark.parametrize("name", SERVICES)
def test_only_loopback_is_published(name):
    """No port is open to the network, and what a service depends on exists."""
    ports = SERVICES[name].get("ports", ())
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert set(SERVICES[name].get("depends_on", ())) <= set(SERVICES)


def test_no_port_is_published_twice():
    """Two services cannot have one port of the machine."""
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) == len({port.rpartition(":")[0] for port in ports})


def test_every_endpoint_is_a_service():
    """Whom the Collector and raglog send to is a service here, or one of the two themselves."""
    topology = read_topology(COLLECTOR_CONFIG / "gateway")
    hosts = {host for hop in topology.hops for host, _ in hop.targets}
    assert hosts <= set(SERVICES)
    assert {hop.host for hop in topology.hops} <= set(SERVICES)


def test_files_are_mounted_where_they_are_read():
    """Each service is told the path at which its file is mounted."""
    targets = {(name, parts[1]): parts[0] for name, parts in MOUNTS}
    raglog = SERVICES["raglog"]["environment"]["OTEL_RAGLOG_CONFIG"]
    assert targets["raglog", raglog].endswith("gateway/raglog.yaml")
    for name in ("collector", "prometheus", "tempo"):
        options = [each.rpartition("=")[2] for each in SERVICES[name]["command"]]
        assert any((name, option) in targets for option in options), name
    (prometheus,) = read_yaml(COLLECTOR_CONFIG / "compose" / "prometheus.yml")
    folders = {pattern.rpartition("/")[0] for pattern in prometheus["rule_files"]}
    assert folders == {
        target for name, target in targets if name == "prometheus" and target.endswith("raglog")
    }


def test_raglog_is_confined_and_keeps_its_journal():
    """A read-only root, no capability; the journal's folder is a volume."""
    service = SERVICES["raglog"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    path = str(container_config({}, None).journal.path)
    assert any(path.startswith(parts[1] + "/") for name, parts in MOUNTS if name == "raglog")


def test_prometheus_scrapes_raglog():
    """The target is raglog's metrics port, and exemplars are kept."""
    (prometheus,) = read_yaml(COLLECTOR_CONFIG / "compose" / "prometheus.yml")
    targets = [
        target
        for job in prometheus["scrape_configs"]
        for group in job["static_configs"]
        for target in group["targets"]
    ]
    assert targets == [f"raglog:{container_config({}, None).metrics.port}"]
    assert "--enable-feature=exemplar-storage" in SERVICES["prometheus"]["command"]


def test_tempo_listens_where_the_collector_sends():
    """Tempo's receiver has the port of the Collector's exporter, and its blocks a place."""
    (tempo,) = read_yaml(COLLECTOR_CONFIG / "compose" / "tempo.yaml")
    port = tempo["distributor"]["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"].split(":")[1]
    gateway = read_topology(COLLECTOR_CONFIG / "gateway").collectors["collector"]
    assert gateway["exporters"]["otlp_grpc/tempo"]["endpoint"] == f"tempo:{port}"
    places = [entry.partition(":")[0] for entry in SERVICES["tempo"]["tmpfs"]]
    trace = tempo["storage"]["trace"]
    for path in (trace["wal"]["path"], trace["local"]["path"]):
        assert any(path.startswith(f"{place}/") for place in places)

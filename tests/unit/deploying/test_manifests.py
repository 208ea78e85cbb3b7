"""The Kubernetes manifests: what they name exists, and what they promise of the container holds."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from topology import COLLECTOR_CONFIG, container_config, read_yaml

from otel_raglog import __version__
from otel_raglog.config import Config

KNOWN = yaml.safe_load((COLLECTOR_CONFIG / "components.yaml").read_text())
FOLDERS = [COLLECTOR_CONFIG / name for name in ("agent", "single", "replicas", "operator")]
OWN = f"otel-raglog:{__version__}"
COLLECTOR = f"{KNOWN['distribution']}:{KNOWN['version']}"
_MIB = {"Mi": 1, "Gi": 1024}


@dataclass(frozen=True)
class Pod:
    """A pod's specification, where it was found, and its labels and claims."""

    folder: Path
    name: str
    spec: dict
    labels: dict
    claims: dict

    def containers(self) -> list[dict]:
        """All containers, native sidecars among them."""
        return [*self.spec.get("initContainers", ()), *self.spec["containers"]]

    def raglog(self) -> dict | None:
        """The container that is raglog."""
        return next((each for each in self.containers() if each["name"] == "raglog"), None)


def documents(folder: Path) -> list[dict]:
    """Return the folder's Kubernetes objects."""
    found = [each for path in sorted(folder.glob("*.yaml")) for each in read_yaml(path)]
    return [each for each in found if "kind" in each and each["kind"] != "Kustomization"]


def pods() -> Iterator[Pod]:
    """Yield the pods of all manifests; the operator's is what it makes of its object."""
    for folder in FOLDERS:
        objects = documents(folder)
        volumes = {each["metadata"]["name"]: each["spec"] for each in objects if is_claim(each)}
        for each in objects:
            spec = each.get("spec", {})
            templates = spec.get("volumeClaimTemplates", ())
            claims = volumes | {it["metadata"]["name"]: it["spec"] for it in templates}
            name = each["metadata"]["name"]
            if each["kind"] in {"Deployment", "StatefulSet"}:
                template = spec["template"]
                yield Pod(folder, name, template["spec"], template["metadata"]["labels"], claims)
            elif each["kind"] == "OpenTelemetryCollector":
                own = {"name": "otc-container", "probed": "by the operator"}
                own |= {key: spec[key] for key in ("image", "resources", "securityContext")}
                made = spec | {"containers": [own, *spec["additionalContainers"]]}
                made["securityContext"] = spec["podSecurityContext"]
                yield Pod(folder, name, made, {}, claims)


def is_claim(document: dict) -> bool:
    return document["kind"] == "PersistentVolumeClaim"


def generated(folder: Path) -> dict[str, list[str]]:
    """Return the files of each ConfigMap that kustomize makes."""
    path = folder / "kustomization.yaml"
    (document,) = read_yaml(path) if path.exists() else [{}]
    return {each["name"]: each["files"] for each in document.get("configMapGenerator", ())}


def mounted(pod: Pod, container: dict, path: str) -> Path:
    """Return the committed file that the container finds at ``path``."""
    folder, _, name = path.rpartition("/")
    mount = next(each for each in container["volumeMounts"] if each["mountPath"] == folder)
    volume = next(each for each in pod.spec["volumes"] if each["name"] == mount["name"])
    assert name in generated(pod.folder)[volume["configMap"]["name"]], path
    return pod.folder / name


def options(pod: Pod) -> Config:
    """Return the options that the pod's raglog runs with, unknown variables being an error."""
    container = pod.raglog()
    variables = {each["name"]: each["value"] for each in container.get("env", ())}
    file = variables.get("OTEL_RAGLOG_CONFIG")
    return container_config(container, mounted(pod, container, file) if file else None)


def mib(size: str) -> int:
    return int(size[:-2]) * _MIB[size[-2:]]


PODS = {f"{pod.folder.name}/{pod.name}": pod for pod in pods()}
OURS = {name: pod for name, pod in PODS.items() if pod.raglog()}
each_pod = pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
each_of_ours = pytest.mark.parametrize("pod", OURS.values(), ids=OURS)


def test_all_pods_are_here():
    """raglog is in the application's pod, alone, in replicas, and beside the operator's Collector."""
    assert set(OURS) == {"agent/hr-bot", "single/raglog", "replicas/raglog", "operator/gateway"}
    assert set(PODS) - set(OURS) == {"replicas/collector-front", "replicas/collector-back"}


@each_pod
def test_images_are_pinned(pod):
    """Ours is this version, the Collector the one whose keys are listed; nothing floats."""
    for container in pod.containers():
        name, _, tag = container["image"].partition(":")
        assert re.search(r"\d+\.\d+", tag), container["image"]
        if "raglog" in name:
            assert container["image"] == OWN
        if "collector" in name:
            assert container["image"] == COLLECTOR


@each_of_ours
def test_raglog_starts_with_known_options(pod):
    """Variables and file are of our schema, and there is somewhere to send to."""
    assert options(pod).exporters


@each_of_ours
def test_ports_are_those_that_raglog_listens_on(pod):
    """A named port is where the options put the door; probes and metrics reach the pod's address."""
    config = options(pod)
    ports = {each["name"]: each["containerPort"] for each in pod.raglog()["ports"]}
    assert ports == {
        "otlp-grpc": config.receive.grpc.port,
        "otlp-http": config.receive.http.port,
        "metrics": config.metrics.port,
        "health": config.health.port,
    }
    assert config.health.host == config.metrics.host == "0.0.0.0"


def test_doors_are_open_only_where_others_send():
    """In a pod that sends to itself the doors stay on loopback."""
    hosts = {name: options(pod).receive.grpc.host for name, pod in OURS.items()}
    assert hosts == {
        "agent/hr-bot": "127.0.0.1",
        "operator/gateway": "127.0.0.1",
        "single/raglog": "0.0.0.0",
        "replicas/raglog": "0.0.0.0",
    }


@each_of_ours
def test_probes(pod):
    """Alive on /live; started, and served, on /ready; a sidecar that is full is not taken out."""
    container = pod.raglog()
    paths = {
        kind: container[kind]["httpGet"]["path"]
        for kind in ("startupProbe", "livenessProbe", "readinessProbe")
        if kind in container
    }
    expected = {"startupProbe": "/ready", "livenessProbe": "/live", "readinessProbe": "/ready"}
    if pod.folder.name == "agent":
        del expected["readinessProbe"]
    assert paths == expected


@each_pod
def test_probes_name_ports_of_their_container(pod):
    """A probe of a port that is not named in its container would never pass."""
    for container in pod.containers():
        names = {each["name"] for each in container.get("ports", ())}
        probes = [value for key, value in container.items() if key.endswith("Probe")]
        assert {probe["httpGet"]["port"] for probe in probes} <= names


@each_pod
def test_containers_are_confined(pod):
    """Not root, no capability, no new privileges, a root that is not written, bounded memory."""
    for container in pod.containers():
        if container["name"] == "hr-bot":  # the user's
            continue
        context = container["securityContext"]
        assert context["runAsNonRoot"] is True
        assert context["runAsUser"] > 0
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert mib(container["resources"]["limits"]["memory"]) >= mib(
            container["resources"]["requests"]["memory"]
        )


@each_of_ours
def test_the_journal_fits_its_volume(pod):
    """Journal and dead letters lie on a volume that holds as much as they may grow to."""
    config, container = options(pod), pod.raglog()
    mount = next(it for it in container["volumeMounts"] if it["name"] == "raglog-journal")
    assert str(config.journal.path).startswith(mount["mountPath"] + "/")
    assert config.dead_letters.path.is_relative_to(config.journal.path)
    assert not mount.get("readOnly")
    volumes = {each["name"]: each for each in pod.spec["volumes"]}
    if "raglog-journal" in pod.claims:
        size = pod.claims["raglog-journal"]["resources"]["requests"]["storage"]
    else:
        size = volumes["raglog-journal"]["emptyDir"]["sizeLimit"]
    letters = 2 * config.dead_letters.max_mib * len(config.exporters)  # one older file beside it
    assert mib(size) >= config.journal.max_mib + letters
    assert pod.spec["securityContext"]["fsGroup"] == container["securityContext"]["runAsGroup"]


@each_pod
def test_mounts_are_of_volumes_of_the_pod(pod):
    """Every mount names a volume or a claim that the pod has, and every volume is mounted."""
    volumes = {each["name"] for each in pod.spec["volumes"]} | set(pod.claims)
    mounts = {it["name"] for each in pod.containers() for it in each.get("volumeMounts", ())}
    assert mounts == volumes


@each_pod
def test_collectors_start_with_a_file_that_is_there(pod):
    """``--config`` names a file of the ConfigMap that is mounted there."""
    for container in pod.containers():
        for argument in container.get("args", ()):
            if argument.startswith("--config="):
                config = read_yaml(mounted(pod, container, argument.partition("=")[2]))[0]
                health = config["extensions"]["health_check"]["endpoint"].rpartition(":")[2]
                ports = {each["name"]: each["containerPort"] for each in container["ports"]}
                assert ports["otelcol-health"] == int(health)


@each_of_ours
def test_there_is_time_to_stop(pod):
    """Kubernetes waits for longer than raglog delivers at its end."""
    grace = pod.spec["terminationGracePeriodSeconds"]
    assert grace > options(pod).shutdown_grace_seconds + 5


def test_no_port_is_taken_twice_in_a_pod():
    """Containers of a pod share its address."""
    for name, pod in PODS.items():
        ports = [port["containerPort"] for it in pod.containers() for port in it.get("ports", ())]
        if name == "operator/gateway":  # the operator reads them from the receivers
            ports += [4317, 4318, 14317]
        assert len(ports) == len(set(ports)), name


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_services_budgets_and_scalers_find_their_pods(folder):
    """Selectors match a pod's labels, target ports are named there, scalers name what exists."""
    here = [pod for pod in PODS.values() if pod.folder == folder]
    for document in documents(folder):
        spec = document["spec"]
        if document["kind"] in {"Service", "PodDisruptionBudget"}:
            selector = spec["selector"].get("matchLabels", spec["selector"])
            (pod,) = [pod for pod in here if selector.items() <= pod.labels.items()]
            names = {port["name"] for it in pod.containers() for port in it.get("ports", ())}
            assert {port["targetPort"] for port in spec.get("ports", ())} <= names
        if document["kind"] == "HorizontalPodAutoscaler":
            target = spec["scaleTargetRef"]
            assert [
                each["apiVersion"]
                for each in documents(folder)
                if (each["kind"], each["metadata"]["name"]) == (target["kind"], target["name"])
            ] == [target["apiVersion"]]


def test_replicas_scale_on_the_queue_before_the_detector():
    """The scaler's metric is what the adapter makes of our gauge, far below where traces pass unjudged."""
    objects = documents(COLLECTOR_CONFIG / "replicas")
    (scaler,) = [each for each in objects if each["kind"] == "HorizontalPodAutoscaler"]
    (metric,) = [each["pods"] for each in scaler["spec"]["metrics"]]
    (adapter,) = read_yaml(COLLECTOR_CONFIG / "replicas" / "prometheus-adapter.values.yaml")
    (rule,) = adapter["rules"]["custom"]
    assert metric["metric"]["name"] == "raglog_backlog_traces"
    assert rule["seriesQuery"].partition("{")[0] == metric["metric"]["name"]
    backlog = options(OURS["replicas/raglog"]).analysis.backlog_traces
    assert int(metric["target"]["averageValue"]) <= backlog / 4


@pytest.mark.parametrize("folder", FOLDERS[:3], ids=lambda folder: folder.name)
def test_kustomizations_name_files_that_are_there(folder):
    """``kubectl apply -k`` finds its resources, and every ConfigMap of a pod is generated."""
    (document,) = read_yaml(folder / "kustomization.yaml")
    files = [*document["resources"], *(name for it in generated(folder).values() for name in it)]
    assert all((folder / name).exists() for name in files)
    maps = {
        volume["configMap"]["name"]
        for pod in PODS.values()
        if pod.folder == folder
        for volume in pod.spec["volumes"]
        if "configMap" in volume
    }
    assert maps == set(generated(folder))


def test_a_variable_that_we_do_not_know_is_found():
    """A misspelt variable in a manifest fails these tests, as it fails the start."""
    container = {"env": [{"name": "OTEL_RAGLOG_HEALTH__PROT", "value": "1"}]}
    with pytest.raises(Exception, match="OTEL_RAGLOG_HEALTH__PROT"):
        container_config(container, None)

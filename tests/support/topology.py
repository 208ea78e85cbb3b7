"""Deployment files read as the graph of who sends spans to whom."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from otel_raglog.config import load_config
from otel_raglog.options import Config

ROOT = Path(__file__).resolve().parents[2]
COLLECTOR_CONFIG = ROOT / "collector_config"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Address = tuple[str, int]


def read_yaml(path: Path) -> list[Any]:
    """Return the documents of a YAML file."""
    return [each for each in yaml.safe_load_all(path.read_text()) if each is not None]


def read_env_file(path: Path) -> dict[str, str]:
    """Return the variables of a file of NAME=value lines."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def image_environment() -> dict[str, str]:
    """Return the variables that the Dockerfile's last stage sets for our options."""
    last = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2].replace("\\\n", " ")
    pairs = [
        word.partition("=")[::2]
        for line in last.splitlines()
        if line.startswith("ENV ")
        for word in shlex.split(line)[1:]
    ]
    return {name: value for name, value in pairs if name.startswith("OTEL_RAGLOG_")}


def container_config(container: Mapping[str, Any], file: Path | None) -> Config:
    """Return the options of a raglog container: the image's, the file's and the manifest's."""
    own = {each["name"]: each["value"] for each in container.get("env", ())}
    own.pop("OTEL_RAGLOG_CONFIG", None)
    return load_config(file, environ=image_environment() | own)


@dataclass(frozen=True, slots=True)
class Hop:
    """One step on the way of a span: a Collector's pipeline, raglog, or rotel."""

    name: str
    host: str
    doors: frozenset[int]
    targets: frozenset[Address]
    inside: frozenset[str] = frozenset()  # the pipelines that its connectors lead to
    sidecar: bool = False

    def sends_to(self, other: Hop) -> bool:
        """Return whether what leaves here arrives there."""
        return other.name in self.inside or any(
            port in other.doors and host in {other.host, *_LOOPBACK} for host, port in self.targets
        )


def address(endpoint: str) -> Address:
    """Return host (its first label) and port of an endpoint with or without a scheme."""
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    assert parts.hostname is not None, endpoint
    host = parts.hostname
    named = not re.fullmatch(r"[\d.]+", host)
    ports = {"http": 80, "https": 443}
    return host.partition(".")[0] if named else host, parts.port or ports[parts.scheme]


def collector_hops(host: str, config: Mapping[str, Any]) -> Iterator[Hop]:
    """Yield a hop for each pipeline of a Collector's configuration."""
    pipelines = config["service"]["pipelines"]
    connectors = config.get("connectors") or {}
    for name, pipeline in pipelines.items():
        exporters = [each for each in pipeline["exporters"] if each not in connectors]
        joined = set(pipeline["exporters"]) & set(connectors)
        yield Hop(
            name=f"{host} {name}",
            host=host,
            doors=frozenset(
                port for each in pipeline["receivers"] for port in _ports(config, each)
            ),
            targets=frozenset(
                target for each in exporters for target in _targets(config["exporters"][each] or {})
            ),
            inside=frozenset(
                f"{host} {other}"
                for other, its in pipelines.items()
                if joined & set(its["receivers"])
            ),
        )


def _ports(config: Mapping[str, Any], receiver: str) -> Iterator[int]:
    settings = (config.get("receivers") or {}).get(receiver) or {}
    for protocol in (settings.get("protocols") or {}).values():
        yield address(protocol["endpoint"])[1]


def _targets(exporter: Mapping[str, Any]) -> Iterator[Address]:
    if "endpoint" in exporter:
        yield address(exporter["endpoint"])
    resolver = exporter.get("resolver") or {}
    if "dns" in resolver:
        yield address(f"{resolver['dns']['hostname']}:{resolver['dns'].get('port', '4317')}")
    for hostname in (resolver.get("static") or {}).get("hostnames", ()):
        yield address(hostname)


def raglog_hop(config: Config) -> Hop:
    """Return the hop that raglog is."""
    endpoints = [each.options.get("endpoint") for each in config.exporters.values()]
    return Hop(
        name="raglog",
        host="raglog",
        doors=frozenset({config.receive.grpc.port, config.receive.http.port}),
        targets=frozenset(address(each) for each in endpoints if each),
        sidecar=True,
    )


def rotel_hop(variables: Mapping[str, str]) -> Hop:
    """Return the hop that rotel is."""
    doors = ("ROTEL_OTLP_GRPC_ENDPOINT", "ROTEL_OTLP_HTTP_ENDPOINT")
    return Hop(
        name="rotel",
        host="rotel",
        doors=frozenset(address(variables[each])[1] for each in doors),
        targets=frozenset({address(variables["ROTEL_OTLP_EXPORTER_ENDPOINT"])}),
    )


@dataclass(frozen=True, slots=True)
class Topology:
    """A folder's files: the Collectors by host, raglog's options, and the hops of all."""

    collectors: Mapping[str, Mapping[str, Any]]
    raglog: Config
    hops: tuple[Hop, ...]

    def behind(self, start: Hop) -> set[str]:
        """Return the names of all hops that spans of ``start`` can come to."""
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            here = waiting.pop()
            onward = [hop for hop in self.hops if here.sends_to(hop) and hop.name not in seen]
            seen.update(hop.name for hop in onward)
            waiting += onward
        return seen

    @property
    def sidecar(self) -> Hop:
        """The hop that raglog is."""
        return next(hop for hop in self.hops if hop.sidecar)


def read_topology(folder: Path) -> Topology:
    """Read a folder: a file's stem is the host's name.

    What has ``service.pipelines`` is a Collector's, ``raglog.yaml`` ours, ``*.env`` rotel's; in a
    manifest of the OpenTelemetry Operator both lie in one.
    """
    collectors: dict[str, Mapping[str, Any]] = {}
    raglog: Config | None = None
    for path in sorted(folder.glob("*.yaml")):
        for document in read_yaml(path):
            if path.name == "raglog.yaml":
                raglog = load_config(path, environ=image_environment())
            elif "pipelines" in document.get("service", {}):
                collectors[path.stem] = document
            elif document.get("kind") == "OpenTelemetryCollector":
                collectors[path.stem] = document["spec"]["config"]
                (container,) = document["spec"]["additionalContainers"]
                raglog = container_config(container, None)
    assert raglog is not None, f"{folder} has no raglog"
    hops = [raglog_hop(raglog)]
    hops += [hop for host, config in collectors.items() for hop in collector_hops(host, config)]
    hops += [rotel_hop(read_env_file(path)) for path in sorted(folder.glob("*.env"))]
    return Topology(collectors, raglog, tuple(hops))


def topologies() -> dict[str, Topology]:
    """Return all of ``collector_config`` by the folder's name."""
    folders = {path.parent for path in COLLECTOR_CONFIG.glob("*/raglog.yaml")}
    folders.add(COLLECTOR_CONFIG / "operator")
    return {folder.name: read_topology(folder) for folder in sorted(folders)}

"""The Dockerfile: pinned and hashed, nobody's root, nothing for training; its HEALTHCHECK works."""

import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ports import free_port
from pytest_httpserver import HTTPServer
from topology import ROOT, image_environment

from otel_raglog.config import load_config

DOCKERFILE = (ROOT / "Dockerfile").read_text()
LINES = [
    line for line in DOCKERFILE.replace("\\\n", " ").splitlines() if line and line[0] not in "# "
]
TRAINING = {
    *("torch", "scikit-learn", "catboost", "skops", "matplotlib", "pandas", "scipy"),
    *("sentence-transformers", "transformers", "mitmproxy", "pyarrow", "duckdb", "pytest"),
}


def pins(name: str) -> dict[str, set[str]]:
    """Return the versions of each package that a file of requirements pins."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "requirements" / name).read_text().splitlines():
        if match := re.match(r"([a-z0-9.\-_]+)==(\S+)", line):
            found.setdefault(canonicalize_name(match[1]), set()).add(match[2])
    return found


def extras(*names: str) -> set[str]:
    """Return the packages that extras of ours name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [it for name in names for it in project["optional-dependencies"][name]]
    return {canonicalize_name(Requirement(it).name) for it in [*listed, *project["dependencies"]]}


def test_both_stages_are_of_one_pinned_slim_base():
    """What is built runs on the Python that it was built for."""
    bases = [line.split()[1] for line in LINES if line.startswith("FROM ")]
    assert len(bases) == 2
    assert set(bases) == {"python:3.12-slim"}


def test_it_runs_as_nobody_in_particular():
    """A numeric user, so that Kubernetes can see that it is not root."""
    (user,) = [line.split()[1] for line in LINES if line.startswith("USER ")]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_health_and_metrics_answer_outside_and_doors_do_not():
    """Probes and Prometheus reach the pod; spans are taken on loopback until somebody says else."""
    config = load_config(environ=image_environment())
    assert (config.health.host, config.metrics.host) == ("0.0.0.0", "0.0.0.0")
    assert (config.receive.grpc.host, config.receive.http.host) == ("127.0.0.1", "127.0.0.1")
    (volume,) = [line.split()[1] for line in LINES if line.startswith("VOLUME ")]
    assert str(config.journal.path).startswith(f"{volume}/")
    (ports,) = [line.split()[1:] for line in LINES if line.startswith("EXPOSE ")]
    assert {int(port) for port in ports} == {
        config.receive.grpc.port,
        config.receive.http.port,
        config.metrics.port,
        config.health.port,
    }


def test_everything_is_installed_by_hash():
    """Each install of packages of others checks hashes; each pin has one."""
    installs = re.findall(r"pip [^&]*?install[^&]*", DOCKERFILE.replace("\\\n", " "))
    assert len(installs) == 3
    assert all("--require-hashes" in it or "--no-deps" in it for it in installs)
    for name in ("service.txt", "build.txt"):
        for block in re.split(r"\n(?=\S)", (ROOT / "requirements" / name).read_text().strip()):
            assert "--hash=sha256:" in block, block.splitlines()[0]


def test_the_list_is_that_of_service_and_judge():
    """All that the two extras name, in the versions of the development environment, no training."""
    service, development = pins("service.txt"), pins("dev.txt")
    assert extras("service", "judge") <= service.keys()
    assert service.keys().isdisjoint(TRAINING)
    assert {name: service[name] for name in service} == {
        name: development.get(name) for name in service
    }
    assert pins("build.txt")["hatchling"] == development["hatchling"]


def test_what_is_copied_is_there_and_not_ignored():
    """Each source of a COPY exists and is let in by .dockerignore."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().split("\n") if line[:1] != "#"]
    let_in = [rule[1:] for rule in rules if rule.startswith("!")]
    sources = [
        source
        for line in LINES
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, rule) for rule in let_in), source
    assert set(let_in) == set(sources)


def healthcheck(port: int) -> int:
    """Run the HEALTHCHECK's command and return its exit code."""
    command = re.search(r"^HEALTHCHECK .*?CMD (\[.*?\])$", DOCKERFILE, re.DOTALL | re.MULTILINE)[1]
    python, *arguments = json.loads(command)
    assert python == "python"
    environment = {"OTEL_RAGLOG_HEALTH__PORT": str(port)}
    run = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, check=False
    )
    return run.returncode


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_healthcheck_asks_whether_it_lives(httpserver: HTTPServer, status, healthy):
    """Healthy is who answers 200 on /live, at the port that the option names."""
    httpserver.expect_request("/live").respond_with_json({}, status=status)
    assert (healthcheck(httpserver.port) == 0) is healthy


def test_healthcheck_fails_when_nobody_answers():
    """A service that does not listen is not healthy."""
    assert healthcheck(free_port()) != 0

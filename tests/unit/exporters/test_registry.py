"""Kinds of destinations are found by name, their options checked, errors name what is known."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.model import Signal
from otel_raglog_exporters import registry
from otel_raglog_exporters.registry import EXPORTERS, ExporterKind, build_exporter, exporter_kind
from otel_raglog_exporters.sending import ExportOutcome


def test_importing_the_package_loads_nothing_heavy():
    """The in-app part lives in applications that have neither numpy nor grpc."""
    code = (
        "import sys, otel_raglog_exporters;"
        "print([m for m in ('numpy', 'grpc', 'google.protobuf', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_built_in_kinds():
    """Names are part of the configuration, and stay."""
    spans = ["otlp_grpc", "otlp_http", "file", "console"]
    verdicts = ["phoenix", "langfuse", "mlflow", "webhook"]
    assert [kind.name for kind in EXPORTERS] == spans + verdicts


def test_who_takes_verdicts_takes_traces_alone():
    """Logs and metrics have none: a door for them would swallow them."""
    assert {kind.name: kind.signals for kind in EXPORTERS[4:]} == {
        name: {Signal.TRACES} for name in ("phoenix", "langfuse", "mlflow", "webhook")
    }


def test_options_become_an_exporter(tmp_path):
    """Options as they come from YAML, nested ones too, build an exporter."""
    exporter = build_exporter("file", {"path": str(tmp_path / "x.jsonl"), "name": "archive"})
    assert exporter.name == "archive"
    exporter.close()
    options = {"endpoint": "tempo:4317", "tls": {"ca_file": str(tmp_path / "none.pem")}}
    with pytest.raises(ConfigError, match=r"none\.pem"):
        build_exporter("otlp_grpc", options)


def test_an_unknown_kind_names_the_known_ones():
    """A typing error is answered with the nearest name and all names."""
    with pytest.raises(ConfigError, match=r"did you mean 'otlp_grpc'.*known: otlp_grpc, otlp_http"):
        exporter_kind("otlp_grcp")


def test_an_unknown_option_names_the_known_ones():
    """So is an option."""
    with pytest.raises(ConfigError, match=r"otlp_http\.endpiont.*'endpoint'"):
        build_exporter("otlp_http", {"endpiont": "http://x"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"otlp_http\.endpoint"),
        ({"endpoint": "http://x", "timeout_seconds": "secret"}, r"otlp_http\.timeout_seconds"),
        ({"endpoint": "http://x", "compression": "secret"}, r"otlp_http\.compression"),
    ],
)
def test_wrong_values_are_named_but_not_shown(options, message):
    """The option is named, the value (a secret, perhaps) is not repeated."""
    with pytest.raises(ConfigError, match=message) as failure:
        build_exporter("otlp_http", options)
    assert "secret" not in str(failure.value)


def test_an_unknown_option_of_a_section_is_refused():
    """A certificate that is misspelt would not be used."""
    options = {"endpoint": "https://x", "tls": {"ca_fille": "/x.pem"}}
    with pytest.raises(ConfigError, match=r"otlp_http\.tls\.ca_fille is not known.*'ca_file'"):
        build_exporter("otlp_http", options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "otlp_http.endpoint: is missing"),
        ({"endpoint": 5}, "otlp_http.endpoint: must be text"),
        ({"endpoint": "http://x", "headers": "x"}, "otlp_http.headers: must be a mapping of names"),
        ({"endpoint": "http://x", "headers": {1: "x"}}, "otlp_http.headers: a name must be text"),
        ({"endpoint": "http://x", "compression": "zip"}, "compression: must be 'gzip' or 'none'"),
        ({"endpoint": "http://x", "timeout_seconds": "x"}, "timeout_seconds: must be a number"),
        (
            {"endpoint": "http://x", "tls": 5},
            "tls: must be a mapping of options (ca_file, cert_file",
        ),
    ],
)
def test_wrong_values_are_told_in_plain_words(options, said):
    """What is allowed, without the value."""
    with pytest.raises(ConfigError) as failure:
        build_exporter("otlp_http", options)
    assert said in str(failure.value)


class ForeignExporter:
    name = "foreign"

    def __init__(self, config) -> None:
        self.config = config

    def export(self, spans):
        return ExportOutcome(len(spans))

    def close(self):
        pass


def test_third_parties_register_by_entry_point(monkeypatch):
    """A kind from another package is loaded when its name is asked for."""
    module = sys.modules[ForeignExporter.__module__]
    config = registry.ConsoleConfig
    monkeypatch.setattr(
        module, "KIND", ExporterKind("foreign", config, ForeignExporter), raising=False
    )
    points = [
        EntryPoint("foreign", f"{__name__}:KIND", registry.ENTRY_POINT_GROUP),
        EntryPoint("wrong", f"{__name__}:ForeignExporter", registry.ENTRY_POINT_GROUP),
        EntryPoint("gone", "no_such_module:KIND", registry.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group else [])
    assert build_exporter("foreign", {}).name == "foreign"
    with pytest.raises(ConfigError, match="is no ExporterKind"):
        exporter_kind("wrong")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        exporter_kind("gone")
    with pytest.raises(ConfigError, match=r"known: .*foreign"):
        exporter_kind("other")

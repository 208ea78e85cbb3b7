"""Where the bridge finds mitmproxy."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from otel_raglog.commands import bridge_environment
from otel_raglog.commands.bridge_environment import find_mitmdump
from otel_raglog.errors import ConfigError


def test_an_installed_mitmproxy_is_taken(tmp_path):
    """Nothing is made then."""
    if find_spec("mitmproxy") is None:
        pytest.skip("mitmproxy is not installed with this Python")
    said = []
    assert find_mitmdump(tmp_path / "none", said.append) == Path(sys.executable).with_name(
        "mitmdump"
    )
    assert said == []


def test_an_environment_that_is_there_is_used_again(tmp_path):
    """It was made at an earlier start."""
    program = tmp_path / "bin" / "mitmdump"
    program.parent.mkdir()
    program.touch()
    assert find_mitmdump(tmp_path, lambda _: None, own=True) == program


def test_a_failed_installation_says_why_and_leaves_nothing(tmp_path, monkeypatch):
    """So that the next start tries again."""
    monkeypatch.setattr(bridge_environment, "REQUIREMENT", "no such requirement ===")
    monkeypatch.setattr(bridge_environment, "_python", lambda: sys.executable)
    with pytest.raises(ConfigError, match="cannot install"):
        find_mitmdump(tmp_path / "env", lambda _: None, own=True)
    assert not (tmp_path / "env").exists()


def test_without_a_python_for_it_the_option_is_named(tmp_path, monkeypatch):
    """Another mitmdump can be named."""
    monkeypatch.setattr(bridge_environment, "_python", lambda: None)
    with pytest.raises(ConfigError, match="--mitmdump"):
        find_mitmdump(tmp_path / "env", lambda _: None, own=True)

"""What was typed for ``bridge run``."""

from __future__ import annotations

import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from otel_raglog.commands.bridge_options import (
    check_addresses,
    check_mitmproxy_options,
    check_own_options,
    parse_settings,
)

FLAGS = {"raglog_endpoint": ("--endpoint", "http://127.0.0.1:4318")}
MITMDUMP = Path(sys.executable).parent / "mitmdump"


def test_a_setting_is_parted_at_its_first_sign():
    """A value may hold one."""
    assert parse_settings(["a=b=c", "d="]) == [("a", "b=c"), ("d", "")]


@pytest.mark.parametrize("typed", ["a", "=b", ""])
def test_a_setting_without_a_name_or_a_sign_is_quoted(typed):
    """It could mean anything."""
    with pytest.raises(typer.BadParameter, match=repr(typed)):
        parse_settings([typed])


def test_settings_of_mitmproxy_are_none_of_the_add_on():
    """Whether they are right is asked of mitmproxy."""
    check_own_options([("nope", "1")], FLAGS, {})


def test_what_has_a_flag_is_given_by_it():
    """mitmproxy would find two values, and leave the add-on out."""
    with pytest.raises(typer.BadParameter, match="--endpoint"):
        check_own_options([("raglog_endpoint", "http://sidecar:4318")], FLAGS, {})


def test_a_wrong_value_of_a_flag_names_the_flag():
    """Not the add-on's option, which nobody typed."""
    with pytest.raises(typer.BadParameter) as caught:
        check_own_options([], {"raglog_endpoint": ("--endpoint", "sidecar")}, {})
    assert caught.value.param_hint == "--endpoint"


@pytest.mark.skipif(find_spec("mitmproxy") is None, reason="mitmproxy is not installed")
@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("nope=1", "nope: neither the add-on nor mitmproxy has such an option"),
        ("block_globl=true", "did you mean block_global?"),
        ("block_global=maybe", "Failed to parse option block_global"),
    ],
)
def test_options_of_mitmproxy_are_asked_of_mitmproxy(typed, said):
    """Before it is started: it would keep an unknown one in silence."""
    with pytest.raises(typer.BadParameter) as caught:
        check_mitmproxy_options(MITMDUMP, parse_settings([typed]))
    assert said in str(caught.value)


@pytest.mark.skipif(find_spec("mitmproxy") is None, reason="mitmproxy is not installed")
def test_options_that_mitmproxy_has_are_taken():
    """With values that fit."""
    check_mitmproxy_options(MITMDUMP, [("block_global", "false"), ("raglog_redact", "x")])


def test_a_program_that_cannot_be_asked_is_said(tmp_path):
    """It could not be started either."""
    with pytest.raises(typer.BadParameter, match="mitmdump"):
        check_mitmproxy_options(tmp_path / "mitmdump", [("block_global", "false")])


def test_an_address_that_is_taken_names_its_flag():
    """Before mitmproxy says it in its own words."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(typer.BadParameter, match=f"cannot listen on {address}") as caught:
            check_addresses([("--front", address)])
    assert caught.value.param_hint == "--front"
    check_addresses([("--front", address)])


def test_an_address_for_two_proxies_is_refused():
    """One of them could not be had."""
    with pytest.raises(typer.BadParameter, match="given twice") as caught:
        check_addresses([("--listen", "127.0.0.1:18099"), ("--front", "127.0.0.1:18099")])
    assert caught.value.param_hint == "--front"

"""What was typed for ``bridge run``, checked before anything is started."""

from __future__ import annotations

import difflib
import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from otel_raglog_proxy_bridge.addon_options import BadOption, read_settings
from otel_raglog_proxy_bridge.typed_options import is_own, typed_values

Setting = tuple[str, str]
"""The name and the text of one ``--set NAME=VALUE``."""

_LIST_SECONDS = 60
_LISTED = re.compile(r"^([a-z0-9_]+):", re.MULTILINE)


def parse_settings(typed: Sequence[str]) -> list[Setting]:
    """Return names and values of ``--set``, in order.

    Raises:
        BadParameter: One has no ``=``.
    """
    parted = [each.partition("=") for each in typed]
    for each, (name, equals, _) in zip(typed, parted, strict=True):
        if not equals or not name:
            raise typer.BadParameter(f"{each!r} is no NAME=VALUE", param_hint="--set")
    return [(name, value) for name, _, value in parted]


def check_addresses(addresses: Sequence[Setting]) -> None:
    """Do nothing if each address, beside the flag that gives it, can be listened on.

    Raises:
        BadParameter: One is given twice, or taken; names the flag.
    """
    seen: set[str] = set()
    for flag, address in addresses:
        if address in seen:
            raise typer.BadParameter(f"{address} is given twice", param_hint=flag)
        seen.add(address)
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, int(port)))
            except OSError as error:
                raise typer.BadParameter(
                    f"cannot listen on {address}: {error.strerror or error}", param_hint=flag
                ) from None


def check_own_options(
    typed: Sequence[Setting], flags: Mapping[str, Setting], own: Mapping[str, str]
) -> None:
    """Do nothing if the add-on can use what was typed for it.

    Args:
        typed: What ``--set`` gave.
        flags: By an option's name, the flag of ``bridge run`` that gives it, and its value.
        own: What ``bridge run`` gives unless ``--set`` does.

    Raises:
        BadParameter: It cannot; names the flag.
    """
    texts = {name: [value] for name, (_, value) in flags.items()}
    given: dict[str, list[str]] = {}
    for name, value in typed:
        if name in flags:
            raise typer.BadParameter(f"{name} is given by {flags[name][0]}", param_hint="--set")
        if is_own(name):
            given.setdefault(name, []).append(value)
    try:
        read_settings(typed_values({**texts, **{name: [own[name]] for name in own}, **given}))
    except BadOption as bad:
        name, _, what = str(bad).partition(": ")
        if name in flags:
            raise typer.BadParameter(what, param_hint=flags[name][0]) from None
        raise typer.BadParameter(str(bad), param_hint="--set") from None


def check_mitmproxy_options(program: Path, typed: Sequence[Setting]) -> None:
    """Do nothing if ``program`` knows the options that are not the add-on's, and takes their values.

    mitmproxy keeps unknown options for add-ons that may come, in silence.

    Raises:
        BadParameter: It does not; quotes it.
    """
    others = [(name, value) for name, value in typed if not is_own(name)]
    if not others:
        return
    command = [str(program), "--options"]
    for name, value in others:
        command += ["--set", f"{name}={value}"]
    try:
        done = subprocess.run(  # noqa: S603  the program that is about to be started
            command, capture_output=True, text=True, timeout=_LIST_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise typer.BadParameter(f"{program}: {error}", param_hint="--mitmdump") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise typer.BadParameter(said.removeprefix(f"{program}: "), param_hint="--set")
    known = _LISTED.findall(done.stdout)
    for name, _ in others:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {nearest[0]}?" if nearest else ""
            raise typer.BadParameter(
                f"{name}: neither the add-on nor mitmproxy has such an option{hint}",
                param_hint="--set",
            )

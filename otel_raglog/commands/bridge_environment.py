"""Where mitmproxy is: beside this Python, on the path, or in an environment made for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from otel_raglog.errors import ConfigError

REQUIREMENT = "mitmproxy>=12"
NEEDED = ("jmespath>=1.0.1",)
"""What the add-on can use beside mitmproxy: stored mappings are JMESPath."""

_OLDEST = (3, 12)
_PYTHONS = ("python3.13", "python3.12", "python3.14", "python3")
_INSTALL_SECONDS = 900


def find_mitmdump(environment: Path, say: Callable[[str], None], *, own: bool = False) -> Path:
    """Return the path of ``mitmdump``.

    First the one that is installed with this Python, then the one in ``environment``, which is
    made when it is not there: mitmproxy pins what it needs, and on Python 3.11 that does not go
    together with what the service needs. With ``own`` the environment is used in any case.

    Raises:
        ConfigError: no fitting Python was found, or the installation failed; says what to do.
    """
    beside = Path(sys.executable).with_name("mitmdump")
    if not own and find_spec("mitmproxy") is not None and beside.exists():
        return beside
    program = environment / "bin" / "mitmdump"
    if not program.exists():
        say(f"making an environment for mitmproxy in {environment}")
        _make(environment)
    return program


def _make(environment: Path) -> None:
    python = _python()
    if python is None:
        raise ConfigError(
            "bridge run: mitmproxy needs Python 3.12 or later, and none was found on the path; "
            "name the program with --mitmdump"
        )
    steps = [
        [python, "-m", "venv", str(environment)],
        [
            str(environment / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            REQUIREMENT,
            *NEEDED,
        ],
    ]
    for step in steps:
        try:
            done = subprocess.run(  # noqa: S603  our own words and the user's path
                step, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
            )
            why = (done.stderr or done.stdout).strip()
            failed = done.returncode != 0
        except (OSError, subprocess.TimeoutExpired) as error:
            why, failed = str(error), True
        if failed:
            shutil.rmtree(environment, ignore_errors=True)
            raise ConfigError(
                f"bridge run: cannot install {REQUIREMENT} in {environment}: {why[-600:]}"
            )


def _python() -> str | None:
    if sys.version_info >= _OLDEST:
        return sys.executable
    for name in _PYTHONS:
        program = shutil.which(name)
        if program and _is_recent(program):
            return program
    return None


def _is_recent(program: str) -> bool:
    question = f"import sys, venv; sys.exit(sys.version_info < {_OLDEST})"
    try:
        done = subprocess.run(  # noqa: S603  a Python on the path
            [program, "-c", question], capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0

"""The command ``otel-raglog``: to its commands, or to the words that say what to install."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line.

    The in-app part of the package installs light; the commands need the extra ``service``.
    """
    try:
        from otel_raglog.commands import run  # noqa: PLC0415  heavy, and perhaps not installed
    except ModuleNotFoundError as error:
        sys.exit(
            f"otel-raglog: this command needs {error.name}, which is not installed here; "
            "install the service with: pip install 'otel-raglog[service]'"
        )
    run()


if __name__ == "__main__":
    main()

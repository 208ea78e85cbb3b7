"""The command line that all applications share."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from tracing_setup import setup


def run(frameworks: list[str], scenarios: dict[str, Callable[[str], object]]) -> None:
    """Turn the instrumentation on and run the scenario that was asked for.

    A scenario is given the name of the instrumentation. `--frameworks` instruments others than the
    application's own, for instance `langchain openai`.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--instrumentation", default="none")
    parser.add_argument("--scenario", choices=sorted(scenarios), required=True)
    parser.add_argument("--frameworks", nargs="+", default=frameworks)
    options = parser.parse_args()
    provider = setup(options.instrumentation, options.frameworks)
    scenarios[options.scenario](options.instrumentation)
    provider.force_flush()

"""Fail when a source file has no test file that mirrors it, or a test mirrors nothing."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {"otel_raglog": "tests/unit", "exporters/otel_raglog_exporters": "tests/unit/exporters"}
EXEMPT = {
    "otel_raglog/cli.py": "run as a command by tests/integration",
    "otel_raglog/errors.py": "declarations",
    "otel_raglog/receive/thin_pb2.py": "generated",
    "otel_raglog/receive/observer.py": "a protocol",
    "otel_raglog/checks/check.py": "a protocol",
    "otel_raglog/detect/detector.py": "a protocol",
    "otel_raglog/conventions/convention.py": "a protocol",
    "otel_raglog/app.py": "run as a service by tests/integration",
    "otel_raglog/building.py": "used by every integration test",
    "otel_raglog/commands/serve.py": "run as a command by tests/integration",
    "otel_raglog/commands/demo.py": "run as a command by tests/integration",
}


def missing_twins() -> list[str]:
    """Return one line for each source file without a test file."""
    problems = []
    for source_root, test_root in SOURCES.items():
        for source in sorted((ROOT / source_root).rglob("*.py")):
            name = source.relative_to(ROOT).as_posix()
            if source.name == "__init__.py" or name in EXEMPT:
                continue
            inside = source.relative_to(ROOT / source_root)
            twin = ROOT / test_root / inside.parent / f"test_{inside.stem.lstrip('_')}.py"
            if not twin.exists():
                problems.append(f"{name} has no {twin.relative_to(ROOT)}")
    return problems


def main() -> None:
    """Print what is missing; exit with 1 when something is."""
    problems = missing_twins()
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

"""Fail when a source file has no test file that mirrors it, or covers it together with others."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    "otel_raglog": "tests/unit",
    "exporters/otel_raglog_exporters": "tests/unit/exporters",
    "proxy_bridge/otel_raglog_proxy_bridge": "tests/unit/proxy_bridge",
}
COVERED = {
    "otel_raglog/cli.py": "tests/integration/test_commands.py",
    "otel_raglog/app.py": "tests/integration/test_serve.py",
    "otel_raglog/building.py": "tests/integration/test_serve.py",
    "otel_raglog/acceptance.py": "tests/fault/test_durability.py",
    "otel_raglog/delivery.py": "tests/fault/test_forwarding.py",
    "otel_raglog/commands/serve.py": "tests/integration/test_serve.py",
    "otel_raglog/commands/demo.py": "tests/integration/test_demo.py",
    "otel_raglog/commands/analyze.py": "tests/integration/test_commands.py",
    "otel_raglog/commands/config.py": "tests/integration/test_commands.py",
    "otel_raglog/commands/explain.py": "tests/integration/test_commands.py",
    "otel_raglog/commands/captures.py": "tests/unit/commands/test_bridge.py",
    "proxy_bridge/otel_raglog_proxy_bridge/threads.py": "tests/unit/proxy_bridge/test_runs.py",
    "proxy_bridge/otel_raglog_proxy_bridge/front_answers.py": "tests/unit/proxy_bridge/test_front_shapes.py",
    "proxy_bridge/otel_raglog_proxy_bridge/front_questions.py": "tests/unit/proxy_bridge/test_front_shapes.py",
    "proxy_bridge/otel_raglog_proxy_bridge/front_routes.py": "tests/unit/proxy_bridge/test_front_shapes.py",
    "proxy_bridge/otel_raglog_proxy_bridge/front_streams.py": "tests/unit/proxy_bridge/test_front_shapes.py",
    "proxy_bridge/otel_raglog_proxy_bridge/front_texts.py": "tests/unit/proxy_bridge/test_front_shapes.py",
    "proxy_bridge/otel_raglog_proxy_bridge/openinference.py": "tests/unit/proxy_bridge/test_spans.py",
    "exporters/otel_raglog_exporters/in_app/process.py": "tests/unit/exporters/in_app/test_outbox.py",
    "exporters/otel_raglog_exporters/retry_after.py": "tests/unit/exporters/test_http_answers.py",
    "otel_raglog/lab/labelling": "tests/unit/lab/test_labels.py",
    "otel_raglog/lab/inject": "tests/unit/lab/inject/test_faults.py",
    "otel_raglog/mapping": "tests/golden/mapping/test_shapes.py",
    "otel_raglog/checks/similarity": "tests/unit/checks/similarity/test_stages.py",
}
"""Files, or all files of a folder, whose behaviour is specified together, and where."""

NO_BEHAVIOUR = {
    "otel_raglog/errors.py": "declarations",
    "otel_raglog/commands/exit_codes.py": "constants",
    "otel_raglog/receive/thin_pb2.py": "generated",
    "otel_raglog/journal/journal_pb2.py": "generated",
    "proxy_bridge/otel_raglog_proxy_bridge/model.py": "declarations",
    "otel_raglog/options.py": "declarations, tested through tests/unit/test_config.py",
    "otel_raglog/checks/check.py": "a protocol",
    "otel_raglog/conventions/convention.py": "a protocol, kept by tests/contract/test_conventions.py",
    "otel_raglog/detect/detector.py": "a protocol",
    "otel_raglog/detect/rules1_weights.py": "a table of constants",
}


def missing_twins() -> list[str]:
    """Return one line for each source file without a test file."""
    problems = []
    for source_root, test_root in SOURCES.items():
        for source in sorted((ROOT / source_root).rglob("*.py")):
            name = source.relative_to(ROOT).as_posix()
            if source.name == "__init__.py" or name in NO_BEHAVIOUR:
                continue
            inside = source.relative_to(ROOT / source_root)
            twin = ROOT / test_root / inside.parent / f"test_{inside.stem}.py"
            together = COVERED.get(name) or COVERED.get(str(Path(name).parent))
            if not twin.exists() and not (together and (ROOT / together).exists()):
                problems.append(f"{name} has no {twin.relative_to(ROOT)}")
    known = [*COVERED, *NO_BEHAVIOUR]
    problems += [f"{name} of this script is gone" for name in known if not (ROOT / name).exists()]
    return problems


def main() -> None:
    """Print what is missing; exit with 1 when something is."""
    problems = missing_twins()
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

"""Real applications under real instrumentations to the golden traces of `tests/golden/conventions/run`.

Each folder of `envs/` is one environment: `requirements.txt` (or `package.json`) and `matrix.yaml`,
a list of `{framework, instrumentation, scenario, command, replies?, env?}`. Every entry is run by
itself, with a stub of its own in `OPENAI_BASE_URL` and a sink of its own in `TRACES_ENDPOINT`; what
the sink got is written to `FRAMEWORK/INSTRUMENTATION/SCENARIO.otlp.jsonl`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the sink of the sample applications
from sink import Sink  # noqa: E402
from stub import Stub  # noqa: E402

OUT = HERE.parents[1] / "golden" / "conventions" / "run"
LIMIT_SECONDS = 120


def run(env: Path, entry: dict, out: Path) -> str | None:
    """Run one entry; return what went wrong, if anything did."""
    target = out / entry["framework"] / entry["instrumentation"]
    target.mkdir(parents=True, exist_ok=True)
    with Stub() as stub, Sink() as sink:
        stub.tell(entry.get("replies", []))
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "stub",
            "OPENAI_BASE_URL": stub.base_url,
            "OPENAI_API_BASE": stub.base_url,
            "TRACES_ENDPOINT": sink.endpoint,
            "PYTHONPATH": f"{HERE}{os.pathsep}{env}",
            **{name: str(value) for name, value in entry.get("env", {}).items()},
        }
        command = [sys.executable if word == "python" else word for word in entry["command"]]
        try:
            done = subprocess.run(
                command,
                cwd=env,
                env=environment,
                timeout=LIMIT_SECONDS,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{entry['scenario']}: still running after {LIMIT_SECONDS} s"
        if done.returncode:
            return f"{entry['scenario']}: exit {done.returncode}\n{done.stderr[-2000:]}"
        if not sink.lines:
            return f"{entry['scenario']}: no span arrived\n{done.stderr[-2000:]}"
        path = target / f"{entry['scenario']}.otlp.jsonl"
        path.write_text("\n".join(sink.lines) + "\n", encoding="utf-8")
    return None


def main() -> int:
    """Run the entries of one environment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("env", type=Path, help="a folder of envs/")
    parser.add_argument("--only", default="", help="part of FRAMEWORK/INSTRUMENTATION/SCENARIO")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    entries = yaml.safe_load((options.env / "matrix.yaml").read_text(encoding="utf-8"))
    problems = []
    for entry in entries:
        name = f"{entry['framework']}/{entry['instrumentation']}/{entry['scenario']}"
        if options.only not in name:
            continue
        print(name, flush=True)
        problem = run(options.env.resolve(), entry, options.out)
        if problem:
            problems.append(f"{name}: {problem}")
    print("\n".join(problems), file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())

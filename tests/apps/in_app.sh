#!/bin/sh
# Run the guide docs/in-app.md with real applications: tests/apps/in_app.sh. PYTHON and TRACES_VENV choose environments.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${TRACES_VENV:-.traces-venv}
[ -n "${TRACES_VENV:-}" ] || tests/apps/environment.sh

.venv/bin/python -m build --wheel --no-isolation --outdir "$work" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
.venv/bin/uv pip install --quiet --no-deps --target "$work/site" "$work"/*.whl
# What makes opentelemetry-instrument configure the SDK; the version is its own.
version=$("$venv/bin/python" -c 'from importlib.metadata import version; print(version("opentelemetry-instrumentation"))')
.venv/bin/uv pip install --quiet --no-deps --target "$work/site" "opentelemetry-distro==$version"
PYTHONPATH="$work/site" "$venv/bin/python" tests/apps/in_app.py

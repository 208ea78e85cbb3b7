#!/bin/sh
# Try the service against real backends and applications, which get environments of their own (2 GB) beside .venv.
# Prometheus, Alertmanager and Chromium come from Debian, where we are root; else their tests are skipped.
# Usage: scripts/e2e.sh [PYTEST ARGUMENTS]
set -eu
cd "$(dirname "$0")/.."
venv=.e2e-venv
requirements=tests/e2e/requirements.txt

[ -x .venv/bin/python ] || { echo "e2e: there is no .venv: run scripts/setup.sh first" >&2; exit 2; }

if [ ! -f "$venv/.done" ] || [ "$requirements" -nt "$venv/.done" ]; then
    rm -rf "$venv"
    .venv/bin/python -m venv "$venv"
    echo "e2e: installing the backends into $venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement requirements/uv.txt
    # Compiled now, or the backends do it while a test waits for their first start.
    "$venv/bin/uv" pip install --quiet --compile-bytecode --python "$venv/bin/python" --require-hashes \
        --requirement "$requirements"
    touch "$venv/.done"
fi

PYTHON="${PYTHON:-.venv/bin/python}" tests/apps/environment.sh

if ! command -v promtool > /dev/null || ! command -v prometheus-alertmanager > /dev/null ||
    ! command -v chromium > /dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
        echo "e2e: installing Prometheus, Alertmanager and Chromium"
        { apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
            --no-install-recommends prometheus prometheus-alertmanager chromium; } > /dev/null 2>&1 ||
            echo "e2e: they could not be installed: their tests are skipped" >&2
        # The tests start their own; Debian's would only take the usual ports.
        if [ -d /run/systemd/system ]; then
            systemctl disable --now --quiet prometheus prometheus-alertmanager || true
        fi
    else
        echo "e2e: not all of Debian's prometheus, prometheus-alertmanager and chromium are here:" \
            "tests of what is missing are skipped" >&2
    fi
fi

RAGLOG_E2E_PHOENIX="$PWD/$venv/bin/phoenix"
RAGLOG_E2E_MLFLOW="$PWD/$venv/bin/mlflow"
RAGLOG_E2E_APPS="$PWD/.traces-venv/bin/python"
export RAGLOG_E2E_PHOENIX RAGLOG_E2E_MLFLOW RAGLOG_E2E_APPS
exec .venv/bin/python -m pytest tests/e2e tests/unit/test_prometheus_rules.py "$@"

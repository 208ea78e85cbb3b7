#!/bin/sh
# Run the applications of each folder of envs/ in an environment of its own and write the golden traces.
# Usage: tests/apps/conventions/run.sh [ENV...]; ONLY=part of FRAMEWORK/INSTRUMENTATION/SCENARIO.
# PYTHON chooses the interpreter (3.11 to 3.13). An environment with a package.json needs Node and npm.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
[ $# -gt 0 ] || set -- $(ls "$here/envs")

fits() {
    "$1" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

for candidate in ${PYTHON:-python3.12 python3.13 python3.11 python3 python}; do
    if fits "$candidate"; then python=$candidate; break; fi
done
[ -n "${python:-}" ] || { echo "traces: no Python 3.11, 3.12 or 3.13 with venv was found" >&2; exit 2; }

for env in "$@"; do
    venv=$root/.traces-venvs/$env
    needs=$here/envs/$env/requirements.txt
    if [ ! -f "$venv/.done" ] || [ "$needs" -nt "$venv/.done" ]; then
        rm -rf "$venv"
        "$python" -m venv "$venv"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
            --requirement "$root/requirements/uv.txt"
        "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes --requirement "$needs"
        touch "$venv/.done"
    fi
    if [ -f "$here/envs/$env/package.json" ] && [ ! -d "$here/envs/$env/node_modules" ]; then
        (cd "$here/envs/$env" && npm install --no-audit --no-fund --no-package-lock --silent)
    fi
    "$venv/bin/python" "$here/generate.py" "$here/envs/$env" --only "${ONLY:-}"
done

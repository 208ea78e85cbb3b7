#!/bin/sh
# Make .traces-venv, the environment of the sample applications, unless it is there. PYTHON chooses the interpreter (3.11 to 3.13).
set -eu
cd "$(dirname "$0")/../.."
venv=.traces-venv

fits() {
    "$1" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

if [ ! -f "$venv/.done" ] || [ tests/apps/requirements.txt -nt "$venv/.done" ]; then
    for candidate in ${PYTHON:-python3.12 python3.13 python3.11 python3 python}; do
        if fits "$candidate"; then python=$candidate; break; fi
    done
    [ -n "${python:-}" ] || { echo "apps: no Python 3.11, 3.12 or 3.13 with venv was found" >&2; exit 2; }
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement requirements/uv.txt
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes \
        --requirement tests/apps/requirements.txt
    touch "$venv/.done"
fi

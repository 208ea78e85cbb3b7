#!/bin/sh
# Make .venv at the root of the repository from the hashed requirements, with otel-raglog in it.
# Usage: scripts/setup.sh [PYTHON]. Without an argument the first fitting Python is taken.
set -eu
cd "$(dirname "$0")/.."

fits() {
    "$1" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

python=${1:-}
if [ -n "$python" ]; then
    fits "$python" || { echo "setup: $python is no Python 3.11, 3.12 or 3.13 with venv" >&2; exit 2; }
else
    # pyenv's shims only work for chosen versions; its folders hold all of them.
    for candidate in python3.12 "$HOME"/.pyenv/versions/3.12*/bin/python3.12 python3.13 python3.11 python3 python; do
        if fits "$candidate"; then python=$candidate; break; fi
    done
    [ -n "$python" ] || { echo "setup: no Python 3.11, 3.12 or 3.13 with venv was found on PATH" >&2; exit 2; }
fi

if [ ! -x .venv/bin/python ] || ! fits .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    "$python" -m venv .venv
fi
echo "setup: $(.venv/bin/python -V) in .venv"
# uv installs the rest several times as fast as pip; its own hash is in the list too.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/uv.txt
.venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes --requirement requirements/dev.txt
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
touch .venv/.done

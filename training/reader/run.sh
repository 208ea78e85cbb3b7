#!/bin/sh
# Make the reader in an environment of its own: examples, training, export.
# Usage: training/reader/run.sh [DATA] [OUT]. PYTHON chooses the interpreter (3.11 to 3.13).
set -eu
cd "$(dirname "$0")/../.."
data=${1:-../shared/data}
out=${2:-build/reader}
venv=training/reader/.venv

fits() {
    "$1" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1
}

[ -d "$data/corpora" ] || { echo "reader: no corpora in $data" >&2; exit 2; }
if [ ! -f "$venv/.done" ] || [ training/reader/requirements.in -nt "$venv/.done" ]; then
    for candidate in ${PYTHON:-python3.12 python3.13 python3.11 python3 python}; do
        if fits "$candidate"; then python=$candidate; break; fi
    done
    [ -n "${python:-}" ] || { echo "reader: no Python 3.11, 3.12 or 3.13 with venv was found" >&2; exit 2; }
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement requirements/uv.txt
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --requirement training/reader/requirements.in
    touch "$venv/.done"
fi
"$venv/bin/python" -m training.reader.examples --data "$data" --out "$out/examples.json"
"$venv/bin/python" -m training.reader.train --examples "$out/examples.json" --out "$out/reader.pt"
exec "$venv/bin/python" -m training.reader.export --weights "$out/reader.pt" --out "$out/reader-2"

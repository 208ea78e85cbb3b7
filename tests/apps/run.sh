#!/bin/sh
# Run the sample applications in an environment of their own and write their traces.
# Usage: tests/apps/run.sh [SEED] [OUT]; OUT defaults to the bundled samples. PYTHON chooses the interpreter (3.11 to 3.13).
set -eu
cd "$(dirname "$0")/../.."
seed=${1:-1}
out=${2:-otel_raglog/samples}

tests/apps/environment.sh
exec .traces-venv/bin/python tests/apps/generate.py --seed "$seed" --out "$out"

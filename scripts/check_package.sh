#!/bin/sh
# Build the sdist, the wheel from it, and try the wheel in environments of its own.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$PWD/.venv/bin

"$bin/python" -m build --no-isolation --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
ls -l "$work/dist"
wheel=$(ls "$work"/dist/*.whl)

# The light part alone: the in-app package imports without numpy and grpc, the command says what to install.
"$bin/uv" venv --quiet --python "$bin/python" "$work/light"
"$bin/uv" pip install --quiet --python "$work/light/bin/python" "$wheel"
cd "$work"
light/bin/python - <<'PY'
import sys
import otel_raglog_exporters
loaded = {"numpy", "grpc", "onnxruntime"} & set(sys.modules)
assert not loaded, loaded
PY
# The in-app exporter is found by the SDK, loads the SDK alone, and reaches a door.
light/bin/python - <<'PY'
import http.server, json, os, sys, threading
bodies = []
class Door(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Door)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {"OTEL_TRACES_EXPORTER": "raglog", "OTEL_EXPORTER_RAGLOG_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
from opentelemetry.sdk._configuration import _OTelSDKConfigurator
_OTelSDKConfigurator().configure()
from opentelemetry import trace
with trace.get_tracer("smoke").start_as_current_span("ask") as span:
    span.set_attributes({f"key.{number}": number for number in range(200)})
trace.get_tracer_provider().shutdown()
(span,) = bodies[0]["resourceSpans"][0]["scopeSpans"][0]["spans"]
assert len(span["attributes"]) == 200, len(span["attributes"])
heavy = {"numpy", "grpc", "sklearn", "requests", "google", "httpx2", "structlog", "pydantic"} & set(sys.modules)
assert not heavy, heavy
print("smoke: the in-app exporter delivers in a light install")
PY
# The bridge runs on the standard library, and brings its prompts and the add-on.
light/bin/python - <<'PY'
import pathlib, sys
import otel_raglog_proxy_bridge
from otel_raglog_proxy_bridge.capture_process import main
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
assert foreign <= {"otel_raglog_proxy_bridge", "__main__", "_virtualenv"}, foreign
folder = pathlib.Path(otel_raglog_proxy_bridge.__path__[0])
assert (folder / "addon.py").exists() and list((folder / "prompts").glob("*.md"))
PY
if light/bin/otel-raglog --version >out.txt 2>&1; then echo "the light install runs commands?"; exit 1; fi
grep -q "otel-raglog\[service\]" out.txt

# The service: version, a configuration, and verdicts on a bundled trace.
"$bin/uv" venv --quiet --python "$bin/python" "$work/full"
"$bin/uv" pip install --quiet --python full/bin/python --constraint "$OLDPWD/requirements/dev.txt" "$wheel[service]"
full/bin/otel-raglog --version
full/bin/otel-raglog config check
full/bin/python - <<'PY'
import importlib.resources, json, pathlib, subprocess, sys
traces = importlib.resources.files("otel_raglog.samples") / "handbook-runs.otlp.jsonl.gz"
command = [str(pathlib.Path(sys.prefix) / "bin" / "otel-raglog"), "analyze", str(traces), "--format", "json"]
reports = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
assert len(reports) >= 30, len(reports)
assert all(report["stages"]["generator"] for report in reports)
print(f"smoke: {len(reports)} runs judged by the installed wheel")
PY

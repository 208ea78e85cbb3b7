"""The in-app exporter in real applications: processes of their own, before a real service."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from in_app_kit import running_door
from ports import free_port
from services import collect, running_sink, serving

from otel_raglog.receive.span import decode_span

DOCUMENTS = 60
APPLICATION = f"""
import json, os, sys
from opentelemetry import trace
from opentelemetry.trace import set_span_in_context

def answer(question="How many days of leave?"):
    tracer = trace.get_tracer("shop")
    with tracer.start_as_current_span("ask") as root:
        root.set_attributes({{"openinference.span.kind": "CHAIN", "input.value": question}})
        with tracer.start_as_current_span("retrieve") as span:
            span.set_attributes({{"openinference.span.kind": "RETRIEVER", "input.value": question}})
            for number in range({DOCUMENTS}):
                key = f"retrieval.documents.{{number}}.document"
                span.set_attribute(f"{{key}}.content", f"Paragraph {{number}} on parking." if number else
                                   "Employees have 25 days of leave a year.")
                span.set_attribute(f"{{key}}.id", f"d{{number}}")
                span.set_attribute(f"{{key}}.score", 0.9 - number / 100)
        with tracer.start_as_current_span("generate") as span:
            reply = "Employees have 25 days of leave."
            span.set_attributes({{
                "openinference.span.kind": "LLM", "llm.model_name": "m",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content":
                    "Context: Employees have 25 days of leave a year.\\n" + question,
                "llm.output_messages.0.message.content": reply, "output.value": reply}})
        root.set_attribute("output.value", reply)
"""
CONFIGURED = """
from opentelemetry.sdk._configuration import _OTelSDKConfigurator
_OTelSDKConfigurator().configure()
"""
BY_HAND = """
from opentelemetry.sdk.trace import TracerProvider
from otel_raglog_exporters.in_app import RaglogSpanProcessor
provider = TracerProvider()
provider.add_span_processor(RaglogSpanProcessor())
trace.set_tracer_provider(provider)
"""


def run(code, endpoint, **variables):
    """Run an application to its end; it must do so without a fault and in time."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    environment = kept | {"OTEL_EXPORTER_RAGLOG_ENDPOINT": endpoint} | variables
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_importing_loads_the_sdk_and_nothing_else():
    """Neither numpy, grpc, sklearn nor requests, nor anything else that a base install lacks."""
    code = """
        import json, sys
        before = set(sys.modules)
        import otel_raglog_exporters.in_app as in_app
        exporter = in_app.RaglogSpanExporter()
        print(json.dumps(sorted(set(sys.modules) - before)))
    """
    done = subprocess.run(
        [sys.executable, "-I", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    modules = json.loads(done.stdout)
    foreign = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    assert foreign <= {"opentelemetry", "typing_extensions", "otel_raglog", "otel_raglog_exporters"}
    ours = {name for name in modules if name.startswith("otel_raglog.")}
    assert ours <= {"otel_raglog.clock", "otel_raglog.errors"}
    assert not {name for name in modules if name.startswith("opentelemetry.exporter")}


@pytest.mark.parametrize("setup", [CONFIGURED, BY_HAND], ids=["OTEL_TRACES_EXPORTER", "by hand"])
def test_a_trace_of_many_documents_is_judged_whole(tmp_path, setup):
    """Through the SDK's own configurator or by hand: no attribute is lost, a verdict comes out."""
    with running_sink() as sink, serving(tmp_path, {"sink": sink.endpoint}) as served:
        done = run(
            APPLICATION + setup + "answer()",
            f"http://localhost:{served.addresses['http'].rpartition(':')[2]}",
            OTEL_TRACES_EXPORTER="raglog",
            OTEL_SERVICE_NAME="shop",
        )
        spans = {span.name: span for span in map(decode_span, collect(sink, 3))}
        assert served.metric("raglog_runs_total", service="shop") == 1
    retriever = spans["retrieve"]
    assert retriever.attributes["input.value"] == "How many days of leave?"
    documents = [key for key in retriever.attributes if key.endswith("document.content")]
    assert len(documents) == DOCUMENTS
    assert retriever.dropped_attributes_count == 0
    assert retriever.attributes["raglog.stage"] == "retriever"
    assert spans["ask"].attributes["raglog.run.verdict"] in {"ok", "faulty"}
    assert spans["ask"].attributes["raglog.run.completion"] == "root_quiet"
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in done.stderr


@pytest.mark.parametrize("state", ["down", "hanging"])
def test_an_application_ends_with_its_sidecar_gone(state):
    """Its last spans are lost and told; its exit is not held up for longer than was set."""
    with running_door() as door:
        door.stuck = True
        endpoint = door.endpoint if state == "hanging" else f"http://localhost:{free_port()}"
        done = run(
            APPLICATION + CONFIGURED + "answer(); print('served')",
            endpoint,
            OTEL_TRACES_EXPORTER="raglog",
            OTEL_EXPORTER_RAGLOG_SHUTDOWN_SECONDS="0.5",
        )
    assert done.stdout == "served\n"
    assert "3 spans were not delivered to otel-raglog" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_variable_that_is_wrong_does_not_stop_an_application():
    """It is told, and telemetry goes where it goes by default."""
    done = run(
        APPLICATION + CONFIGURED + "print(type(trace.get_tracer_provider()).__name__)",
        "sidecar:4318",
        OTEL_TRACES_EXPORTER="raglog",
    )
    assert done.stdout == "TracerProvider\n"
    assert "OTEL_EXPORTER_RAGLOG_ENDPOINT is not used" in done.stderr


FORKING = """
answer("parent before")
children = []
for number in range(2):
    child = os.fork()
    if child == 0:
        answer(f"child {number}")
        trace.get_tracer_provider().shutdown()
        os._exit(0)
    children.append(child)
answer("parent after")
codes = [os.waitpid(child, 0)[1] for child in children]
print(codes)
"""


@pytest.mark.parametrize("setup", [CONFIGURED, BY_HAND], ids=["OTEL_TRACES_EXPORTER", "by hand"])
def test_workers_of_a_preloading_server_send_their_own_spans(setup):
    """As gunicorn forks after loading the application: each trace once, each one whole."""
    with running_door() as door:
        done = run(APPLICATION + setup + FORKING, door.endpoint, OTEL_TRACES_EXPORTER="raglog")
        traces = {}
        for spans in door.traces():
            for span in spans:
                traces.setdefault(span["traceId"], []).append(span)
    assert done.stdout == "[0, 0]\n"
    questions = sorted(
        attribute["value"]["stringValue"]
        for spans in traces.values()
        for span in spans
        for attribute in span["attributes"]
        if attribute["key"] == "input.value" and span["name"] == "ask"
    )
    assert questions == ["child 0", "child 1", "parent after", "parent before"]
    assert [len(spans) for spans in traces.values()] == [3] * 4


def test_spans_that_end_while_the_interpreter_does_are_sent():
    """A handler of atexit that ran before ours may still end some, without a thread to be had."""
    code = f"""
        import atexit
        {CONFIGURED.strip().replace(chr(10), chr(10) + " " * 8)}
        from opentelemetry import trace
        span = trace.get_tracer("t").start_span("last")
        atexit.register(span.end)
    """
    with running_door() as door:
        run(code, door.endpoint, OTEL_TRACES_EXPORTER="raglog")
        assert door.names() == [["last"]]

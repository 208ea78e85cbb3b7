"""A LlamaIndex application: rewritten query, embedder, Chroma, reranker, answer, all over HTTP.

    python llamaindex_app.py < questions.json             # a list of questions to a list of answers
    python llamaindex_app.py --serve PORT                 # POST /ask {"question": …} → {"answer": …}

It knows nothing of tracing and takes its proxy from the environment; `--instrument ENDPOINT` adds
OpenInference and exports there. `MODEL_ENDPOINT` and `CHROMA_PORT` say where its servers are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import uvicorn
from faults import Faults
from llama_index.core.response_synthesizers import get_response_synthesizer
from llamaindex_parts import HttpRerank, Search, build_llm, context_prompt, instrument
from llamaindex_rewrite import ANSWER_PROMPT, RewritingQueryEngine
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

SERVICE = "ticket-desk"
Ask = Callable[[str], str]


def build() -> Ask:
    """Fill the index; each question then has its answer."""
    faults = Faults()
    llm = build_llm()
    engine = RewritingQueryEngine(
        llm=llm,
        retriever=Search(SERVICE, faults).retriever(),
        reranker=HttpRerank(),
        synthesizer=get_response_synthesizer(
            llm=llm, text_qa_template=context_prompt(ANSWER_PROMPT, faults)
        ),
    )
    return lambda question: str(engine.query(question))


def traced(endpoint: str) -> TracerProvider:
    """Turn the instrumentation on; shutting the provider down sends what is left."""
    name = os.environ.get("SERVICE_NAME", SERVICE)
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    instrument(provider)
    return provider


def serve(ask: Ask, port: int) -> None:
    """Answer over HTTP until the process is stopped."""

    async def question(request: Request) -> Response:
        asked = (await request.json())["question"]
        return JSONResponse({"answer": ask(asked)})

    async def health(_: Request) -> Response:
        return PlainTextResponse("ok")

    routes = [Route("/ask", question, methods=["POST"]), Route("/health", health)]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="warning")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instrument", metavar="ENDPOINT", help="for instance …:4318/v1/traces")
    parser.add_argument("--serve", type=int, metavar="PORT")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    provider = traced(arguments.instrument) if arguments.instrument else None
    ask = build()
    if arguments.serve:
        serve(ask, arguments.serve)
    else:
        json.dump([ask(question) for question in json.load(sys.stdin)], sys.stdout)
    if provider is not None:
        provider.shutdown()


if __name__ == "__main__":
    main()

"""The blocks of docs/in-app.md to traces of real applications, sent to a real service, and its verdicts.

    tests/apps/in_app.sh

which installs the wheel beside the applications' environment. Prints a line for each way.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
from contextlib import ExitStack
from pathlib import Path

from catalogue import load_catalogue
from generate import StubControl, running
from planning import plan_jobs

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
LLAMAINDEX = """
import os, sys
from catalogue import load_handbook
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

model = {"api_base": os.environ["MODEL_ENDPOINT"], "api_key": "none"}
embedder = OpenAILikeEmbedding(model_name="all-MiniLM-L6-v2", **model)
llm = OpenAILike(model="harbour-chat-1", is_chat_model=True, context_window=8192, **model)
nodes = [TextNode(id_=page.id, text=page.text) for page in load_handbook()]
index = VectorStoreIndex(nodes, embed_model=embedder)
index.as_query_engine(llm=llm, similarity_top_k=40).query(sys.argv[1])
"""
LLAMAINDEX_TURNED_ON = """
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
LlamaIndexInstrumentor().instrument()  # see docs/in-app.md: opentelemetry-instrument does not
"""
LANGCHAIN = """
import os, sys
from catalogue import load_handbook
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

model = {"base_url": os.environ["MODEL_ENDPOINT"], "api_key": "none"}
embedder = OpenAIEmbeddings(model="all-MiniLM-L6-v2", check_embedding_ctx_length=False, **model)
pages = [Document(page.text, id=page.id) for page in load_handbook()]
store = InMemoryVectorStore.from_documents(pages, embedder)
prompt = ChatPromptTemplate.from_messages(
    [("system", "Answer from the context only.\\n\\nContext:\\n{context}"), ("human", "{question}")]
)
join = lambda found: "\\n\\n".join(page.page_content for page in found)
retriever = store.as_retriever(search_kwargs={"k": 40})
chain = {"context": retriever | join, "question": RunnablePassthrough()} | prompt
(chain | ChatOpenAI(model="harbour-chat-1", **model) | StrOutputParser()).invoke(sys.argv[1])
"""


def guide_blocks() -> list[str]:
    """The Python blocks of the guide."""
    text = (ROOT / "docs" / "in-app.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def sidecar_config(folder: Path) -> dict[str, object]:
    """A service on free ports that writes what it forwards to a file."""
    port = {"port": 0}
    return {
        "receive": {"grpc": port, "http": port},
        "metrics": port,
        "health": port,
        "journal": {"path": str(folder / "journal")},
        "hold": {"quiet_seconds": 0.5},
        "exporters": {"file": {"kind": "file", "path": str(folder / "spans.jsonl")}},
    }


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    """Return when a file is there."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not file.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{file.name} did not come")
        time.sleep(0.1)


def wait_for_stub(control: StubControl) -> None:
    """Return when the stub answers: it says its port a little earlier."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            control.take_log()
        except urllib.error.URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def try_way(
    name: str, code: str, launcher: list[str], environment: dict[str, str], question: str
) -> dict[str, str]:
    """Run an application before a service of its own; return the verdict of each stage."""
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        folder = Path(place)
        config, ready, app = folder / "raglog.json", folder / "ready.json", folder / "app.py"
        config.write_text(json.dumps(sidecar_config(folder)))
        serve = [str(ROOT / ".venv/bin/otel-raglog"), "serve", "-c", str(config)]
        log = stack.enter_context((folder / "log").open("w"))
        service = stack.enter_context(
            running([*serve, "--ready-file", str(ready)], stdout=log, stderr=log)
        )
        wait_for(ready, service)
        door = f"http://{json.loads(ready.read_text())['http']}"
        app.write_text(code.replace("http://localhost:4318", door))
        own = {"OTEL_EXPORTER_RAGLOG_ENDPOINT": door}
        command = [*launcher, str(app), question]
        subprocess.run(command, env=environment | own, check=True, timeout=120)
        service.terminate()  # what is held is judged at the end
        service.wait(PATIENCE_SECONDS)
        lines = (folder / "spans.jsonl").read_text().splitlines()
        verdicts = stage_verdicts(lines)
        print(f"{name}: {json.dumps(verdicts)}", flush=True)
        return verdicts


def stage_verdicts(lines: list[str]) -> dict[str, str]:
    """Read verdicts off spans; a span that lost attributes is an error."""
    verdicts = {}
    for line in lines:
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    if span.get("droppedAttributesCount"):
                        raise RuntimeError(f"{span['name']} lost attributes")
                    values = {a["key"]: a["value"].get("stringValue") for a in span["attributes"]}
                    if "raglog.run.verdict" in values:
                        verdicts["run"] = values["raglog.run.verdict"]
                    if "raglog.stage" in values:
                        verdicts[values["raglog.stage"]] = values["raglog.verdict"]
    return verdicts


def main() -> None:
    """Try every way; fail when one brings no verdict on retriever and generator."""
    jobs = plan_jobs(1, load_catalogue())
    plan = next(job["plans"][0] for job in jobs if job["pipeline"] == "handbook-search")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    kept["PYTHONPATH"] = os.pathsep.join([kept.get("PYTHONPATH", ""), str(Path(__file__).parent)])
    by_variables = {
        "OTEL_TRACES_EXPORTER": "raglog",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_SERVICE_NAME": "handbook",
    }
    python = [sys.executable]
    instrument = [str(Path(sys.executable).parent / "opentelemetry-instrument"), *python]
    llamaindex, langchain = guide_blocks()
    with running([sys.executable, "stub_openai.py"], stdout=subprocess.PIPE) as stub:
        control = StubControl(int(stub.stdout.readline()))
        wait_for_stub(control)
        control.set_plans([plan])
        kept["MODEL_ENDPOINT"] = f"{control.endpoint}/v1"
        question = plan["question"]
        ways = {
            "LlamaIndex, processor": (llamaindex + LLAMAINDEX, python, kept),
            "LangChain, processor": (langchain + LANGCHAIN, python, kept),
            "LlamaIndex, opentelemetry-instrument": (
                LLAMAINDEX_TURNED_ON + LLAMAINDEX,
                instrument,
                kept | by_variables,
            ),
            "LangChain, opentelemetry-instrument": (LANGCHAIN, instrument, kept | by_variables),
        }
        results = [try_way(name, *way, question) for name, way in ways.items()]
    judged = all({"run", "retriever", "generator"} <= result.keys() for result in results)
    sys.exit(0 if judged else "not every way brought its verdicts")


if __name__ == "__main__":
    main()

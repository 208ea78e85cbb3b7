"""The name of an application to its answers, and to a file that tells what each of its HTTP calls was for.

MODEL_ENDPOINT=… CHROMA_PORT=… HTTP_PROXY=… python run_app.py NAME --out side.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import urllib.request
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import catalogue
from asked import PAGES, TOGETHER, plans_for
from faults import Faults
from noting import Notes

SAMPLES: dict[str, tuple[str, dict[str, str]]] = {
    "handbook-search": ("llamaindex_query", {}),
    "passenger-desk": (
        "llamaindex_rewrite",
        {
            "BaseSynthesizer.synthesize": "generator",
            "RewritingQueryEngine.custom_query": "rewriter",
        },
    ),
    "crew-assistant": (
        "llamaindex_chat",
        {"CondensePlusContextChatEngine._condense_question": "rewriter"},
    ),
    "office-answers": ("langchain_rag", {}),
    "policy-finder": (
        "langchain_multiquery",
        {"MultiQueryRetriever.generate_queries": "rewriter"},
    ),
    "island-chat": ("langchain_chat", {"RunnableBranch.stream": "rewriter"}),
    "compare-desk": ("langgraph_hops", {"build.<locals>.split": "rewriter"}),
}
"""The sample applications of the demo: their module, and what their model is for by the caller."""

Ask = Callable[[dict[str, Any]], str | None]


def build(name: str, folder: Path) -> tuple[Notes, Ask]:
    """Build an application and fill its index; asking gives the answer where it tells it."""
    _shrink(folder)
    if name in SAMPLES:
        module, callers = SAMPLES[name]
        notes = Notes(callers)
        notes.install()
        return notes, _sample(import_module(module))
    for module in ("llamaindex_desks", "langchain_desks"):
        desks = import_module(module)
        if name in desks.DESKS:
            construct, callers = desks.DESKS[name]
            notes = Notes(callers)
            notes.install()
            answer = construct(desks.Desk(name, notes))
            return notes, _desk(answer)
    raise SystemExit(f"there is no {name}")


def _desk(answer: Callable[[str], str]) -> Ask:
    return lambda plan: answer(plan["question"])


def _sample(module: Any) -> Ask:
    faults = Faults()
    if hasattr(module, "Application"):
        application = module.Application(faults)
        answer = application.answer
    else:
        answer = module.build(faults)

    def ask(plan: dict[str, Any]) -> None:
        faults.use(plan)
        answer({"plans": [plan], "session": plan["session"]})

    return ask


def _shrink(folder: Path) -> None:
    """Give the applications a smaller handbook and fewer notices: the recordings are kept small."""
    for path in catalogue.HANDBOOK.glob("*.md"):
        if path.stem in PAGES:
            (folder / path.name).write_bytes(path.read_bytes())
    catalogue.HANDBOOK = folder
    whole = catalogue.load_catalogue()
    catalogue.load_catalogue = lambda: replace(whole, notices=whole.notices[:2])


class Stub:
    """The stub's side channel, past the proxy."""

    def __init__(self) -> None:
        self._base = os.environ["MODEL_ENDPOINT"].removesuffix("/v1")
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def tell(self, path: str, value: Any) -> None:
        """Set the plans in force, or how many calls fail."""
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self._base + path, json.dumps(value).encode(), headers)
        self._opener.open(request).close()

    def answer_to(self, question: str) -> str | None:
        """What the model answered last to a question."""
        with self._opener.open(f"{self._base}/_log") as response:
            log = json.load(response)
        said = [
            entry["text"]
            for entry in log
            if entry["role"] == "generator" and entry["question"] == question
        ]
        return said[-1] if said else None


def record(name: str, notes: Notes, ask: Ask) -> list[dict[str, Any]]:
    """Ask everything, several at once where the application is used so."""
    stub = Stub()
    plans = plans_for(name)
    runs: list[dict[str, Any]] = []
    at_once = TOGETHER.get(name, 1)

    def one(number: int, plan: dict[str, Any]) -> None:
        with notes.run(number):
            answer = ask(plan)
        if name in SAMPLES:
            answer = stub.answer_to(plan["question"]) or "Empty Response"
        runs.append(
            {
                "run": number,
                "question": plan["question"],
                "answer": answer,
                "session": plan["session"],
                "turn": plan["turn"],
            }
        )

    for start in range(0, len(plans), at_once):
        batch = plans[start : start + at_once]
        stub.tell("/_plan", batch)
        if name == "retrying-desk":
            stub.tell("/_fail", {"times": 1 + start})
        threads = [
            threading.Thread(target=one, args=(start + number, plan))
            for number, plan in enumerate(batch)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if len(runs) != len(plans):
        raise SystemExit(f"{name} answered {len(runs)} of {len(plans)} questions")
    return sorted(runs, key=lambda run: run["run"])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    with tempfile.TemporaryDirectory() as folder:
        notes, ask = build(arguments.name, Path(folder))
        runs = record(arguments.name, notes, ask)
    value = {"runs": runs, "calls": notes.written()}
    arguments.out.write_text(json.dumps(value, ensure_ascii=False))


if __name__ == "__main__":
    main()

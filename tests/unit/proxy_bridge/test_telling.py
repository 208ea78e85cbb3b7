"""Who tells what a call is, in order, and what is kept of it."""

from __future__ import annotations

import json

from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.mapping_store import MappingStore
from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.parsing import parse
from otel_raglog_proxy_bridge.telling import tellers

PASSAGES = [
    "Annual leave is 27 days a year for everybody.",
    "Laptops are replaced every four years.",
]


def call(path="/find", request=None, response=None):
    request = (
        {"query": "How much annual leave is there?", "top_k": 2} if request is None else request
    )
    response = (
        {
            "passages": [
                {"id": str(n), "text": each, "score": 1 - n / 10} for n, each in enumerate(PASSAGES)
            ]
        }
        if response is None
        else response
    )
    return parse(Call("1", "POST", f"http://own.test{path}", 200, {}, {}, json.dumps(request), json.dumps(response)))  # fmt: skip


def now():
    return "2026-11-30T00:00:00+00:00"


class Asker:
    """An LLM that says yes to the question with certain words, and counts."""

    def __init__(self, words, expressions):
        self.words = words
        self.expressions = expressions
        self.asked = 0

    def ask(self, system, prompt, schema):
        self.asked += 1
        if "answer" in schema["properties"]:
            yes = self.words in prompt.split("## Your question")[-1]
            return {"answer": "yes" if yes else "no"}
        return {key: self.expressions.get(key, "") for key in schema["properties"]}


def test_a_known_api_is_told_before_structure():
    """Its rule is named."""
    read = Classifier(tellers()).classify(call("/v1/embeddings", {"input": "a"}, {"data": []}))
    assert read.decision.rule == "openai.embeddings"


def test_an_unknown_search_is_told_by_its_structure_and_kept(tmp_path):
    """The next call of it is told by the stored mapping."""
    first = Classifier(tellers(tmp_path, "app", now=now)).classify(call())
    assert (first.decision.stage, first.decision.by) == ("retriever", "rule")
    assert [each.text for each in first.reading.searches[0].documents] == PASSAGES
    (entry,) = MappingStore(tmp_path, "app").load()
    assert entry.current.mapping.origin == "structure"
    second = Classifier(tellers(tmp_path, "app", now=now)).classify(call())
    assert (second.decision.stage, second.decision.by) == ("retriever", "mapping")
    assert second.reading == first.reading


def test_without_a_folder_nothing_is_kept(tmp_path):
    """Structure tells all the same."""
    read = Classifier(tellers()).classify(call())
    assert read.decision.by == "rule"
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_written_costs_nothing_else(tmp_path):
    """The call is told and read."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    read = Classifier(tellers(blocked, "app", now=now)).classify(call())
    assert read.decision.stage == "retriever"


ODD = {
    "wisdom": {
        "k7": "Annual leave is 27 days a year for everybody.",
        "k9": "Laptops last four years.",
    }
}


def test_an_llm_is_asked_last_and_its_mapping_is_kept(tmp_path):
    """Once: after that the mapping tells."""
    asker = Asker(
        "search for passages",
        {"query": "request.about", "documents": "values(response.wisdom)[].{text: @}"},
    )
    odd = call("/wisdom", {"about": "How much annual leave is there?"}, ODD)
    assert Classifier(tellers()).classify(odd).decision.by == "none"
    read = Classifier(tellers(tmp_path, "app", asker, now)).classify(odd)
    assert (read.decision.stage, read.decision.by) == ("retriever", "llm")
    assert read.reading.searches[0].query == "How much annual leave is there?"
    asked = asker.asked
    assert Classifier(tellers(tmp_path, "app", asker, now)).classify(odd).decision.by == "mapping"
    assert asker.asked == asked


def test_a_silent_llm_leaves_the_call_untold():
    """It counts as irrelevant, decided by nobody."""

    class Silent:
        def ask(self, system, prompt, schema):
            return None

    odd = call("/wisdom", {"about": "How much annual leave is there?"}, ODD)
    read = Classifier(tellers(asker=Silent())).classify(odd)
    assert (read.decision.stage, read.decision.by) == ("irrelevant", "none")


def test_a_look_uses_stored_mappings_and_keeps_none(tmp_path):
    """As for calls that were captured before."""
    looking = Classifier(tellers(tmp_path, "app", now=now, keeps=False))
    assert looking.classify(call()).decision.by == "rule"
    assert list(tmp_path.iterdir()) == []
    Classifier(tellers(tmp_path, "app", now=now)).classify(call())
    assert looking.classify(call()).decision.by == "mapping"


def test_stored_mappings_that_cannot_be_read_are_told_once(tmp_path, caplog):
    """In the log of a running bridge, or to whom it asks; calls are told by rules."""
    path = MappingStore(tmp_path, "app").path
    path.write_text("{")
    told = []
    for warn in ({}, {"warn": told.append}):
        classifier = Classifier(tellers(tmp_path, "app", keeps=False, **warn))
        assert [classifier.classify(call()).decision.by for _ in range(2)] == ["rule", "rule"]
    (logged,) = (record.getMessage() for record in caplog.records)
    assert told == [logged.removeprefix("raglog: ")]
    assert f"{path} is damaged" in logged


def test_a_mapping_that_cannot_be_stored_is_told_once(tmp_path):
    """The calls are told and read."""
    (tmp_path / "file").write_text("no folder")
    told = []
    classifier = Classifier(tellers(tmp_path / "file", "app", warn=told.append))
    for path in ("/find", "/other"):
        assert classifier.classify(call(path)).decision.stage == "retriever"
    assert sum("could not be stored" in sentence for sentence in told) == 1

"""What scripts and the JSON API are told of services' set-up."""

import json

from otel_raglog.explaining.setup import Finding, ServiceSetup, StageSetup
from otel_raglog.explaining.setup_json import setup_json
from otel_raglog.model import Stage

RETRIEVER = StageSetup(Stage.RETRIEVER, 3, 1, 0, 0, 4, (("search [docs]", 3),), ("OpenInference",))
EMBEDDER = StageSetup(Stage.EMBEDDER, 0, 0, 4, 0, 4, (), (), "no span", "instrument it")
SERVICE = ServiceSetup(
    service="shop",
    traces=1,
    runs=4,
    counted=4,
    judgeable=3,
    conventions=("OpenInference",),
    stages=(EMBEDDER, RETRIEVER),
    findings=(Finding("no_session", "runs without\x1b a session id", 4, "set one", ("ab12",)),),
)


def test_json_has_what_is_printed():
    """For scripts: numbers, and every stage by name."""
    (data,) = json.loads(json.dumps(setup_json([SERVICE])))
    assert data["stages"]["retriever"]["share"] == 0.75
    assert data["stages"]["retriever"]["span_names"]["search [docs]"] == 3
    assert data["stages"]["embedder"]["remedy"] == "instrument it"
    assert data["findings"][0] == {
        "kind": "no_session",
        "what": "runs without\x1b a session id",
        "count": 4,
        "remedy": "set one",
        "traces": ["ab12"],
    }

"""No check may read what is known of a run: whatever labels say, measurements stay."""

import random

from handbook_runs import HANDBOOK, FakeCrossEncoder, FakeEncoder
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import measure
from otel_raglog.detect.artifact import load_artifact
from otel_raglog.detect.choosing import BUNDLED
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import FAULT_TYPES, Stage

CHECKS = build_checks(FakeEncoder(), FakeCrossEncoder())
DETECTORS = (Rules1(), *(Ensemble(load_artifact(BUNDLED / name)) for name in ("local", "light")))
SECRET = ("labels", "reference", "injected", "group")

NAMES = st.sampled_from(sorted(HANDBOOK))
QUESTIONS = st.sampled_from(
    ["How many vacation days do full-time employees get?", "and for interns?", "", "Who is Anna Schmidt?"]
)  # fmt: skip
TEXTS = st.one_of(QUESTIONS, NAMES.map(HANDBOOK.__getitem__), st.text(max_size=60))
LABELS = st.fixed_dictionaries(
    {},
    optional={
        stage.value: st.fixed_dictionaries(
            {
                "faulty": st.booleans(),
                "types": st.lists(st.sampled_from(FAULT_TYPES[stage]).map(str), max_size=2),
            }
        )
        for stage in Stage
    },
)


@st.composite
def records(draw):
    """Run records of any shape, with labels, a reference and perhaps an injection."""
    names = draw(st.lists(NAMES, max_size=4, unique=True))
    passed = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    shown = "\n".join(HANDBOOK[name] for name in passed)
    record = {
        "id": draw(st.sampled_from(["r1", "r2", "r3"])),
        "pipeline": draw(st.sampled_from(["dense", "bm25"])),
        "question": draw(QUESTIONS),
        "retrieved": [{"id": name, "text": HANDBOOK[name], "score": 0.5} for name in names],
        "passed": passed,
        "prompt": f"Context: {shown}\n\n{draw(TEXTS)}",
        "answer": draw(TEXTS),
        "labels": draw(LABELS),
        "reference": {
            "answers": draw(st.lists(TEXTS, max_size=2)),
            "evidence_ids": draw(st.lists(NAMES, max_size=2)),
            "correct": draw(st.booleans()),
        },
        "injected": draw(
            st.none()
            | st.fixed_dictionaries(
                {"stage": st.sampled_from(Stage).map(str), "type": TEXTS, "before": TEXTS}
            )
        ),
        "group": draw(st.sampled_from(["q1", "q2", "q3"])),
    }
    for key, value in {
        "rewrites": st.lists(TEXTS, min_size=1, max_size=3),
        "embedder_input": TEXTS,
        "reranked": st.just([{"id": name, "score": 0.1} for name in names]),
    }.items():
        if draw(st.booleans()):
            record[key] = draw(value)
    return record


@settings(max_examples=20, deadline=None)
@given(st.lists(records(), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_shuffled_labels_change_no_measurement(
    originals: list[dict[str, object]], order: random.Random
) -> None:
    """Nor a verdict: labels, references, injections and groups go to other runs, or are lost."""
    for key in SECRET:
        values = [record[key] for record in originals]
        order.shuffle(values)
        shuffled = [{**record, key: value} for record, value in zip(originals, values, strict=True)]
        without = [{k: v for k, v in record.items() if k not in SECRET} for record in originals]
        for one, other, bare in zip(originals, shuffled, without, strict=True):
            run = run_from_record(one)
            assert run_from_record(other) == run
            assert run_from_record(bare) == run
            found = measure(run, CHECKS)
            assert measure(run_from_record(other), CHECKS) == found
            again = run_from_record(bare)
            for detector in DETECTORS:
                verdicts = detector.judge(run, found)
                assert detector.judge(again, measure(again, CHECKS)) == verdicts

"""How far two judges agree."""

import pytest

from otel_raglog.lab.judges.agreement import agreement_in, kappa_of
from otel_raglog.model import Stage


def record(one, other, adjudicated=(), unlabelled=()):
    return {
        "labelled_by": {
            "judges": [{"judge": "a", "faulty": one}, {"judge": "b", "faulty": other}],
            "adjudicator": {"judge": "c"},
            "adjudicated": list(adjudicated),
        },
        "unlabelled": dict.fromkeys(unlabelled, "why"),
    }


def test_kappa_is_cohens():
    """Agreement beyond what chance alone would give: a textbook table of 50 cases, 0.40."""
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10
    pairs += [(False, False)] * 15
    assert kappa_of(pairs) == pytest.approx(0.4)
    assert kappa_of([(True, True), (False, False)]) == 1
    assert kappa_of([(True, False), (False, True)]) == -1


def test_kappa_needs_two_things_to_be_said():
    """Two that always say one thing agree by chance as well."""
    assert kappa_of([]) is None
    assert kappa_of([(False, False)] * 9) is None


def test_agreement_per_stage_and_overall():
    """With what went to the third, and what nobody could label."""
    found = agreement_in(
        [
            record({"retriever": True, "generator": False}, {"retriever": True, "generator": True},
                   adjudicated=["generator"]),
            record({"retriever": False, "generator": False}, {"retriever": False, "generator": False}),
            record({}, {"retriever": True}, unlabelled=["retriever", "generator"]),
            {"id": "labelled by a corpus"},
        ]
    )  # fmt: skip
    assert list(found) == [Stage.RETRIEVER, Stage.GENERATOR, None]
    retriever, generator, overall = found.values()
    assert (retriever.both, retriever.same, retriever.kappa) == (2, 2, 1)
    assert (generator.both, generator.share, generator.adjudicated) == (2, 0.5, 1)
    assert (overall.both, overall.same, overall.adjudicated, overall.unlabelled) == (4, 3, 1, 2)
    assert overall.kappa == pytest.approx(0.5)


def test_stages_that_nobody_could_label_are_listed():
    """Even where no judge said anything."""
    found = agreement_in([record({}, {}, unlabelled=["reranker"])])
    assert (found[Stage.RERANKER].unlabelled, found[Stage.RERANKER].share) == (1, None)

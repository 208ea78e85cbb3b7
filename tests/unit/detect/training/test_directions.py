"""Which way a feature points."""

from handbook_runs import FakeEncoder

from otel_raglog.checks.check import Suspect
from otel_raglog.checks.registry import build_checks
from otel_raglog.detect.rules1_weights import CLUES
from otel_raglog.detect.training.directions import directions


def test_measurements_point_where_the_clues_do() -> None:
    """Low relevance speaks for a fault, an added number too, and so does what rules-1 finds."""
    known = directions()
    assert known["retriever.best_relevance"] == -1
    assert known["rewriter.numbers_added"] == 1
    assert known["clues.rewriter"] == known["clues.rewriter.adds_constraint"] == 1
    assert "retriever.chunks" not in known


def test_an_llms_confidences_speak_for_a_fault() -> None:
    """And so does what sums them up; a share of what was found speaks against one."""
    known = directions()
    assert known["generator.verified_any_fault"] == known["clues.generator.judged"] == 1
    assert known["clues.generator.judged.incomplete"] == 1
    assert known["retriever.flow_held"] == -1
    assert "generator.flow_stated" not in known


def test_no_check_declares_the_contrary_of_a_clue() -> None:
    """Two answers to one question would be an error in one of them."""
    known = directions()
    read = {clue.measurement for clues in CLUES.values() for clue in clues}
    for check in build_checks(FakeEncoder()):
        for declared in check.declarations:
            if declared.name in read:
                contrary = Suspect.LOW if known[declared.name] > 0 else Suspect.HIGH
                assert declared.suspect is not contrary, declared.name

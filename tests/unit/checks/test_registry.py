"""The list of checks."""

from collections.abc import Sequence

from handbook_runs import FakeCrossEncoder, FakeEncoder

from otel_raglog.checks.registry import GROUPS, Check, build_checks, groups_with, sizes


def groups(checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the groups of checks, in order."""
    return tuple(dict.fromkeys(check.name.partition(".")[0] for check in checks))


def test_without_a_model_only_rules_are_built() -> None:
    """Rules need none."""
    assert groups(build_checks(None)) == ("rules",)


def test_each_model_adds_the_checks_that_use_it() -> None:
    """The sentence model those of similarity and alignment, the cross-encoder its own."""
    assert groups(build_checks(FakeEncoder())) == ("rules", "similarity", "alignment")
    assert groups(build_checks(None, FakeCrossEncoder())) == ("rules", "crossencoder", "support")


def test_with_both_models_every_group_is_there() -> None:
    """Each check is named after its group and stage."""
    checks = build_checks(FakeEncoder(), FakeCrossEncoder())
    assert groups(checks) == GROUPS
    assert all(check.name.endswith(f".{check.stage}") for check in checks)
    assert len({check.name for check in checks}) == len(checks)


def test_the_groups_of_measurements_are_those_of_the_checks_that_make_them() -> None:
    """In the order of all groups; names that no check measures have none."""
    names = ("generator.answerable", "retriever.empty", "generator.answer_span", "app.other")
    assert groups_with(names) == ("rules", "crossencoder")
    assert groups_with(()) == ()
    every = [
        name for check in build_checks(FakeEncoder(), FakeCrossEncoder()) for name in check.measures
    ]
    assert groups_with(reversed(every)) == GROUPS


def test_sizes_are_counts_that_speak_for_no_fault() -> None:
    """How many chunks came, not how many of them were dropped."""
    found = sizes()
    assert {"retriever.chunks", "reranker.excluded"} <= found
    assert not {"assembly.dropped", "retriever.empty", "generator.answerable"} & found

"""The list of checks."""

from handbook_runs import FakeEncoder

from otel_raglog.checks.registry import build_checks


def test_without_an_encoder_only_rules_are_built() -> None:
    """Rules need no model."""
    assert all(check.name.startswith("rules.") for check in build_checks(None))
    assert {check.name.partition(".")[0] for check in build_checks(FakeEncoder())} == {
        "rules",
        "similarity",
        "alignment",
    }

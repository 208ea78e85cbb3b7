"""Names of judges on the command line."""

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.lab.judges.naming import JudgeName, judge_named, three_judges, two_judges


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("anthropic:claude-haiku-5-5", JudgeName("anthropic", "claude-haiku-5-5")),
        ("claude-haiku-5-5", JudgeName("anthropic", "claude-haiku-5-5")),
        ("openai:gpt-x", JudgeName("openai", "gpt-x")),
        ("gpt-x", JudgeName("openai", "gpt-x")),
        ("qwen2.5:1.5b", JudgeName("openai", "qwen2.5:1.5b")),
        ("openai:qwen2.5:1.5b@http://h:1/v1", JudgeName("openai", "qwen2.5:1.5b", "http://h:1/v1")),
        ("m@https://h/v1", JudgeName("openai", "m", "https://h/v1")),
        ("anthropic:m@v2@http://h", JudgeName("anthropic", "m@v2", "http://h")),
    ],
)
def test_provider_model_and_address(text, name):
    """A colon before which no provider stands is the model's own."""
    assert judge_named(text) == name


def test_an_address_for_all_is_for_those_without_one():
    """At which a model is no provider's own, whatever its name."""
    assert judge_named("claude-x", "http://h/v1") == JudgeName("openai", "claude-x", "http://h/v1")
    assert judge_named("m@http://own", "http://h").endpoint == "http://own"


def test_labelled_files_name_no_address():
    """Which machine it was is nobody's business."""
    assert judge_named("openai:m@http://h").text == "openai:m"


def test_two_different_judges_are_needed():
    """One that is asked twice agrees with itself; the same model at two addresses is two."""
    assert [each.model for each in two_judges("openai:a, b")] == ["a", "b"]
    assert len(two_judges("a@http://one,a@http://other")) == 2
    for text in ("a", "a,b,c", "a,a", "openai:a,a"):
        with pytest.raises(BadInput, match="two different judges"):
            two_judges(text)


@pytest.mark.parametrize(
    ("judges", "adjudicator"),
    [
        ("a,b", "a"),
        ("a,b", "openai:b"),
        ("a@http://h/v1,b", "a@http://H/v1/"),
        ("openai:a,b", "a@https://api.openai.com/v1"),
        ("a@http://h,b", "anthropic:a@http://h"),
    ],
)
def test_an_adjudicator_that_is_a_judge_is_refused(judges, adjudicator):
    """However its name is written: it would side with itself."""
    with pytest.raises(BadInput, match="one of the judges"):
        three_judges(judges, adjudicator)


def test_judges_that_are_written_otherwise_are_the_same():
    """An address may be the provider's own, or end in a slash."""
    with pytest.raises(BadInput, match="two different judges"):
        two_judges("a@http://h/v1,a", "http://h/v1/")
    assert [each.model for each in three_judges("a,b", "c")] == ["a", "b", "c"]


def test_a_name_without_a_model_is_refused():
    """With how it is written."""
    for text in ("", "openai:", "openai:@http://h"):
        with pytest.raises(BadInput, match=r"provider:model\[@endpoint\]"):
            judge_named(text)

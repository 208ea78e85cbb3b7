"""What pydantic says in plain words, and no word of what it says itself."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from otel_raglog.plain_errors import in_words, is_key, shown


class Colour(StrEnum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Section(BaseModel):
    """A mapping."""

    name: str


class Strict(BaseModel, allow_inf_nan=False):
    """A number of some size."""

    number: float


WRONG = [
    (str, 5, "must be text"),
    (Annotated[str, Field(min_length=1)], "", "must not be empty"),
    (int, "x", "must be a whole number"),
    (int, None, "must be a whole number"),
    (int, 1.5, "must be a whole number"),
    (int, "9" * 5_000, "must be a whole number with fewer digits"),
    (float, "x", "must be a number"),
    (float, [], "must be a number"),
    (Strict, {"number": float("nan")}, "must be a finite number"),
    (bool, "maybe", "must be true or false"),
    (bool, [], "must be true or false"),
    (Path, 5, "must be a path, as text"),
    (dict[str, str], 5, "must be a mapping of names and values"),
    (tuple[str, ...], "x", "must be a list, such as [k, l]"),
    (list[str], 5, "must be a list, such as [k, l]"),
    (Section, 5, "must be a mapping of options (k, l)"),
    (Section, {}, "is missing"),
    (Colour, "green", "must be 'red' or 'blue'"),
    (Literal["a", "b", "c"], "d", "must be 'a', 'b' or 'c'"),
    (Annotated[int, Field(gt=0)], 0, "must be more than 0"),
    (Annotated[float, Field(ge=0.5)], 0, "must be 0.5 or more"),
    (Annotated[int, Field(lt=7)], 9, "must be less than 7"),
    (Annotated[int, Field(le=65535)], 70000, "must be 65535 or less"),
]


@pytest.mark.parametrize(("kind", "value", "words"), WRONG)
def test_each_kind_of_error_says_what_is_allowed(kind, value, words):
    """In the terms of the configuration file."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert in_words(caught.value.errors()[0], ["k", "l"]) == words


def test_names_that_are_no_text_are_told_from_values():
    """YAML reads `5:` as a number."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(dict[str, int]).validate_python({5: 1})
    assert is_key(caught.value.errors()[0]["loc"])
    assert not is_key(())


def test_what_was_given_is_shown_where_it_is_short():
    """Mappings and lists are in the file; nothing is called nothing."""
    assert shown("soon") == " (got 'soon')"
    assert shown(None) == " (got nothing)"
    assert shown({"a": 1}) == shown([1]) == ""
    assert len(shown("x" * 10_000)) < 100
    assert re.search("…", shown("x" * 10_000))

"""Inputs and vectors, as embedding APIs write them, to texts and a vector for each."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.formats.embed_parts import numbered, paired, text_of, vectors_by_type


def test_vectors_are_kept_only_when_each_input_has_one():
    """A vector that is missing would shift those after it to other inputs."""
    assert paired(["a", "b"], [(1.0,), (2.0,)]) == ((1.0,), (2.0,))
    assert paired(["a", "b"], [(1.0,), None]) == ()
    assert paired([], [(1.0,)]) == ()


def test_objects_are_put_in_the_order_of_their_numbers():
    """Where one has no number, the answer's order stays."""
    first, second = {"index": 0}, {"index": 1}
    assert numbered({"data": [second, first]}, "data") == (first, second)
    assert numbered({"data": [second, {}, first]}, "data") == (second, {}, first)


def test_of_several_types_floats_are_read_first():
    """Whatever stands first in the answer."""
    assert vectors_by_type({"int8": [[1]], "float": [[0.5]]}) == ((0.5,),)
    assert vectors_by_type({"ubinary": [[7]]}) == ((7.0,),)
    assert vectors_by_type([[0.5], [1]]) == ((0.5,), (1.0,))
    assert vectors_by_type(None) == ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a", "a"),
        ({"text": "a"}, "a"),
        ({"content": [{"type": "text", "text": "a"}, "b", {"type": "image_url"}]}, "a\nb"),
        ({"image": "data:…"}, ""),
        ({"text": {"text": "a"}}, ""),
        (7, ""),
    ],
)
def test_the_text_of_an_input_is_its_own_or_its_parts(given, expected):
    """Inputs without a text have an empty one, so that places stay right."""
    assert text_of(given) == expected

"""What a convention need not say itself."""

from span_trees import span, spans_of

from otel_raglog.conventions.base import BaseConvention, senders
from otel_raglog.conventions.genai import WANTED, GenAi
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.conventions.traceloop import Traceloop
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import Role


class _Reader(WorkReader):
    role = Role.CHAIN


class Declared(BaseConvention):
    """A convention that declares and overrides nothing."""

    name = "declared"
    title = "Declared"
    wanted = WANTED
    remedy = ""
    reader = _Reader
    marker_prefixes = ("mine.",)
    marker_names = ("my ",)


def read(name="x", **attributes):
    (one,) = spans_of(span(name, attributes=attributes))
    return Declared().read(one)


def test_a_marker_tells_the_spans():
    """The beginning of a key, or of the span's name; the reader does the rest."""
    facts = read(**{"mine.a": 1})
    assert (facts.convention, facts.role) == ("declared", Role.CHAIN)
    assert read("my span") is not None
    assert read("no span", **{"your.mine.a": 1}) is None


def test_without_markers_no_span_is_its_own():
    """Nothing begins with nothing."""

    class Bare(Declared):
        marker_prefixes = ()
        marker_names = ()

    (one,) = spans_of(span("my span", attributes={"mine.a": 1}))
    assert Bare().read(one) is None


def test_a_sender_and_the_convention_that_it_extends_are_one():
    """OpenLLMetry's spans have GenAI keys; those of OpenInference may, by a switch."""
    wide, narrow, other = GenAi(), Traceloop(), OpenInference()
    assert senders((narrow, wide)) == (narrow,)
    assert senders((other, wide)) == (other, wide)
    assert senders((wide,)) == (wide,)

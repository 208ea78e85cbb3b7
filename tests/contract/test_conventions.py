"""What every convention in the registry promises."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from span_trees import span, spans_of

from otel_raglog.conventions.registry import CONVENTIONS, marker_names, marker_prefixes

every = pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda c: c.name)
VALUES = st.one_of(
    st.text(max_size=20),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=4),
    st.lists(st.text(max_size=4), max_size=3).map(tuple),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@every
def test_names_and_markers(convention):
    """A convention has a unique short name, and what marks its spans is held."""
    assert convention.name.isidentifier()
    assert [c.name for c in CONVENTIONS].count(convention.name) == 1
    assert convention.marker_prefixes or convention.marker_names
    assert set(convention.marker_prefixes) <= set(marker_prefixes())
    assert set(convention.marker_names) <= set(marker_names())


@every
def test_plain_spans_are_not_read(convention):
    """A span without any marker gives no facts."""
    (plain,) = spans_of(span("GET /", attributes={"http.request.method": "GET"}))
    assert convention.read(plain) is None


@every
@settings(deadline=None, max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_reading_never_raises(convention, data):
    """Whatever the values of marked attributes are, reading gives facts of that span or none."""
    suffixes = st.sampled_from(["", ".value", ".kind", ".0.x", "0.document.content", ".span.kind"])
    keys = st.builds(str.__add__, st.sampled_from(convention.marker_prefixes), suffixes)
    (odd,) = spans_of(span("x", attributes=data.draw(st.dictionaries(keys, VALUES, max_size=6))))
    facts = convention.read(odd)
    assert facts is None or (facts.span_id, facts.convention) == (odd.span_id, convention.name)

"""Tnetstrings are read as mitmproxy wrote them; what is broken costs as little as it can."""

from __future__ import annotations

from flow_files import dumps
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files.tnetstrings import Damage, read_items

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False)
    | st.binary(max_size=20)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=15,
)


def items(content):
    """Return what is read of ``content``."""
    return list(read_items(content))


@given(st.lists(VALUES, max_size=4))
def test_what_was_written_is_read(values):
    """Every value comes back as it went in, one after the other."""
    assert items(b"".join(map(dumps, values))) == values


@given(st.lists(VALUES, min_size=1, max_size=3), st.data())
def test_a_damaged_tail_costs_only_the_tail(values, data):
    """Cut anywhere, the whole values before the cut are read and one damage is told."""
    content = b"".join(map(dumps, values))
    cut = data.draw(st.integers(1, len(dumps(values[-1]))))
    *read, last = items(content[: len(content) - cut]) or [Damage(0, "", rest_lost=True)]
    if cut == len(dumps(values[-1])):
        assert [*read, last] == values[:-1] or not values[:-1]
    else:
        assert read == values[:-1]
        assert isinstance(last, Damage)
        assert last.rest_lost


@given(st.binary(max_size=200) | st.from_regex(rb"([0-9]{1,3}:[a-z0-9:,;#^!~\]}]*){1,5}"))
def test_arbitrary_bytes_are_damage_at_most(content):
    """Nothing is raised, whatever the bytes are."""
    items(content)


def test_mitmproxy_reads_the_same():
    """mitmproxy's own writer and this reader agree on what it can write."""
    import pytest

    tnetstring = pytest.importorskip("mitmproxy.io.tnetstring")
    value = {"a": [1, -2, 1.5, True, False, None, b"\x00\xff", "ü"], "b": {"c": {}, "d": []}}
    assert items(tnetstring.dumps(value)) == [value]


def test_damage_inside_a_value_costs_that_value_alone():
    """The length of a broken value tells where the next one begins."""
    first, damage, last = items(dumps(1) + b"6:3:abc?]" + dumps(2))
    assert (first, last) == (1, 2)
    assert damage == Damage(4, "no value of type '?' at byte 8")


def test_a_key_without_a_value_is_damage():
    """A dictionary holds pairs, whose first is text."""
    assert isinstance(items(b"4:1:a,}")[0], Damage)
    assert isinstance(items(b"8:1:1#1:2#}")[0], Damage)


def test_keys_in_bytes_become_text():
    """Flows of old versions have keys in bytes, which are looked up all the same."""
    assert items(dumps({b"type": 1})) == [{"type": 1}]


def test_nesting_has_a_limit():
    """A file that nests a thousand deep does not exhaust the stack."""
    deep = b"0:~"
    for _ in range(1000):
        deep = b"%d:%s]" % (len(deep), deep)
    (damage,) = items(deep)
    assert "nested more than 32 deep" in damage.reason
    assert not damage.rest_lost


def test_a_length_that_is_absurd_is_no_length():
    """A prefix of more than twelve digits is not believed."""
    (damage,) = items(b"9999999999999:x,")
    assert damage == Damage(0, "no length at byte 0", rest_lost=True)


def test_literals_are_strict():
    """What Python's own parsers let pass is no number or boolean here."""
    for content in (b"3:1_0#", b"4:True!", b"2:no!", b"1:x~", b"3:abc^"):
        assert isinstance(items(content)[0], Damage), content

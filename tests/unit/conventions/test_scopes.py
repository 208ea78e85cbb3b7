"""Which names of scopes enclose one."""

from otel_raglog.conventions.scopes import enclosing


def test_parts_end_at_dots_and_slashes():
    """Modules of Python have dots, packages of JavaScript a slash."""
    assert enclosing("a.b.c") == ("a.b.c", "a.b", "a")
    assert enclosing("@traceloop/x-y") == ("@traceloop/x-y", "@traceloop")
    assert enclosing("") == ("",)


def test_a_hostile_name_has_no_parts():
    """Thousands of dots cost nothing."""
    name = "." * 10_000
    assert enclosing(name) == (name,)

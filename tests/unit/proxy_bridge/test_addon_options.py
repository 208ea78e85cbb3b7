"""The add-on's options."""

import pytest

from otel_raglog_proxy_bridge.addon_options import (
    OPTIONS,
    BadOption,
    Settings,
    build_line,
    read_settings,
)


def settings(**changes) -> Settings:
    return read_settings({option.name: option.default for option in OPTIONS} | changes)


def test_defaults():
    """Without options spans go to a sidecar on this machine."""
    assert settings() == Settings()
    assert (settings().target.host, settings().target.port) == ("127.0.0.1", 4318)
    assert settings().target.path == "/v1/traces"


def test_everything():
    """Every option finds its place."""
    found = settings(
        raglog_endpoint="https://raglog:8443/x",
        raglog_endpoint_headers=["authorization=Bearer a=b"],
        raglog_service="hr-bot",
        raglog_redact=[r"emp-\d+"],
        raglog_max_body_bytes=5,
        raglog_headers=["X-Tenant"],
        raglog_secret_parameters=["tenant"],
        raglog_mappings="/m",
        raglog_front_question="a.b",
        raglog_front_answer="c",
        raglog_front_paths="^/ask$",
        raglog_inject_traceparent=False,
        raglog_quiet_seconds="0.5",
        raglog_ignore_hosts=[r"\.internal$"],
    )
    assert found.target.headers == (("authorization", "Bearer a=b"),)
    assert (found.target.secure, found.target.path) == (True, "/x/v1/traces")
    assert found.rules.patterns[0][0].sub("***", "emp-7") == "***"
    assert found.rules.max_body_bytes == 5
    assert found.rules.extra_headers == {"x-tenant"}
    assert found.rules.secret_parameters == {"tenant"}
    assert str(found.mappings) == "/m"
    assert (found.front.question, found.front.answer) == ("a.b", "c")
    assert found.front.paths is not None
    assert found.front.paths.search("/ask")
    assert not found.inject_traceparent
    assert found.ignore_hosts[0].search("db.internal")
    line = build_line(found)
    assert line.options.service == "hr-bot"
    assert line.options.grouping.quiet_seconds == 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("raglog_endpoint", "127.0.0.1:4318"),
        ("raglog_endpoint", "ftp://h"),
        ("raglog_endpoint", "http://h:port"),
        ("raglog_endpoint_headers", ["no-sign"]),
        ("raglog_endpoint_headers", ["a b=c"]),
        ("raglog_endpoint_headers", ["a=b\nc"]),
        ("raglog_redact", ["("]),
        ("raglog_redact", ["x*"]),
        ("raglog_max_body_bytes", 0),
        ("raglog_headers", ["Authorization"]),
        ("raglog_python", "/no/such/python"),
        ("raglog_mappings", __file__),
        ("raglog_front_paths", "["),
        ("raglog_quiet_seconds", "soon"),
        ("raglog_quiet_seconds", "nan"),
        ("raglog_quiet_seconds", "0"),
        ("raglog_quiet_seconds", "1e300"),
        ("raglog_ignore_hosts", ["*"]),
    ],
)
def test_wrong_values_are_named(name, value):
    """A wrong value is an error that begins with the option's name."""
    with pytest.raises(BadOption, match=f"^{name}: "):
        settings(**{name: value})


def test_a_secret_for_the_sidecar_is_not_quoted():
    """The error on a header for the sidecar does not repeat what may be a secret."""
    with pytest.raises(BadOption) as caught:
        settings(raglog_endpoint_headers=["Bearer abc123"])
    assert "abc123" not in str(caught.value)

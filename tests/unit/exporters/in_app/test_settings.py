"""What a user sets, as arguments or variables, and what of it cannot be used."""

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog_exporters.in_app.exporter import RaglogSpanExporter
from otel_raglog_exporters.in_app.settings import (
    InAppConfig,
    attribute_limit_is_chosen,
    provider_is_named,
    traces_url,
)


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://localhost:4318", "http://localhost:4318/v1/traces"),
        ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
        ("https://raglog.example/otlp", "https://raglog.example/otlp/v1/traces"),
        ("http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/traces"),
        ("http://h/v1/traces/?key=1#part", "http://h/v1/traces?key=1"),
    ],
)
def test_the_path_of_traces_is_appended_where_it_is_missing(endpoint, url):
    """An endpoint is written as for OTLP/HTTP, with or without the path of the signal."""
    assert traces_url(endpoint).geturl() == url


@pytest.mark.parametrize(
    "endpoint",
    ["localhost:4318", "grpc://localhost:4317", "http://", "http://h:99999", "http://a b", "", "http://[::1"],
)  # fmt: skip
def test_an_endpoint_that_is_none_is_an_error_that_names_it(endpoint):
    """An argument that cannot be used fails at once, not at the first request."""
    with pytest.raises(ConfigError, match="endpoint"):
        InAppConfig(endpoint=endpoint)


def test_secrets_are_in_no_message_and_no_repr():
    """A password in the endpoint is refused without being quoted; headers are not shown."""
    with pytest.raises(ConfigError) as refused:
        InAppConfig(endpoint="http://me:s3cret@host")
    with pytest.raises(ConfigError) as unprintable:
        InAppConfig(headers={"authorization": "s3cret\n"})
    shown = repr(InAppConfig(headers={"authorization": "s3cret"}))
    assert "s3cret" not in f"{refused.value} {unprintable.value} {shown}"
    assert "headers" in str(unprintable.value)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("compression", "zstd"), ("timeout_seconds", 0), ("timeout_seconds", float("nan")),
        ("retry_seconds", 1e9), ("max_queue_spans", 0), ("batch_spans", 1.5),
        ("max_queue_mib", "1"), ("ca_file", "/nowhere.pem"), ("headers", {"a b": "c"}),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_used_is_an_error_that_names_it(option, value):
    """Start fails loudly."""
    with pytest.raises(ConfigError, match=option):
        InAppConfig(**{option: value})


def test_every_option_is_a_variable():
    """OTEL_EXPORTER_RAGLOG_ and the option's name; headers are written as for OTLP."""
    config = InAppConfig.from_environment(
        {
            "OTEL_EXPORTER_RAGLOG_ENDPOINT": "http://sidecar:4318",
            "OTEL_EXPORTER_RAGLOG_HEADERS": "authorization=Bearer%20abc,x-team=search",
            "OTEL_EXPORTER_RAGLOG_MAX_QUEUE_SPANS": "100",
            "OTEL_EXPORTER_RAGLOG_HOLD_SECONDS": "2.5",
            "OTEL_EXPORTER_RAGLOG_RAISE_ATTRIBUTE_LIMIT": "False",
            "OTEL_EXPORTER_RAGLOG_COMPRESSION": "gzip",
            "OTEL_EXPORTER_RAGLOG_TIMEOUT_SECONDS": "",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://backend:4318",
        }
    )
    assert config == InAppConfig(
        endpoint="http://sidecar:4318",
        headers={"authorization": "Bearer abc", "x-team": "search"},
        max_queue_spans=100,
        hold_seconds=2.5,
        raise_attribute_limit=False,
        compression="gzip",
    )


def test_a_variable_that_cannot_be_used_is_told_and_leaves_the_default(caplog):
    """No application fails to start because of a variable of ours."""
    variables = {
        "OTEL_EXPORTER_RAGLOG_ENDPOINT": "sidecar",
        "OTEL_EXPORTER_RAGLOG_BATCH_SPANS": "many",
        "OTEL_EXPORTER_RAGLOG_RAISE_ATTRIBUTE_LIMIT": "perhaps",
        "OTEL_EXPORTER_RAGLOG_RETRY_SECONDS": "-1",
    }
    assert InAppConfig.from_environment(variables) == InAppConfig()
    told = [record.getMessage() for record in caplog.records]
    assert {message.split()[0] for message in told} == variables.keys()


def test_the_variables_of_the_sdk_that_matter_are_known():
    """A limit that somebody chose is told from the SDK's own, and a named provider is not made."""
    assert attribute_limit_is_chosen({"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "128"})
    assert attribute_limit_is_chosen({"OTEL_ATTRIBUTE_COUNT_LIMIT": "64"})
    assert not attribute_limit_is_chosen({"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT": "64"})
    assert provider_is_named({"OTEL_PYTHON_TRACER_PROVIDER": "x"})
    assert not provider_is_named({})


@pytest.mark.parametrize("text", ["s3cretnoequals", "=s3cret", "a=b,s3cret", "a b=s3cret"])
def test_headers_that_are_none_are_told_without_their_values(caplog, text):
    """By our own logger alone, with the variable's name."""
    config = InAppConfig.from_environment({"OTEL_EXPORTER_RAGLOG_HEADERS": text})
    assert config.headers == {}
    (record,) = caplog.records
    assert record.name == "otel_raglog_exporters.in_app"
    assert "OTEL_EXPORTER_RAGLOG_HEADERS is not used: headers: " in record.getMessage()
    assert "s3cret" not in caplog.text


def test_headers_as_a_text_are_refused_unquoted():
    """That is how the variable is written."""
    for make in (InAppConfig, RaglogSpanExporter):
        with pytest.raises(ConfigError, match="headers: a mapping") as caught:
            make(headers="authorization=s3cret")
        assert "s3cret" not in str(caught.value)

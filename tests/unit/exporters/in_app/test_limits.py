"""The SDK's 128 attributes: raised where nobody chose them, told where somebody did."""

import pytest
from in_app_kit import make_provider
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.trace import ProxyTracerProvider

from otel_raglog_exporters.in_app.limits import LimitGuard

REMEDY = "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=10000"


def guard(*, mend=True, chosen=False):
    return LimitGuard(mend=mend, chosen=chosen)


def ours(caplog):
    """Return what we have logged; the SDK has words of its own for each loss."""
    return [r.getMessage() for r in caplog.records if r.name.startswith("otel_raglog")]


def kept(provider, count):
    """Return how many of so many attributes a new span keeps."""
    span = provider.get_tracer("t").start_span("s")
    span.set_attributes({f"k{number}": number for number in range(count)})
    return len(span.attributes)


def test_a_limit_that_nobody_chose_is_raised_for_all_tracers(caplog):
    """Also for those made before; what was lost, and how to choose, is said."""
    provider = make_provider(span_limits=SpanLimits())
    tracer = provider.get_tracer("before")
    guard().look_at_provider(provider)
    span = tracer.start_span("s")
    span.set_attributes({f"k{number}": number for number in range(500)})
    assert len(span.attributes) == 500
    assert kept(provider, 500) == 500
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert REMEDY in record.getMessage()
    assert "SpanLimits(max_span_attributes=10_000)" in record.getMessage()
    assert "keeps 128 attributes" in record.getMessage()


@pytest.mark.parametrize("options", [{"chosen": True}, {"mend": False}])
def test_a_limit_that_somebody_chose_stays_and_is_told(caplog, options):
    """A variable, or an option of ours: the user's word holds."""
    provider = make_provider(span_limits=SpanLimits())
    guard(**options).look_at_provider(provider)
    assert kept(provider, 500) == 128
    (told,) = ours(caplog)
    assert REMEDY in told


def test_an_own_limit_that_is_low_stays_and_is_told(caplog):
    """It is no default of the SDK, so it was meant."""
    provider = make_provider(span_limits=SpanLimits(max_span_attributes=200))
    guard().look_at_provider(provider)
    assert kept(provider, 500) == 200
    assert "keeps 200 attributes" in caplog.text


@pytest.mark.parametrize("limit", [10_000, 1_000, SpanLimits.UNSET])
def test_enough_is_not_worth_a_word(caplog, limit):
    """OpenInference's provider, or none at all."""
    guard().look_at_provider(make_provider(span_limits=SpanLimits(max_span_attributes=limit)))
    assert not caplog.records


def test_the_first_span_is_mended_with_its_provider(caplog):
    """A processor sees providers through their spans: the very first one loses nothing."""
    provider = make_provider(span_limits=SpanLimits())
    one = guard()
    span = provider.get_tracer("t").start_span("s")
    one.look_at_started(span)
    span.set_attributes({f"k{number}": number for number in range(500)})
    assert len(span.attributes) == 500
    one.look_at_started(provider.get_tracer("t").start_span("s"))
    assert len(caplog.records) == 1


@pytest.mark.parametrize("name", ["max_span_attribute_length", "max_attribute_length"])
def test_values_that_are_cut_are_told(caplog, name):
    """A prompt cut at 100 characters cannot be judged; how long is the user's to say."""
    guard().look_at_provider(make_provider(span_limits=SpanLimits(10_000, **{name: 100})))
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in caplog.text
    assert len(caplog.records) == 1


def test_a_span_that_has_lost_attributes_is_told_once(caplog):
    """Whoever set the limit, and wherever."""
    provider, one = make_provider(span_limits=SpanLimits(max_span_attributes=3)), guard()
    for _ in range(2):
        span = provider.get_tracer("t").start_span("retrieve")
        span.set_attributes({f"k{number}": number for number in range(5)})
        span.end()
        one.look_at_ended(span._readable_span())
    (told,) = ours(caplog)
    assert "(retrieve) has lost 2 attributes" in told
    assert REMEDY in told


@pytest.mark.parametrize("odd", [None, 5, object(), ProxyTracerProvider()])
def test_what_is_not_the_sdks_is_passed_over(caplog, odd):
    """Other providers and spans have no limits that we know."""
    guard().look_at_provider(odd)
    guard().look_at_started(odd)
    assert not caplog.records


def test_limits_that_cannot_be_changed_are_told_only(caplog):
    """Another version of the SDK may not let us: then the user has to."""

    class Frozen:
        max_span_attributes = property(lambda self: 128)

    class Provider:
        _span_limits = Frozen()

    guard().look_at_provider(Provider())
    assert "keeps 128 attributes" in caplog.text
    assert "from now on" not in caplog.text

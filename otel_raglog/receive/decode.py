"""The bytes of an OTLP trace request to all of its spans, for what keeps no journal."""

from __future__ import annotations

from otel_raglog.model import Batch
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.sifting import Sifter


def split_protobuf(body: bytes, limits: Limits, markers: Markers) -> Batch:
    """Return the spans of a serialized ``ExportTraceServiceRequest`` (or ``TracesData``).

    Spans with invalid ids are left out and counted by reason; all others keep their own bytes.
    Spans of equal resource and scope share one :class:`Origin`.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: these are not OTLP traces, or a value is nested too deep.
    """
    sifted = Sifter(limits, markers).sift(body, keep_all=True)
    return Batch(sifted.held(0, ()), sifted.rejected)

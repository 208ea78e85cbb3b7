"""What a request may cost at most: sizes and counts that are checked before memory is spent."""

from __future__ import annotations

from dataclasses import dataclass, fields

from otel_raglog.errors import ConfigError

_DEEPEST_READABLE = 44
"""protobuf stops at 100 nested messages; a value level takes two, the envelopes of a request
and the attribute around the value take the rest."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one request; passing one raises ``TooLarge`` (nesting: ``BadInput``).

    ``max_request_bytes`` counts after decompression (OTLP recommends 64 MiB).
    ``max_values_per_span`` counts attributes, events, links and all values nested in them:
    two bytes on the wire can become fifty in memory. ``max_json_containers`` counts ``{`` and
    ``[`` in a JSON request, for the same reason. ``max_nesting_depth`` counts arrays and maps
    inside each other in one attribute.

    Raises:
        ConfigError: a limit is not positive, or nesting is deeper than protobuf reads.
    """

    max_request_bytes: int = 64 * 1024 * 1024
    max_spans_per_request: int = 100_000
    max_values_per_span: int = 500_000
    max_json_containers: int = 2_000_000
    max_nesting_depth: int = 32

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise ConfigError(f"{limit.name}: must be at least 1")
        if self.max_nesting_depth > _DEEPEST_READABLE:
            raise ConfigError(f"max_nesting_depth: must be at most {_DEEPEST_READABLE}")

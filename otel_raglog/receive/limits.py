"""What a request may cost at most: sizes and counts that are checked before memory is spent."""

from __future__ import annotations

from dataclasses import dataclass, fields

from otel_raglog.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one request; passing one raises ``TooLarge``.

    ``max_request_bytes`` counts after decompression (OTLP recommends 64 MiB).
    ``max_spans_per_request`` holds for log records and metrics as well. ``max_values_per_span``
    counts attributes, events, links, data points and all values nested in them: two bytes on the
    wire can become fifty in memory. ``max_json_values`` counts what a JSON request may hold by its
    ``{``, ``[`` and commas, for the same reason. How deep values may be nested, protobuf decides (100 messages).

    Raises:
        ConfigError: a limit is not positive.
    """

    max_request_bytes: int = 64 * 1024 * 1024
    max_spans_per_request: int = 100_000
    max_values_per_span: int = 500_000
    max_json_values: int = 2_000_000

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise ConfigError(f"{limit.name}: must be at least 1")

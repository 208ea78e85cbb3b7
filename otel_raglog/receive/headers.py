"""Request headers to those that travel on with the data: what is allowed, and never a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.model import Headers
from otel_raglog_exporters.via import VIA_HEADER

_OPTION = "receive.forward_headers"
_MAX_VALUE_BYTES = 1024
_MAX_VIA_BYTES = 8 * 1024
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_PRINTABLE = re.compile(r"[ -~]*")

# Kept headers are written to disk in the journal and sent to every destination.
_SECRET = re.compile(
    r"(^|[-_.])auth([-_.]|$)|authori[sz]|authentic|cookie|(^|[-_.])key([-_.]|$)|apikey|accesskey"
    r"|token|secret|passw|credential|signature|(^|[-_.])dsn|jwt|bearer|session|assertion"
    r"|^x-honeycomb-team$"
)
_OF_THE_CONNECTION = re.compile(
    r"accept|alt-svc|connection|content-|date$|expect$|grpc-|host$|http2-settings|keep-alive"
    r"|proxy-|te$|trailer|transfer-encoding|upgrade|user-agent$"
)


class AllowList:
    """Picks the headers that travel on: those named, and always the one that detects loops.

    Raises:
        ConfigError: one of ``names`` can never be forwarded; see :func:`check_forwardable`.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        check_forwardable(names)
        self._longest = dict.fromkeys((name.lower() for name in names), _MAX_VALUE_BYTES)
        self._longest[VIA_HEADER] = _MAX_VIA_BYTES

    def pick(self, sent: Iterable[tuple[str, str | bytes]]) -> Headers:
        """Return the allowed headers of a request, in the order of the list.

        Lines of the same name become one, joined by commas.

        Raises:
            BadInput: one is longer than 1 kB (8 kB for the header that detects loops) or not
                printable ASCII: without it, the data would go to another tenant.
        """
        found: dict[str, list[str]] = {}
        for name, value in sent:
            lower = name.lower()
            if lower in self._longest:
                text = value if isinstance(value, str) else value.decode("latin-1")
                found.setdefault(lower, []).append(text.strip())
        joined = tuple((name, ",".join(found[name])) for name in self._longest if name in found)
        for name, value in joined:
            if len(value) > self._longest[name]:
                raise BadInput(f"header {name}: longer than {self._longest[name]} bytes")
            if not _PRINTABLE.fullmatch(value):
                raise BadInput(f"header {name}: not printable ASCII")
        return joined


def check_forwardable(names: Iterable[str]) -> None:
    """Make sure that no name is of a header that carries a secret or belongs to the connection.

    Raises:
        ConfigError: one is, or is no header name at all.
    """
    for name in names:
        lower = name.lower()
        if not _NAME.fullmatch(lower):
            raise ConfigError(f"{_OPTION}: {name!r} is no header name")
        if _SECRET.search(lower):
            raise ConfigError(
                f"{_OPTION}: {name} may hold a secret, and these are not written down"
            )
        if _OF_THE_CONNECTION.match(lower) or lower.endswith("-bin"):
            raise ConfigError(f"{_OPTION}: {name} belongs to the connection and cannot travel on")


def has_passed(headers: Headers, instance_id: str) -> bool:
    """Tell whether a request with ``headers`` went through ``instance_id`` before."""
    via = (value for name, value in headers if name == VIA_HEADER)
    return any(instance_id == step.strip() for value in via for step in value.split(","))

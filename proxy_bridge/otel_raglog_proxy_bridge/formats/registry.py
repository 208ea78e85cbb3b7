"""All APIs that the bridge knows, in the order in which they are asked."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats import openai
from otel_raglog_proxy_bridge.model import Api

APIS: tuple[Api, ...] = (*openai.APIS,)
"""The first that recognises a call has it: the more particular a rule, the earlier it stands."""

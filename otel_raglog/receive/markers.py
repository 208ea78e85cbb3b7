"""The words on a span that tell that it may belong to a run."""

from __future__ import annotations

from dataclasses import dataclass

OWN_PREFIX = b"raglog."
"""Our namespace: attributes that arrive in it are not trusted."""

RUN_FINISHED_KEY = b"raglog.run.finished"
"""The attribute with which an application marks its run as finished; ``false`` does not."""

EVALUATION_EVENT = b"gen_ai.evaluation.result"
"""The event in which verdicts travel; one that arrives may pretend to be ours."""


EVALUATION_NAME = b"gen_ai.evaluation.name"
"""The attribute of that event that says what was evaluated; ours begin with our namespace."""


@dataclass(frozen=True, slots=True)
class Markers:
    """Prefixes that mark a span as possibly part of a run.

    ``key_prefixes`` are compared with attribute keys, event names and event attribute keys;
    ``names`` with the beginning of span names. ``value_keys`` are attributes that spans of any
    kind have (the statement of a database call): such a span is marked when one of
    ``value_parts`` is in it, unless it begins with one of ``value_exclusions``, which are short.
    ``scopes`` are names of instrumentation scopes, all spans of which are marked.
    """

    key_prefixes: tuple[bytes, ...] = ()
    names: tuple[bytes, ...] = ()
    value_keys: tuple[bytes, ...] = ()
    value_parts: tuple[bytes, ...] = ()
    scopes: tuple[bytes, ...] = ()
    value_exclusions: tuple[bytes, ...] = ()

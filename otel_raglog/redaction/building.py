"""Options to what redacts."""

from __future__ import annotations

from otel_raglog.config import read_redaction_key
from otel_raglog.options import Redaction as RedactionOptions
from otel_raglog.patterns import compile_pattern
from otel_raglog.redaction.keys import DOCUMENT_ID_KEYS, KeyRules
from otel_raglog.redaction.redaction import Redaction
from otel_raglog.redaction.replacing import Action, Replacing
from otel_raglog.redaction.texts import TextRules
from otel_raglog.redaction.values import ValueRules


def build_redaction(options: RedactionOptions) -> Redaction | None:
    """Return what redacts by the options; ``None`` where nothing is redacted.

    Raises:
        ConfigError: there is no key for hashes, or RE2 is not installed.
        BadInput: an expression is none of RE2.
    """
    if not options.enabled:
        return None
    replacing = Replacing(read_redaction_key(options))
    document_ids = DOCUMENT_ID_KEYS if options.hash_document_ids else ()
    texts = TextRules(
        options.patterns,
        tuple(map(compile_pattern, options.expressions)),
        Action(options.pattern_action),
        replacing,
    )
    keys = KeyRules(options.mask_keys, (*options.hash_keys, *document_ids))
    return Redaction(ValueRules(keys, texts, replacing))

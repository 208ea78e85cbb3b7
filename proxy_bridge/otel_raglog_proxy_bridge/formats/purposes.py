"""What embedding APIs call the purpose of a text to ``query`` or ``document``."""

from __future__ import annotations


def purpose_of(*words: str | None) -> str | None:
    """Return ``query`` or ``document`` as the first word says that does, else ``None``.

    Words are the values of ``input_type``, ``task``, ``task_type`` and the like, in any case.
    """
    for word in words:
        low = (word or "").lower()
        if "query" in low or low in {"question_answering", "fact_verification"}:
            return "query"
        if "passage" in low or "document" in low:
            return "document"
    return None

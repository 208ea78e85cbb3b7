"""What frameworks wrap around the input and output of a step in OpenLLMetry."""

from __future__ import annotations

_LANGCHAIN = frozenset({"inputs", "outputs", "output", "query", "input_str"})
_STEP = frozenset({"inputs", "outputs"})
_BESIDE = frozenset({"tags", "metadata", "kwargs"})
_ANSWER = frozenset({"response", "metadata", "source_nodes", "sources", "is_dummy_stream"})


def without_wrapping(data: object) -> object:
    """Return what a step was given or gave back, without the call around it.

    LangChain's ``{"inputs": ..., "tags": ..., "metadata": ..., "kwargs": ...}`` and the
    ``{"args": [...], "kwargs": {...}}`` of decorated functions.
    """
    if not isinstance(data, dict):
        return data
    own = data.keys() - _BESIDE
    if own and own <= _LANGCHAIN and (own != data.keys() or own <= _STEP):
        for key in ("inputs", "outputs", "output"):
            if data.get(key) is not None:
                return data[key]
        return {key: data[key] for key in data if key in own}
    if data.keys() == {"args", "kwargs"}:
        args, kwargs = data["args"], data["kwargs"]
        if isinstance(args, list) and len(args) == 1 and not kwargs:
            return args[0]
        if not args and isinstance(kwargs, dict) and kwargs:
            return kwargs
    return data


def answer_of(data: object) -> str | None:
    """Return the answer in a response of LlamaIndex, from which its sources were taken out."""
    if not isinstance(data, dict) or not data.keys() <= _ANSWER:
        return None
    answer = data.get("response")
    return answer if isinstance(answer, str) and len(data) > 1 else None

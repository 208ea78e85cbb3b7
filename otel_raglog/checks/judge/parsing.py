"""Reads the reply of an LLM as the answer to a check, or says what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Never, TypeVar

from pydantic import ValidationError

from otel_raglog.checks.judge.answers import Answer
from otel_raglog.checks.judge.judge_check import JudgeCheck
from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Stage

A = TypeVar("A", bound=Answer)

MAX_BYTES = 64 * 1024
"""Of a reply; the longest that a check may need is a tenth of it."""

_PLACES_TRIED = 2_000
_PROBLEMS_NAMED = 5
_BRACE = re.compile(r"\{")
_OPENS_OBJECT = re.compile(r'\{\s*"')


def answer_from(check: JudgeCheck[A], reply: str, stages: Collection[Stage]) -> A:
    """Return the answer that ``reply`` holds: a JSON object, perhaps in prose or a code fence.

    ``stages`` are those that can be graded (:attr:`JudgeView.stages`): grades of other stages are
    dropped.

    Raises:
        TooLarge: the reply is longer than ``MAX_BYTES``.
        BadInput: it holds no JSON object, fields are missing, unknown, of another type or out of
            range, or the grades of one of ``stages`` are null. The text names the fields and what
            is wrong, and nothing else of the reply, so it can be sent back.
    """
    answer = read_answer(check.answer, reply)
    graded = [stage for stage in Stage if stage.value in check.answer.model_fields]
    missing = [s for s in graded if s in stages and getattr(answer, s.value) is None]
    if missing:
        raise BadInput("; ".join(f"{stage} must be graded, not null" for stage in missing))
    return answer.model_copy(update={s.value: None for s in graded if s not in stages})


def read_answer(answer: type[A], reply: str) -> A:
    """Return the answer that ``reply`` holds, with all of its fields as they are.

    Raises:
        TooLarge: see :func:`answer_from`.
        BadInput: see :func:`answer_from`.
    """
    if len(reply.encode("utf-8", "replace")) > MAX_BYTES:
        raise TooLarge(f"the reply is longer than {MAX_BYTES // 1024} kB")
    try:
        return answer.model_validate_json(_object_in(reply), strict=True)
    except ValidationError as error:
        raise BadInput("; ".join(_problems(answer, error))) from None


def _object_in(reply: str) -> str:
    """Return the one JSON object of the reply.

    Of several nobody can tell which is meant: one may be quoted from a document. Nor of one within
    another that does not end.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_not_finite)
    objects: list[str] = []
    end = 0
    for brace in islice(_BRACE.finditer(reply), _PLACES_TRIED):
        if brace.start() < end:
            continue
        try:
            _, end = decoder.raw_decode(reply, brace.start())
        except json.JSONDecodeError:
            if _OPENS_OBJECT.match(reply, brace.start()):
                raise BadInput("the reply holds a JSON object that is not finished") from None
            continue
        except (ValueError, RecursionError):
            # A number without end, or nested without end.
            break
        objects.append(reply[brace.start() : end])
    if len(objects) != 1:
        raise BadInput(
            "the reply holds several JSON objects" if objects else "the reply holds no JSON object"
        )
    return objects[0]


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadInput("a field is given twice")
    return found


def _not_finite(_: str) -> Never:
    raise BadInput("a number is not finite")


def _problems(answer: type[Answer], error: ValidationError) -> Iterator[str]:
    """Yield what is wrong, at most five things; names that the LLM made up are not repeated."""
    known = _names(answer.model_json_schema())
    details = error.errors(include_url=False, include_input=False)
    for detail in details[:_PROBLEMS_NAMED]:
        path = ".".join(
            str(part) for part in detail["loc"] if isinstance(part, int) or part in known
        )
        yield f"{path or 'the reply'} {_said(detail['type'], detail.get('ctx', {}))}"
    if len(details) > _PROBLEMS_NAMED:
        yield f"{len(details) - _PROBLEMS_NAMED} more problems"


def _names(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of all fields of the schema."""
    objects = (schema, *schema.get("$defs", {}).values())
    return frozenset(name for item in objects for name in item.get("properties", {}))


def _said(kind: str, context: Mapping[str, Any]) -> str:
    limit = {"greater_than_equal": "ge", "less_than_equal": "le"}.get(kind)
    if limit is not None:
        return f"must be {'at least' if limit == 'ge' else 'at most'} {context[limit]:g}"
    if kind == "enum":
        return f"must be {context['expected']}"
    return _KINDS.get(kind, "is not what the schema asks for")


_KINDS: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "has a field that the schema does not have",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "model_type": "must be an object",
}

"""What a user says about the spans of an application of their own: which is what, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, TypeAlias

import jmespath
from jmespath.exceptions import JMESPathError, ParseError
from jmespath.functions import Functions
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

WILDCARDS = "*?["
"""What makes a name a pattern."""

CustomStage: TypeAlias = Literal[
    "rewriter",
    "embedder",
    "retriever",
    "reranker",
    "assembly",
    "generator",
    "tool",
    "chain",
    "agent",
    "ignore",
]

_ANYWHERE = frozenset({"session", "user", "model", "tokens"})
_IDENTITIES = frozenset({"session", "user"})
"""What is taken of a rule even where an earlier one gives the span another stage."""

_SEARCH = frozenset({"query", "documents", "top_k"})
_PROMPT = frozenset({"system", "prompt", "messages", "finish_reason"})
_TALK = frozenset({"question", "history", "answer"})
FACTS_OF_STAGE: Mapping[CustomStage, frozenset[str]] = {
    "rewriter": _ANYWHERE | _PROMPT | {"question", "history", "rewrites"},
    "embedder": _ANYWHERE | {"texts"},
    "retriever": _ANYWHERE | _SEARCH,
    "reranker": _ANYWHERE | _SEARCH | {"candidates"},
    "assembly": _ANYWHERE | {"documents", "context", "prompt"},
    "generator": _ANYWHERE | _PROMPT | {"answer"},
    "tool": _ANYWHERE | _SEARCH | {"tool"},
    "chain": _ANYWHERE | _TALK,
    "agent": _ANYWHERE | _TALK,
    "ignore": frozenset(),
}
"""The facts that a span of each stage can say."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


_GLOB_IN_KEY = re.compile(r"\*|\?(?!$)")
"""What no attribute's key holds (Ruby names some with a question mark at the end)."""


def _check_key(key: str) -> None:
    """Refuse a glob where a key is wanted: no span has such an attribute."""
    if _GLOB_IN_KEY.search(key):
        raise ValueError(
            f"{key!r} can never match: the key of an attribute is written out; "
            "only its value, span_name and scope may have wildcards"
        )


class Place(_Part):
    """Where a fact stands: an attribute of the span or of its events, and a path in its JSON."""

    attribute: str | None = Field(None, min_length=1, description="Key of the attribute.")
    event: str | None = Field(
        None, min_length=1, description="Name of the events that hold it, one value for each."
    )
    path: str | None = Field(
        None,
        description="JMESPath in the attribute's JSON; without attribute, in the event's attributes.",
    )

    @field_validator("attribute")
    @classmethod
    def _is_a_key(cls, key: str | None) -> str | None:
        if key is not None:
            _check_key(key)
        return key

    @field_validator("path")
    @classmethod
    def _compiles(cls, path: str | None) -> str | None:
        if path is not None:
            _check_path(path)
        return path

    @model_validator(mode="after")
    def _is_somewhere(self) -> Place:
        if self.attribute is None and self.event is None:
            raise ValueError("says neither attribute nor event")
        if self.attribute is None and self.path is None:
            raise ValueError("an event needs the attribute that holds it, or a path")
        return self


def _as_places(value: object) -> object:
    """Accept one place for a list of one, and a key alone for a place."""
    listed = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str | Mapping | Place) for item in listed):
        raise ValueError(
            "must be the key of an attribute, a mapping of attribute, event and path, "
            "or a list of such"
        )
    return [{"attribute": item} if isinstance(item, str) else item for item in listed]


Places: TypeAlias = Annotated[tuple[Place, ...], BeforeValidator(_as_places)]


def _as_text(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise ValueError('must be one value or glob as text, or "*" for any value')  # noqa: TRY004  pydantic makes it the option's error
    return str(value)


Pattern: TypeAlias = Annotated[str, BeforeValidator(_as_text)]


class Match(_Part):
    """Which spans a rule is about: all that is given must hold."""

    span_name: str | None = Field(None, min_length=1, description="Name of the span, or a glob.")
    scope: str | None = Field(
        None, min_length=1, description="Name of the instrumentation scope, or a glob."
    )
    attributes: dict[str, Pattern] = Field(
        default_factory=dict, description="Attributes and their values, or globs; * for any value."
    )

    @field_validator("attributes")
    @classmethod
    def _are_keys(cls, attributes: dict[str, Pattern]) -> dict[str, Pattern]:
        for key in attributes:
            if not key:
                raise ValueError("an attribute has a name, which is empty here")
            _check_key(key)
        return attributes

    @property
    def beginning(self) -> str:
        """What every matching span name begins with."""
        name = self.span_name or ""
        ends = [at for at in map(name.find, WILDCARDS) if at >= 0]
        return name[: min(ends)] if ends else name

    @model_validator(mode="after")
    def _can_be_found(self) -> Match:
        if self.attributes or self.beginning:
            return self
        if self.span_name is None and self.scope is None:
            raise ValueError(
                "says nothing, so it would match every span: give span_name or attributes"
            )
        what = "a span_name that begins with a wildcard" if self.span_name else "a scope alone"
        raise ValueError(
            f"{what} does not say which spans to hold: give an attribute as well, "
            "or a span_name with a beginning"
        )


class TokenPlaces(_Part):
    """Where the tokens of a model call stand."""

    prompt: Places = Field((), description="Tokens that the model was given.")
    completion: Places = Field((), description="Tokens that the model wrote.")
    total: Places = Field((), description="Both together.")


class CustomRule(_Part):
    """One rule. Every fact is a place, or several of which the first that says something counts."""

    name: str = Field(min_length=1, description="Stands where a fact came from.")
    match: Match = Field(description="Which spans it is about.")
    stage: CustomStage | None = Field(
        None,
        description="What these spans are, whatever their names say; ignore leaves them, and what "
        "is below them, out. Without it only facts are added.",
    )
    question: Places = Field((), description="What the user asked.")
    history: Places = Field((), description="The messages before the question.")
    query: Places = Field((), description="What was searched for.")
    top_k: Places = Field((), description="How many results were asked for.")
    documents: Places = Field((), description="What was found, selected or put into the prompt.")
    candidates: Places = Field((), description="What a reranker was given.")
    score_kind: Literal["similarity", "distance"] | None = Field(
        None, description="Whether the best score is the largest or the smallest."
    )
    texts: Places = Field((), description="What was embedded.")
    system: Places = Field((), description="The model's instructions.")
    prompt: Places = Field((), description="The text that the model was given.")
    messages: Places = Field((), description="The messages that the model was given.")
    context: Places = Field((), description="The part of a rendered prompt that was retrieved.")
    answer: Places = Field((), description="What the model, or the application, answered.")
    rewrites: Places = Field((), description="The queries that a rewriter wrote.")
    model: Places = Field((), description="Name of the model.")
    finish_reason: Places = Field((), description="Why the model stopped.")
    tokens: TokenPlaces = Field(TokenPlaces(), description="Tokens of the call.")
    session: Places = Field((), description="The conversation.")
    user: Places = Field((), description="Who asked.")
    tool: Places = Field((), description="Name of the tool.")

    def places(self) -> Iterator[tuple[str, tuple[Place, ...]]]:
        """Yield each fact that is given, with its places; tokens as ``tokens.prompt`` and so on."""
        for owner, prefix in ((self, ""), (self.tokens, "tokens.")):
            for name in type(owner).model_fields:
                value = getattr(owner, name)
                if isinstance(value, tuple) and value:
                    yield f"{prefix}{name}", value

    @model_validator(mode="after")
    def _says_something(self) -> CustomRule:
        given = {fact.partition(".")[0] for fact, _ in self.places()}
        if self.score_kind is not None and not given & {"documents", "candidates"}:
            raise ValueError(
                "score_kind says nothing here: it is about the documents or candidates of this rule"
            )
        if self.stage is None:
            if not given:
                raise ValueError("gives neither a stage nor a fact")
            return self
        wrong = sorted(given - FACTS_OF_STAGE[self.stage])
        if wrong:
            known = ", ".join(sorted(FACTS_OF_STAGE[self.stage])) or "nothing"
            raise ValueError(
                f"{', '.join(wrong)} is nothing that a span of stage {self.stage} says; "
                f"that is: {known}"
            )
        return self


def idle_rule(rules: Sequence[CustomRule]) -> str:
    """Return which rule says nothing that counts, and why; empty when each says something."""
    for at, rule in enumerate(rules):
        for earlier in rules[:at]:
            if _covers(earlier.match, rule.match) and (why := _outdone(rule, earlier)):
                return (
                    f"rule {at} ({rule.name}) never counts: every span that it matches is matched "
                    f"by {earlier.name} before it, {why}"
                )
    return ""


def _outdone(rule: CustomRule, earlier: CustomRule) -> str:
    """Return why a rule adds nothing to one that is about the same spans; empty when it does."""
    if earlier.stage == "ignore":
        return "which leaves these spans out"
    identities = {fact for fact, _ in rule.places()} & _IDENTITIES
    other_stage = earlier.stage is not None and rule.stage not in {None, earlier.stage}
    if other_stage and not identities:
        return f"which says that they are of stage {earlier.stage}: put the narrower rule first"
    known = dict(earlier.places())
    same = all(places == known.get(fact) for fact, places in rule.places())
    if same and rule.stage in {None, earlier.stage}:
        return "which says the same"
    return ""


def _covers(wide: Match, narrow: Match) -> bool:
    """Tell whether each span that ``narrow`` matches is matched by ``wide``, as far as is plain."""
    if not _allows(wide.span_name, narrow.span_name) or not _allows(wide.scope, narrow.scope):
        return False
    return all(
        key in narrow.attributes and _allows(pattern, narrow.attributes[key])
        for key, pattern in wide.attributes.items()
    )


def _allows(wide: str | None, narrow: str | None) -> bool:
    if wide is None or wide in {narrow, "*"}:
        return True
    plain = narrow is not None and not any(mark in narrow for mark in WILDCARDS)
    return narrow is not None and plain and fnmatchcase(narrow, wide)


def _check_path(path: str) -> None:
    """Refuse what is no JMESPath, with the place in it, and what could not be evaluated ever."""
    try:
        parsed = jmespath.compile(path).parsed
    except ParseError as error:
        at = min(error.lex_position + 1, len(path) + 1)
        reason = str(error).splitlines()[0].removesuffix(f'"{path}"').strip(" ,:")
        reason = reason.removeprefix("Invalid jmespath expression: ")
        reason = reason.split(": Parse error at")[0].split(", for expression")[0]
        raise ValueError(f"{path!r} is no JMESPath, at character {at}: {reason}") from None
    except JMESPathError as error:
        raise ValueError(f"{path!r} is no JMESPath, at character 1: {error}") from None
    except RecursionError:
        raise ValueError("is nested too deep") from None
    reason = _unusable(parsed)
    if reason:
        name = reason.partition("(")[0]
        at = max(path.find(name), 0) + 1
        raise ValueError(f"{path!r} is no JMESPath, at character {at}: {reason}")


def _unusable(parsed: Mapping[str, Any]) -> str:
    """Return why an expression that parses could not be evaluated ever, empty when it can."""
    pending = [parsed]
    while pending:
        node = pending.pop()
        children = node["children"]
        if node["type"] == "function_expression":
            known = Functions.FUNCTION_TABLE.get(node["value"])
            if known is None:
                return f"{node['value']}() is no function of it"
            wanted, given = known["signature"], len(children)
            variadic = bool(wanted) and wanted[-1].get("variadic", False)
            if given < len(wanted) if variadic else given != len(wanted):
                return f"{node['value']}() takes {len(wanted)} arguments, not {given}"
        elif node["type"] == "slice" and children[2] == 0:
            return "[::0] (the step of a slice is not 0)"
        pending.extend(child for child in children if isinstance(child, dict))
    return ""

"""The spans of a trace to whether its user marked the answer as bad."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from otel_raglog.model import AttributeValue, Span

_PLACE = re.compile(
    r"(?:trace\.|session\.)?(?:annotations\.[0-9]{1,4}\.annotation|evaluations\.[0-9]{1,4}\.evaluation)"
    r"\.(?P<field>name|label|score|annotator_kind)"
)
"""Where OpenInference keeps annotations of spans, traces and sessions."""

_EVENT = "gen_ai.evaluation.result"
_EVENT_FIELDS = {
    "gen_ai.evaluation.name": "name",
    "gen_ai.evaluation.score.label": "label",
    "gen_ai.evaluation.score.value": "score",
}
_BY_A_USER = re.compile(
    r"feedback|thumb|user[ _.-]?(?:rating|score|reaction|opinion)|csat|\b(?:dis)?like|(?:up|down)[ _-]?vote",
    re.IGNORECASE,
)
"""Names of what users say of an answer."""

_OF_QUALITY = re.compile(
    rf"{_BY_A_USER.pattern}|quality|correct|helpful|useful|good|right|accura|satisf|rating|overall|answer",
    re.IGNORECASE,
)
"""Names of which a score of 0, or a plain no, says that the answer was bad."""

_OF_FAILURE = re.compile(
    r"down|negative|dislike|\bbad|incorrect|inaccura|unhelpful|wrong|poor", re.IGNORECASE
)
"""Names of which it says the contrary."""

_BAD = re.compile(
    r"(?:thumbs?[ _-]?down|down[ _-]?vote(?:d)?|negative|bad|poor|dislike[d]?|unhelpful|not[ _-]?helpful|"
    r"incorrect|wrong|👎.*)",
    re.IGNORECASE,
)
_YES = re.compile(r"(?:yes|true|1)", re.IGNORECASE)
_NO = re.compile(r"(?:no|false|0)", re.IGNORECASE)


def is_disliked(spans: Iterable[Span]) -> bool:
    """Tell whether a person marked the answer as bad, on any of ``spans``.

    Read are OpenInference annotations of the kind HUMAN, or of no kind and named after feedback, and
    the events ``gen_ai.evaluation.result`` that are named so. A label that says so decides (thumbs
    down, bad, wrong …). A plain no, or without a label a score of 0 or below, counts where the name is
    of a quality; where it is of a failing, a plain yes or a score above 0.
    """
    return any(_is_bad(item) for span in spans for item in _annotations(span))


def _annotations(span: Span) -> Iterator[Mapping[str, AttributeValue]]:
    found: dict[str, dict[str, AttributeValue]] = {}
    for key, value in span.attributes.items():
        place = _PLACE.fullmatch(key)
        if place is not None:
            found.setdefault(key.rpartition(".")[0], {})[place["field"]] = value
    yield from found.values()
    for event in span.events:
        if event.name == _EVENT:
            yield {
                field: event.attributes[key]
                for key, field in _EVENT_FIELDS.items()
                if key in event.attributes
            }


def _is_bad(item: Mapping[str, AttributeValue]) -> bool:
    name, kind = str(item.get("name", "")), str(item.get("annotator_kind", "")).upper()
    if kind != "HUMAN" and (kind or not _BY_A_USER.search(name)):
        return False
    failing = _OF_FAILURE.search(name) is not None
    label = item.get("label")
    if isinstance(label, bool):
        label = str(label)
    if isinstance(label, str) and label.strip():
        said = label.strip()
        if _BAD.fullmatch(said):
            return True
        plain = _YES if failing else _NO
        return (failing or _OF_QUALITY.search(name) is not None) and bool(plain.fullmatch(said))
    score = item.get("score")
    if not isinstance(score, int | float) or isinstance(score, bool):
        return False
    return score > 0 if failing else score <= 0 and _OF_QUALITY.search(name) is not None

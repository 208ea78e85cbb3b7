"""Rules that a user might write, for tests of conventions and mapping."""

from __future__ import annotations

from otel_raglog.conventions.custom import Custom
from otel_raglog.custom_rules import FACTS_OF_STAGE, CustomRule


def rules(*given):
    """Return rules of mappings; a name and a match by the attribute ``app.step`` are filled in."""
    filled = [
        {"name": f"rule-{n}", "match": {"attributes": {"app.step": rule.get("stage", "*")}}, **rule}
        for n, rule in enumerate(given, 1)
    ]
    return Custom(tuple(CustomRule.model_validate(rule) for rule in filled))


def custom_convention():
    """Return rules for every stage and every fact: by a key, a path, and events."""
    given = [
        {"name": "any", "match": {"attributes": {"app.any": "*"}}, **_places({"session", "user"})}
    ]
    for stage, facts in FACTS_OF_STAGE.items():
        match = {"span_name": f"{stage} step*"}
        given.append({"name": stage, "match": match, "stage": stage, **_places(facts)})
    return rules(*given)


def _places(facts):
    found = {}
    for fact in sorted(facts):
        places = [
            f"app.{fact}",
            {"attribute": "app.body", "path": f"{fact} || body[].{{id: id, text: {fact}}} || @"},
            {"event": "app.event", "attribute": "content", "path": "@"},
            {"event": "app.event", "path": "sort_by(values(@), &score)[].{text: a}"},
        ]
        found[fact] = {"prompt": places, "completion": places} if fact == "tokens" else places
    return found

"""Templates: question and passages to prompts."""

import pytest

from otel_raglog.checks.text.survival import Fate, PromptText
from otel_raglog.lab.corpus import Passage
from otel_raglog.lab.pipelines import templates
from otel_raglog.lab.pipelines.templates import Slot, Template, within
from otel_raglog.lab.stores import Hit

ALL = [value for value in vars(templates).values() if isinstance(value, Template)]
SLOTS = (Slot("a", "Alvar {Bridge}", "Opened in 1931."), Slot("b", "", "Closed {on} Mondays."))


@pytest.mark.parametrize("template", ALL)
def test_every_template_shows_passages_question_and_history(template):
    """Braces in texts are texts."""
    prompt = template.render("When {was} it?", SLOTS, (("user", "Alvar Bridge?"),))
    assert "When {was} it?" in prompt
    assert "User: Alvar Bridge?" in prompt
    shown = PromptText(prompt)
    assert all(shown.survival(slot.text).fate is Fate.INTACT for slot in SLOTS)


def test_a_first_turn_has_no_history_in_its_prompt():
    """No heading stands over nothing."""
    assert templates.NUMBERED.render("When?", SLOTS) == (
        "Context:\n[1] Alvar {Bridge}: Opened in 1931.\n\n[2] Closed {on} Mondays.\n\n"
        "Question: When?\nAnswer:"
    )


def test_a_budget_drops_the_last_passages_but_never_the_first():
    """In words; without one all are in."""
    hits = [Hit(Passage(f"p{n}", "d", "", "one two three"), 1.0) for n in range(4)]
    assert [slot.id for slot in within(hits, 7)] == ["p0", "p1"]
    assert [slot.id for slot in within(hits, 1)] == ["p0"]
    assert len(within(hits, None)) == 4

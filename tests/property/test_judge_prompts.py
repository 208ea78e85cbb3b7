"""What an LLM is shown, over arbitrary texts."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from judge_views import NONCE, run_with

from otel_raglog.checks.judge.prompting import prompt_of
from otel_raglog.checks.judge.untrusted import suspected
from otel_raglog.checks.judge.view import view_of
from otel_raglog.checks.judge.visible import visible

PIECES = st.sampled_from(
    ["<<<", ">>>", "<<<end ", "<<<untrusted ", NONCE, NONCE[:16], NONCE[16:], NONCE.upper(), " passed chunk 1>>>",
     "\u200b", "\u200d", "\ud800", "\x00", "\n", "word ", "[…]", "\U000e0041", "क", "🙂", "\u202e"]
)  # fmt: skip
TEXT = st.one_of(
    st.text(min_size=1, max_size=60), st.lists(PIECES, min_size=1, max_size=24).map("".join)
)


@given(
    TEXT,
    TEXT,
    st.lists(TEXT, max_size=3),
    st.lists(TEXT, max_size=3),
    st.sampled_from([700, 8_000]),
)
@settings(max_examples=300, deadline=None)
def test_a_prompt_has_as_many_delimiters_as_texts(
    question: str, answer: str, passed: list[str], excluded: list[str], budget: int
) -> None:
    """No text can hold one, however it is put together, whole or shortened."""
    view = view_of(run_with(question, answer, passed, excluded), max_prompt_tokens=budget)
    prompt = prompt_of(view, NONCE)
    names = [s.name_of(n) for s in view.sections for n in range(1, len(s.shown) + 1)]
    delimiter = rf"^<<<(untrusted|end) {NONCE} ([a-z0-9 ]+)>>>$"
    found = re.findall(delimiter, prompt, flags=re.MULTILINE)
    assert found == [(word, name) for name in names for word in ("untrusted", "end")]
    remarks = len(re.findall(rf"^\[{NONCE}: [\d,]+ ", prompt, flags=re.MULTILINE))
    assert prompt.casefold().count(NONCE) == 2 * len(names) + 2 + remarks
    prompt.encode("utf-8")


@given(TEXT)
@settings(max_examples=300, deadline=None)
def test_what_is_visible_stays_as_it_is(text: str) -> None:
    """Taking out what is unseen is done once, and never makes a text longer."""
    seen = visible(text).text
    assert len(seen) <= len(text)
    assert visible(seen).text == seen


@given(TEXT, TEXT)
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_looked_at(question: str, chunk: str) -> None:
    """No text makes the search for instructions fail."""
    for suspicion in suspected(view_of(run_with(question, passed=[chunk]))):
        assert suspicion.where

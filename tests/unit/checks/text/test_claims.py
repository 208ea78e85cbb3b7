"""What an answer claims."""

import pytest

from otel_raglog.checks.text.claims import claimed, without_code


@pytest.mark.parametrize(
    "answer",
    [
        "They get 25 days [1].",
        "They get 25 days [1][12].",
        "Based on the context, They get 25 days.",
        "According to the employee handbook: They get 25 days.",
        "As stated in the passages above, They get 25 days.",
        "They get 25 days. The context does not say more about it.",
        "I could not find the exact rule. They get 25 days.",
    ],
)
def test_marks_lead_ins_and_what_declines_are_no_claims(answer: str) -> None:
    """They are in no document."""
    assert claimed(answer) == "They get 25 days."


@pytest.mark.parametrize(
    "answer",
    [
        "They get 25 days.",
        "The text was written in 1843.",
        "It costs [about] 5 euros, from 10 on.",
        "",
        "?!",
        "half 🏖\ud800",
    ],
)
def test_other_words_are_left_alone(answer: str) -> None:
    """Also those that only look like it."""
    assert claimed(answer) == answer


def test_an_answer_that_only_declines_keeps_its_words() -> None:
    """Whoever asks what it claims decides about refusals first."""
    assert claimed("The context does not say.") == "The context does not say."


def test_an_answer_of_a_lead_in_alone_is_not_made_empty() -> None:
    """There is nothing else to compare."""
    assert claimed("From the text").strip() == "From the text"


def test_sentences_are_kept_apart() -> None:
    """Each on a line of its own, in order."""
    assert claimed("One is here. I don't know the rest. Two is there.") == (
        "One is here.\nTwo is there."
    )


def test_of_a_very_long_answer_the_beginning_is_read() -> None:
    """Whatever a model returns is read in bounded time."""
    assert len(claimed("It is so. " * 10_000)) <= 4_000


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Pass it:\n\n```python\nClient(timeout=10)\n```\nThat is all.", "Pass it: That is all."),
        ("Pass it:\n~~~\nClient(timeout=10)\n~~~", "Pass it:"),
        ("Pass it:\n```python\nClient(timeout=10)", "Pass it:"),
        ("```sh\nls\n```", ""),
        ("```\nThey get 25 days.\n```", "``` They get 25 days. ```"),
        ("```markdown\nThey get 25 days.\n```", "```markdown They get 25 days. ```"),
        ("Use `timeout` here.", "Use `timeout` here."),
    ],
)
def test_blocks_of_code_are_no_claims(answer: str, kept: str) -> None:
    """A whole answer between fences may be words, unless they name a language of programs."""
    assert " ".join(without_code(answer).split()) == kept

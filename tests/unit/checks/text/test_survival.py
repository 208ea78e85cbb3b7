"""What became of a chunk in the prompt."""

from otel_raglog.checks.text.survival import Fate, PromptText

CHUNK = (
    "Full-time employees receive 25 days of paid vacation per calendar year. Part-time employees "
    "receive a pro rata share. Unused days expire on 31 March of the following year."
)


def test_white_space_does_not_matter() -> None:
    """A re-wrapped chunk is intact."""
    survival = PromptText("Context:\n" + CHUNK.replace(" ", "\n")).survival(CHUNK)
    assert (survival.fate, survival.kept) == (Fate.INTACT, 1.0)


def test_other_marks_between_the_same_words_are_reformatting() -> None:
    """Markdown and punctuation are not lost text."""
    prompt = CHUNK.replace(". ", ".\n* ").replace("25 days", "**25 days**")
    assert PromptText(prompt).survival(CHUNK).fate is Fate.REFORMATTED


def test_a_beginning_alone_is_truncated_and_tells_what_is_lost() -> None:
    """The missing end is what has to be judged."""
    survival = PromptText("Context: " + CHUNK[:90]).survival(CHUNK)
    assert survival.fate is Fate.TRUNCATED
    assert survival.lost_text.endswith("following year")
    assert 0.3 < survival.kept < 0.8


def test_a_chunk_of_which_nothing_is_there_is_dropped() -> None:
    """Even when single words recur."""
    assert PromptText("Employees receive laptops.").survival(CHUNK).fate is Fate.DROPPED


def test_a_chunk_without_its_middle_is_partial() -> None:
    """Neither whole, nor cut at the end."""
    words = CHUNK.split()
    prompt = " ".join(words[:8] + words[15:])
    assert PromptText(prompt).survival(CHUNK).fate is Fate.PARTIAL


def test_the_position_is_where_the_chunk_begins() -> None:
    """From 0 at the prompt's start to 1 at its end."""
    position = PromptText(f"{'x ' * 500}{CHUNK}").survival(CHUNK).position
    assert position is not None
    assert 0.8 < position < 0.9


def test_a_prompt_is_prepared_once_unless_it_is_long() -> None:
    """Several checks look into the same one."""
    assert PromptText.of("A short prompt.") is PromptText.of("A short prompt.")
    long = "A long prompt. " * 5_000
    assert PromptText.of(long) is not PromptText.of(long)

"""What of an answer is text, and what it cites."""

import pytest

from otel_raglog.checks.text.citations import names_source, without_citations

SAID = "Dogs are allowed on the aft deck."


@pytest.mark.parametrize(
    ("answer", "sources", "numbers"),
    [
        (SAID, (), ()),
        ("Dogs are allowed [1] on the aft deck [2, 3].", (), (1, 2, 3)),
        ("Dogs are allowed on the aft deck [doc 2].", (), (2,)),
        ("Dogs are allowed on the aft deck (pets.md, p. 3).", ("pets.md, p. 3",), ()),
        ("Dogs are allowed on the aft deck 【pets.md】.", ("pets.md",), ()),
        ("Dogs are allowed on the aft deck (source: Pets on board).", ("Pets on board",), ()),
        (f"{SAID}\n\nSource: handbook p. 3", ("handbook p. 3",), ()),
        (f"{SAID}\n\n**Sources:** [1]", (), ()),
        (
            f"{SAID}\n\n## References\n- pets.md\n- [2] Fares (https://ferry.example/fares)",
            ("pets.md", "Fares (https://ferry.example/fares)"),
            (),
        ),
        (
            "[Dogs](https://ferry.example/pets) are allowed on the aft deck.",
            ("https://ferry.example/pets",),
            (),
        ),
    ],
)
def test_citations_are_no_text(answer, sources, numbers):
    """Marks, labels, links and lists of sources."""
    cited = without_citations(answer)
    assert cited.text.strip() == SAID
    assert cited.sources == sources
    assert cited.numbers == numbers


@pytest.mark.parametrize(
    "answer",
    [
        "Sources: the river has two of them, one in the hills above the town and one in the lake.",
        "https://ferry.example/pets",
        "[3]",
        "The source of the river is a lake.",
        "The ferry leaves at 22:15 (except on Sundays).",
    ],
)
def test_what_is_said_of_sources_stays(answer):
    """And an answer that is nothing but a source."""
    assert without_citations(answer).text == answer


def test_text_after_a_list_of_sources_is_kept():
    """A list ends where sentences go on."""
    text = without_citations(f"{SAID}\nSources:\n- pets.md\nCats stay at home.").text
    assert text == f"{SAID}\nCats stay at home."


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("docs/pets.md, p. 3", True),
        ("Pets on board", True),
        ("cats.md", False),
        ("https://ferry.example/pets", False),
        ("Tax code of Atlantis", False),
    ],
)
def test_a_source_is_known_by_a_label_or_the_prompt(source, known):
    """A file by its name, a title by its words."""
    assert names_source(source, "pets.md\nPets on board", "Dogs may travel.") is known


@pytest.mark.timeout(5)
@pytest.mark.parametrize("unit", ["a", "a.", "a/", ".md", "(", "http://.", "\u0301"])
def test_no_label_takes_long_to_search(unit):
    """Metadata may hold anything."""
    assert not names_source("guide.md", unit * 50_000 + " pets.md", "Dogs may travel.")


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text",
    [
        "(source" + " " * 50_000,
        "(source" + "\n" * 50_000 + ":",
        ("(source" + " " * 130) * 400,
        "[1" + " " * 50_000,
        "[1" + " , 1" * 12_500,
        "(" + "a.md" * 12_500,
        "(p. 1" + " " * 50_000,
        "[" * 50_000,
        "http://" + "." * 50_000,
        "Sources" + " " * 50_000 + "x",
        "- 1" + "]" * 50_000,
    ],
    ids=range(11),
)
def test_no_answer_takes_long_to_read(text):
    """Work grows with its length, no faster."""
    assert SAID in without_citations(f"{SAID}\n{text}").text


def test_of_an_answers_sources_the_first_hundred_are_read():
    """Each is looked for in the whole prompt."""
    many = " ".join(f"(file{number}.md)" for number in range(150))
    assert len(without_citations(f"{SAID} {many}").sources) == 100


def test_a_file_is_known_wherever_its_name_stands_in_a_label():
    """Behind folders, a link, or another file."""
    for label in ("docs/en/pets.md", "see https://ferry.example/a.md,docs/pets.md", "a.md-pets.md"):
        assert names_source("pets.md", label, "")

"""Sentences."""

from otel_raglog.checks.text.sentences import sentence_spans, sentences

CASES = (
    "The Treaty of Paris was signed on Sept. 3, 1783.|It ended the war.",
    "He was born in St. Louis, Mo., in 1888.|His father was a businessman.",
    "J. R. R. Tolkien wrote The Hobbit.|It was published in 1937.",
    "Revenue rose 3.5% to $4.2 billion.|Profit fell.",
    "Dr. Smith and Mrs. Jones met at 5 p.m. on Monday.|They discussed the case.",
    "The U.S. Senate voted on the bill.|It passed.",
    "She moved to the U.S.|Her brother stayed.",
    "The album sold approx. 2 million copies.|It reached No. 1 in the U.K. charts.",
    "He works for Apple Inc. in Cupertino.|She works for Google.",
    "The company is called Yahoo!|It was founded in 1994.",
    "Is this covered?|Yes, it is.",
    '"Where are you?" he asked.|She did not answer.',
    "See Fig. 3 for details.|The results are listed in Table 2.",
    "Smith et al. (2015) found the same.|Others did not.",
    "The vote was 5 vs. 4 in favour.|The law stood.",
    "He retired in 2004 (see ch. 5).|Then he wrote a book.",
    "The temperature was -5.5 degrees.|Snow fell.",
    "Visit www.example.com for help.|It is free.",
    "The value of e.g. gold rose.|Silver fell.",
    "i.e. the tax applies.|No exception exists.",
    "George H. W. Bush was president from 1989 to 1993.|Bill Clinton followed him.",
    "The Rev. Martin Luther King Jr. spoke in Washington, D.C., in 1963.|Thousands listened.",
    "The event took place in Washington, D.C.|It was free.",
    "Gen. Lee surrendered to Lt. Gen. Grant on Apr. 9, 1865.|The war was over.",
    "The film starred Robert Downey Jr. as Iron Man.|It was a hit.",
    "Sen. John McCain lost.|Gov. Palin did too.",
    "She was 5 ft. 4 in. tall.|He was taller.",
    "The band (formed c. 1990) split up.|They reunited in 2005.",
    "Ltd. companies pay less.|Public ones pay more.",
    "Version 2.0.1 fixed it.|Version 2.1 broke it again.",
    "The act was passed in 1964.[1]|It was amended later.[2]",
    "It rained on Jan. 5.|It snowed on Feb. 7.",
    "Mt. Everest is 8,848 m high.|K2 is lower.",
    'He said "Stop."|Then he left.',
    "He was a Ph.D. student at M.I.T. in Boston.|He left in 1999.",
    "The price is Rs. 500 per unit.|Tax is extra.",
    "The team won 3-2.|The crowd cheered.",
    "Ask for vitamin C.|Vitamin D is different.",
    "Plan A failed.|Plan B worked.",
    "Prof. X is a character.|So is Dr. No.",
    "The capital is Paris, France.|It has 2.1 million people.",
    "The store opens at 9 a.m. daily.|It closes at 6 p.m.",
    "The store closes at 6 p.m.|Parking is free.",
    "Louis XIV.|He ruled France.",
    "1. Open the file.|2. Save it.",
    "- Employees get 25 days.|- Part-time staff get fewer.",
    "Vacation: 25 days.|sick leave: 10 days.",
    "In 1990, it had 12,345 people (approx. 5% more than in 1980).|Growth slowed.",
    "The novel, by C. S. Lewis, was first published by Geoffrey Bles.|It sold well.",
    "It began in the 1990s.|By 2000 it was over!",
    "Mr. and Mrs. Brown live at 5 Elm St. in Springfield.|They are retired.",
    "Elm St. is long.|Oak Ave. is short.",
    "The U.N. and the E.U. agreed.|The U.S.A. did not.",
    "Who wrote it?|J. K. Rowling did.",
)
"""Texts with a bar between sentences."""

MISSED = {
    "The album sold approx. 2 million copies.|It reached No. 1 in the U.K. charts.",
    "The company is called Yahoo!|It was founded in 1994.",
    "Ask for vitamin C.|Vitamin D is different.",
    "Prof. X is a character.|So is Dr. No.",
}


def test_abbreviations_and_initials_end_no_sentence() -> None:
    """Only a full stop before a new sentence does."""
    assert sentences("Dr. Smith met J. Doe in the U.S. in May. He left.") == (
        "Dr. Smith met J. Doe in the U.S. in May.",
        "He left.",
    )


def test_a_line_break_ends_a_sentence_and_empty_ones_are_left_out() -> None:
    """List items are sentences."""
    assert sentences("- one\n\n- two\n") == ("- one", "- two")


def test_abbreviations_numbers_lists_and_quotes() -> None:
    """All but the known few are split right."""
    wrong = {
        case
        for case in CASES
        if sentences(("\n" if "sick" in case else " ").join(case.split("|")))
        != tuple(case.split("|"))
    }
    assert wrong == MISSED


def test_a_lists_number_belongs_to_its_item() -> None:
    """It says nothing alone."""
    assert sentences("1. Open the file. 2. Save it.") == ("1. Open the file.", "2. Save it.")


def test_places_count_characters() -> None:
    """A span's text stands at its place, whatever letters come before."""
    text = "  Ä 🙂 \ud800 eins zwei. Next one.\nLast "
    spans = sentence_spans(text)
    assert [text[span.start : span.end] for span in spans] == [span.text for span in spans]
    assert spans[-1].text == "Last"
    assert len(spans) == 3

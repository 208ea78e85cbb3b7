"""What a rewrite adds and takes away."""

from dataclasses import replace

import pytest
from handbook_runs import make_run

from otel_raglog.checks.rules.rewriter import RewriterRules
from otel_raglog.checks.text.survival import PromptText
from otel_raglog.model import Measurement, Message, RewriteKind, Run, present

QUESTION = "How long is parental leave in Germany since 2011?"


def found(run: Run) -> dict[str, Measurement]:
    return {m.name.removeprefix("rewriter."): m for m in RewriterRules().measure(run)}


def value(rewrites: list[str], name: str, question: str = QUESTION, **options: object) -> float:
    measurement = found(make_run(question, rewrites=rewrites, **options))[name]  # type: ignore[arg-type]
    assert measurement.value is not None
    return measurement.value


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("numbers_added", "parental leave Germany 2011", "parental leave Germany 2011 and 2015"),
        ("numbers_dropped", "parental leave Germany 2011", "parental leave Germany"),
        ("numbers_swapped", "parental leave Germany 2011", "parental leave Germany in 2012"),
        ("names_added", "parental leave in German firms", "parental leave in Germany for Siemens"),
        ("names_dropped", "parental leave germany 2011", "parental leave since 2011"),
        ("names_swapped", "leave in Germany since 2011", "leave in France since 2011"),
        ("qualifiers_dropped", "leave since 2011", "leave 2011"),
        ("qualifiers_added", "parental leave in Germany", "minimum parental leave in Germany"),
        ("negation_changed", "leave in Germany", "leave that is not in Germany"),
        ("answer_kind_changed", "How much leave is there?", "Why is there leave?"),
        ("words_dropped_share", "long parental leave germany since 2011", "leave"),
        ("words_added_share", "parental leave germany", "maternity benefits germany"),
    ],
)
def test_minimal_pairs(name: str, good: str, bad: str) -> None:
    """A faithful rewrite measures zero, a faulty one more."""
    assert value([good], name) == 0
    assert value([bad], name) > 0


def test_the_evidence_names_what_was_added() -> None:
    """In words that stand in an explanation."""
    measurement = found(make_run("What is the leave?", rewrites=["What is the leave in 2011?"]))
    assert measurement["numbers_added"].evidence == (
        "the rewrite adds the year 2011, which the question does not have"
    )


def test_a_constraint_is_dropped_only_when_no_rewrite_holds_it() -> None:
    """Several rewrites are judged together."""
    rewrites = ["parental leave in Germany", "parental leave since 2011"]
    assert value(rewrites, "names_dropped") == value(rewrites, "numbers_dropped") == 0


def test_words_of_the_history_are_not_added() -> None:
    """A condensed follow-up takes its subject from the conversation."""
    history = [("user", "How long is parental leave in Germany?"), ("assistant", "16 weeks.")]
    condensed = ["How long is parental leave in Austria compared with Germany?"]
    alone = value(condensed, "names_added", "And in Austria?")
    told = value(
        condensed, "names_added", "And in Austria?", kind=RewriteKind.CONDENSE, history=history
    )
    assert (alone, told) == (1, 0)


@pytest.mark.parametrize("kind", [RewriteKind.CONDENSE, RewriteKind.MULTI_QUERY])
def test_a_follow_up_may_resolve_a_time_of_the_history(kind: RewriteKind) -> None:
    """A year before that of the talk is 2020 after a question about 2021: nothing is dropped or added."""
    history = [("user", "Was the fare raised in 2021?"), ("assistant", "Yes.")]
    question = "And the year before?"
    for rewrite, wrong in (
        ("Was the fare raised in 2020?", 0),
        ("Was the fare raised in 2014?", 1),
    ):
        run = make_run(question, rewrites=[rewrite], kind=kind, history=history)
        measured = found(run)
        assert measured["numbers_added"].value == measured["qualifiers_dropped"].value == wrong


def test_a_later_hop_may_name_what_an_earlier_one_retrieved() -> None:
    """Multi-hop questions ask on about what was found."""
    run = make_run("Who answers expense questions?", rewrites=["expense questions"])
    second = replace(
        run.rewriters[0], rewrites=replace(run.rewriters[0].rewrites, value=("Anna Schmidt",))
    )
    run = replace(run, rewriters=(*run.rewriters, second))
    added = [m.value for m in RewriterRules().measure(run) if m.name == "rewriter.names_added"]
    assert added == [0, 0]


def test_a_hypothetical_passage_is_exempt() -> None:
    """HyDE invents names and numbers on purpose."""
    run = make_run(rewrites=["In 2011 Siemens gave 40 days."], kind=RewriteKind.HYDE)
    assert found(run)["numbers_added"].value is None
    assert found(run)["numbers_added"].reason


def test_a_rewriter_that_returns_nothing_is_measured() -> None:
    """Everything is lost then."""
    assert found(make_run(rewrites=[" "]))["empty"].value == 1


@pytest.mark.parametrize(
    ("question", "rewrite", "added", "dropped"),
    [
        ("And the summer before?", "How many trips were there in summer 2024?", 0, 0),
        ("And two years earlier?", "How many trips were there in summer 2023?", 0, 0),
        ("And the summer before?", "How many trips were there in summer 2011?", 1, 0),
        ("And in winter?", "How many trips were there in winter 2024?", 1, 0),
        ("And two dogs?", "How many dogs were there in summer 2025?", 0, 1),
    ],
)
def test_a_condensed_question_may_resolve_a_relative_time(
    question: str, rewrite: str, added: int, dropped: int
) -> None:
    """Only where the question has one, and near a year that the conversation names."""
    history = [("user", "How many trips were there in summer 2025?"), ("assistant", "Nine.")]
    run = make_run(question, rewrites=[rewrite], kind=RewriteKind.CONDENSE, history=history)
    measurements = found(run)
    assert measurements["numbers_added"].value == added
    assert measurements["numbers_dropped"].value == dropped


def timed(run: Run, *, searched: str, at: int) -> Run:
    """Return the run with its rewriter from 10 to 20, and a search of a text from ``at`` on."""
    rewriter = replace(
        run.rewriters[0],
        origin=replace(run.rewriters[0].origin, start_unix_nano=10, end_unix_nano=20),
    )
    first = replace(
        run.retrievers[0],
        query=present(searched),
        origin=replace(run.retrievers[0].origin, start_unix_nano=at, end_unix_nano=at + 5),
    )
    return replace(run, rewriters=(rewriter,), retrievers=(first,))


def test_what_is_searched_for_beside_the_question_drops_nothing() -> None:
    """A step-back query is more general; the question itself is searched for as well."""
    run = make_run(QUESTION, rewrites=["What are the rules of family leave?"])
    beside, earlier = (timed(run, searched=QUESTION, at=at) for at in (20, 1))
    for name in ("names_dropped", "numbers_dropped", "words_dropped_share"):
        assert found(beside)[name].value == 0
        assert (found(earlier)[name].value or 0) > 0


def test_a_filter_that_the_rewriter_wrote_keeps_what_the_query_leaves_out() -> None:
    """Self-query: the entity is in the filter."""
    run = make_run(QUESTION, rewrites=["parental leave since 2011"])
    assert found(run)["names_dropped"].value == 1
    step = replace(run.rewriters[0], filters='eq("country", "Germany")')
    assert found(replace(run, rewriters=(step,)))["names_dropped"].value == 0


def test_what_an_earlier_search_found_is_not_added() -> None:
    """Also by the run's first rewriter (interleaved retrieval and reasoning)."""
    run = make_run("How is leave?", rewrites=["There are 25 days of leave. Next: sick leave"])
    assert (found(timed(run, searched="How is leave?", at=30))["numbers_added"].value or 0) > 0
    assert found(timed(run, searched="How is leave?", at=1))["numbers_added"].value == 0


def test_numbers_may_be_another_tools_matter() -> None:
    """A search needs not have what a calculator is given."""
    run = make_run("What do three days of parking cost?", rewrites=["What does parking cost?"])
    assert found(run)["numbers_dropped"].value == 1
    told = (*(run.generators[0].messages.value or ()), Message("tool", "18"))
    step = replace(run.generators[0], messages=present(told))
    assert found(replace(run, generators=(step,)))["numbers_dropped"].value == 0


def test_what_a_tool_told_is_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each chunk anew."""
    prepared: list[str] = []
    real = PromptText.of

    def counting(text: str) -> PromptText:
        prepared.append(text)
        return real(text)

    monkeypatch.setattr(PromptText, "of", counting)
    run = make_run("What do three days of parking cost?", rewrites=["What does parking cost?"])
    told = (*(run.generators[0].messages.value or ()), Message("tool", "18"))
    step = replace(run.generators[0], messages=present(told))
    assert found(replace(run, generators=(step,)))["numbers_dropped"].value == 0
    assert prepared.count("18") == 1


@pytest.mark.timeout(20)
def test_a_question_with_a_long_document_is_compared_fast() -> None:
    """With a rewrite as long."""
    long = " ".join(f"Word{number} 18{number}" for number in range(2_500))
    assert value([long], "unchanged", long) == 1
    assert value([long.replace("18", "19")], "numbers_added", long) > 0

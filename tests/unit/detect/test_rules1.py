"""Detector rules-1, on runs with a fault planted in each stage."""

from dataclasses import replace

import pytest
from handbook_runs import HANDBOOK, QUESTION, make_run

from otel_raglog.checks.check import measured
from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import measure
from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.detect.rules1 import Rules1, noisy_or, step_verdict
from otel_raglog.detect.rules1_weights import CLUES, OPERATING_POINTS, THRESHOLD, Clue
from otel_raglog.model import (
    FAULT_TYPES,
    Chunk,
    FaultType,
    Measurement,
    MeasurementStatus,
    RewriteKind,
    Run,
    Stage,
    StageState,
    StageVerdict,
    UnknownReason,
    Verdict,
    WarningType,
    present,
)

LEAVE = "How long is parental leave in Germany?"
WEEKS = "Parental leave is 16 weeks at full pay."
ALL = ("parental", "vacation", "laptops")
CHECKS = build_checks(MiniLmEncoder(workers=1))


def judged(run: Run) -> dict[Stage, Verdict]:
    return dict(Rules1().judge(run, measure(run, CHECKS)))


def faulty(run: Run) -> dict[Stage, tuple[FaultType, ...]]:
    return {
        stage: verdict.fault_types
        for stage, verdict in judged(run).items()
        if verdict.verdict is StageVerdict.FAULTY
    }


CLEAN = {
    "plain": make_run(),
    "short answer": make_run(answer="25 days"),
    "paraphrased": make_run(rewrites=["Number of vacation days of full-time staff"]),
    "lower case": make_run("how many vacation days do full-time employees get"),
    "keywords": make_run(
        rewrites=["vacation days full-time", "paid vacation employees"],
        kind=RewriteKind.MULTI_QUERY,
        embedded=["vacation days full-time", "paid vacation employees"],
    ),
    "reranked": make_run(LEAVE, WEEKS, retrieved=ALL, selected=["parental"]),
    "name": make_run("Who answers questions about travel expenses?", "Anna Schmidt in Finance."),
    "date in another order": make_run("When do unused vacation days expire?", "On March 31."),
    "follow-up": make_run(
        "And for part-time employees?",
        "Part-time employees receive a pro rata share.",
        history=[("user", QUESTION), ("assistant", "25 days.")],
        rewrites=["How many vacation days do part-time employees get?"],
        kind=RewriteKind.CONDENSE,
    ),
    "hyde": make_run(
        rewrites=["Employees at Siemens got 30 days of vacation in 2011."],
        kind=RewriteKind.HYDE,
        embedded=["Employees at Siemens got 30 days of vacation in 2011."],
    ),
}


@pytest.mark.parametrize("run", [pytest.param(run, id=name) for name, run in CLEAN.items()])
def test_clean_runs_raise_no_alarm(run: Run) -> None:
    """In the shapes that production has."""
    assert faulty(run) == {}


STAFF = ("user", "How many vacation days do staff of Larkfield Optics get?")
FARE = ("user", "Was the fare of the Sandmouth ferry raised in 2021?")


@pytest.mark.parametrize("kind", [RewriteKind.CONDENSE, RewriteKind.MULTI_QUERY])
@pytest.mark.parametrize(
    ("before", "question", "good", "bad"),
    [
        (
            STAFF,
            "And interns?",
            "How many vacation days do interns of Larkfield Optics get?",
            "How many vacation days do interns of Sandmouth Steel get?",
        ),
        (
            FARE,
            "By how much?",
            "By how much was the fare of the Sandmouth ferry raised in 2021?",
            "By how much was the fare of the Dunmore ferry raised in 2021?",
        ),
        (
            FARE,
            "And the year before?",
            "Was the fare of the Sandmouth ferry raised in 2020?",
            "Was the fare of the Sandmouth ferry raised in 2014?",
        ),
    ],
)
def test_what_the_talk_says_is_not_added(
    before: tuple[str, str], question: str, good: str, bad: str, kind: RewriteKind
) -> None:
    """A follow-up completed from the talk before it is faithful; by anything else it is not."""
    verdicts = [
        judged(
            make_run(
                question, rewrites=[rewrite], kind=kind, history=[before, ("assistant", "Yes.")]
            )
        )[Stage.REWRITER]
        for rewrite in (good, bad)
    ]
    assert [verdict.verdict for verdict in verdicts] == [StageVerdict.OK, StageVerdict.FAULTY]
    assert FaultType.ADDS_CONSTRAINT in verdicts[1].fault_types


PLANTED = [
    ("rewriter", FaultType.ADDS_CONSTRAINT, make_run(rewrites=[f"{QUESTION[:-1]} in 2011?"])),
    (
        "rewriter",
        FaultType.CHANGES_ENTITY,
        make_run(LEAVE, WEEKS, retrieved=ALL, rewrites=[LEAVE.replace("Germany", "France")]),
    ),
    (
        "rewriter",
        FaultType.DROPS_CONSTRAINT,
        make_run(LEAVE, WEEKS, retrieved=ALL, rewrites=["How long is parental leave?"]),
    ),
    (
        "rewriter",
        FaultType.CHANGES_INTENT,
        make_run(LEAVE, WEEKS, retrieved=ALL, rewrites=["Why is parental leave in Germany?"]),
    ),
    ("embedder", FaultType.TRUNCATED_INPUT, make_run(embedded=["How many vacation"])),
    ("embedder", FaultType.MISSPELLED_INPUT, make_run(embedded=[QUESTION.replace("ac", "ca")])),
    ("embedder", FaultType.ALTERED_INPUT, make_run(embedded=[f"{QUESTION} pizza recipes"])),
    (
        "embedder",
        FaultType.CORRUPTED_INPUT,
        make_run(embedded=[f"{QUESTION} \ufffd\ufffd\ufffd\ufffd"]),
    ),
    ("retriever", FaultType.EMPTY_RESULT, make_run(answer="I don't know.", retrieved=[])),
    (
        "retriever",
        FaultType.NO_RELEVANT_CHUNK,
        make_run(LEAVE, "I don't know.", retrieved=["vacation", "laptops", "remote"]),
    ),
    (
        "reranker",
        FaultType.EVIDENCE_EXCLUDED,
        make_run(LEAVE, "I don't know.", retrieved=ALL, selected=["vacation", "laptops"]),
    ),
    (
        "assembly",
        FaultType.EVIDENCE_DROPPED,
        make_run(LEAVE, "I don't know.", retrieved=ALL, in_prompt=["vacation", "laptops"]),
    ),
    (
        "assembly",
        FaultType.EVIDENCE_TRUNCATED,
        make_run(
            "Who in Finance answers questions about expenses?",
            "I don't know.",
            retrieved=["expenses"],
            prompt=f"Context:\n{HANDBOOK['expenses'][:60]}\n\nQuestion: Who?",
        ),
    ),
    (
        "assembly",
        FaultType.BLANK_CONTEXT,
        make_run(answer="I don't know.", prompt=f"Context:\n\nQuestion: {QUESTION}"),
    ),
    ("generator", FaultType.MISSTATED_NUMBER, make_run(answer="Employees get 28 days.")),
    (
        "generator",
        FaultType.UNSUPPORTED_CLAIM,
        make_run("Who answers questions about travel expenses?", "Peter Müller from Legal does."),
    ),
    ("generator", FaultType.WRONG_REFUSAL, make_run(answer="I could not find this information.")),
    (
        "generator",
        FaultType.SHOULD_ABSTAIN,
        make_run(LEAVE, "Parental leave is 12 months.", retrieved=["laptops", "remote"]),
    ),
    ("generator", FaultType.OUTPUT_TRUNCATED, make_run(answer="They get", finish_reason="length")),
    ("generator", FaultType.INCOMPLETE, make_run(answer="")),
    (
        "generator",
        FaultType.OFF_QUESTION,
        make_run(answer="Full-time employees get vacation days."),
    ),
]


@pytest.mark.parametrize(
    ("stage", "fault", "run"), [pytest.param(*case, id=case[1]) for case in PLANTED]
)
def test_each_fault_type_is_found_at_its_stage(stage: str, fault: FaultType, run: Run) -> None:
    """And no stage before it is blamed."""
    found = faulty(run)
    assert fault in found[Stage(stage)]
    first = next(iter(found))
    # Answering without evidence needs a retriever that found none.
    assert first is Stage(stage) or fault is FaultType.SHOULD_ABSTAIN


def test_the_generator_is_judged_on_the_prompt_it_got() -> None:
    """A refusal is right when an earlier stage lost the answer."""
    run = make_run(LEAVE, "The context does not say.", retrieved=ALL, selected=["vacation"])
    assert list(faulty(run)) == [Stage.RERANKER]


def test_every_step_of_a_stage_has_a_verdict_and_the_worst_is_the_stages() -> None:
    """Rewriter, embedder and reranker are judged step by step."""
    run = make_run(embedded=[QUESTION])
    second = replace(run.embedders[0], texts=present(("How many vacation",)))
    verdict = judged(
        replace(
            run,
            embedders=(*run.embedders, second),
            stages={**run.stages, Stage.EMBEDDER: StageState(2)},
        )
    )[Stage.EMBEDDER]
    assert [step.verdict for step in verdict.steps] == [StageVerdict.OK, StageVerdict.FAULTY]
    assert (verdict.verdict, verdict.step) == (StageVerdict.FAULTY, 1)


def test_another_wording_is_not_the_embedders_when_a_rewriter_may_have_gone_unseen() -> None:
    """A rewriter that left no span explains it; a misspelling is still one."""
    run = make_run(LEAVE, WEEKS, retrieved=ALL, embedded=["weeks off for new mothers"])
    unseen = StageState(0, reason=UnknownReason.NOT_CAPTURED)
    hidden = replace(run, stages={**run.stages, Stage.REWRITER: unseen})
    assert Stage.EMBEDDER in faulty(run)
    assert Stage.EMBEDDER not in faulty(hidden)


def test_warnings_come_with_any_verdict() -> None:
    """A chunk that nobody needed was dropped."""
    verdict = judged(make_run(LEAVE, WEEKS, retrieved=ALL, in_prompt=["parental", "laptops"]))[
        Stage.ASSEMBLY
    ]
    assert (verdict.verdict, verdict.warnings) == (StageVerdict.OK, (WarningType.CHUNK_DROPPED,))


def test_a_stage_of_which_nothing_could_be_measured_is_unknown() -> None:
    """An error when a check failed, else an abstention; never ok."""
    failed = Measurement("x", Stage.RETRIEVER, None, MeasurementStatus.FAILED, reason="raised")
    for measurements, reason in (((failed,), UnknownReason.ERROR), ((), UnknownReason.ABSTAINED)):
        verdict = Rules1().judge(make_run(), measurements)[Stage.RETRIEVER]
        assert (verdict.verdict, verdict.reason) == (StageVerdict.UNKNOWN, reason)


def test_a_clue_is_a_ramp() -> None:
    """Zero at one end, its strength at the other, either way round; silent without its condition."""
    clue = Clue("m", 0.6, 0.2, 0.8, FaultType.NO_RELEVANT_CHUNK, given=(("n", 1),))
    values = [clue.contribution({"m": m, "n": 1}) for m in (0.7, 0.6, 0.4, 0.2, 0.0)]
    assert values == pytest.approx([0, 0, 0.4, 0.8, 0.8])
    assert clue.contribution({"m": 0.0}) == clue.contribution({"n": 1}) == 0


def test_noisy_or() -> None:
    """The probability that at least one of independent events happens."""
    assert noisy_or([0.5, 0.5]) == 0.75
    assert noisy_or([]) == 0


def test_the_table_is_sound() -> None:
    """Clues speak for faults of their own stage, of which each has at least one."""
    for stage, clues in CLUES.items():
        assert {clue.fault for clue in clues} == set(FAULT_TYPES[stage])
        assert all(clue.measurement.startswith(f"{stage}.") for clue in clues)
        assert all(0 < clue.strength < 1 and clue.low != clue.high for clue in clues)
    assert set(OPERATING_POINTS) == set(FaultType)
    assert all(point < THRESHOLD for point in OPERATING_POINTS.values())


def test_rows_of_a_statement_are_not_compared_with_words() -> None:
    """Of what a SQL statement found nothing is known; a cut answer is one all the same."""
    sql = "SELECT days FROM vacation WHERE kind='full-time'"
    run = make_run(answer="Full-time employees get 25 days a year.", rewrites=[sql])
    search = replace(
        run.retrievers[0], query=present(sql), chunks=present((Chunk("[(25,)]", id="0"),))
    )
    run = replace(run, retrievers=(search,))
    verdicts = judged(run)
    for stage in (Stage.REWRITER, Stage.RETRIEVER, Stage.GENERATOR):
        assert verdicts[stage].verdict is StageVerdict.UNKNOWN
        assert verdicts[stage].reason is UnknownReason.ABSTAINED
        assert "statement" in verdicts[stage].explanation
    cut = replace(run, generators=(replace(run.generators[0], finish_reason="length"),))
    assert faulty(cut) == {Stage.GENERATOR: (FaultType.OUTPUT_TRUNCATED,)}


def test_nothing_is_faulty_where_nothing_was_asked() -> None:
    """A search that always runs finds nothing for thanks; a cut answer is one all the same."""
    run = make_run("Thanks!", "You are welcome.", retrieved=[], in_prompt=[])
    verdicts = judged(run)
    for stage in (Stage.RETRIEVER, Stage.GENERATOR):
        assert verdicts[stage].reason is UnknownReason.ABSTAINED
        assert "asked" in verdicts[stage].explanation
    cut = replace(run, generators=(replace(run.generators[0], finish_reason="length"),))
    assert faulty(cut) == {Stage.GENERATOR: (FaultType.OUTPUT_TRUNCATED,)}


def test_a_search_of_which_no_text_is_known_is_an_abstention() -> None:
    """That something was found says nothing of whether it helps."""
    found = [measured("retriever.empty", 0.0), measured("retriever.chunks", 2.0)]
    verdict = step_verdict(Stage.RETRIEVER, None, found, frozenset())
    assert verdict.reason is UnknownReason.ABSTAINED
    empty = [measured("retriever.empty", 1.0)]
    assert step_verdict(Stage.RETRIEVER, None, empty, frozenset()).verdict is StageVerdict.FAULTY

"""What is read as English, and what the detector says of the rest."""

from dataclasses import replace

import pytest
from samples import make_run

from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import measure
from otel_raglog.detect.language import is_foreign, reads_as_english, stages_in_english
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import (
    FaultType,
    RewriteKind,
    RewriteStep,
    Stage,
    StageVerdict,
    StepOrigin,
    UnknownReason,
    present,
)

GERMAN = {
    "question": "Wie viele Urlaubstage gibt es?",
    "chunk": "Der Jahresurlaub beträgt 27 Tage. Anträge gehen an die Personalabteilung.",
    "answer": "Es gibt 27 Urlaubstage.",
}
OTHERS = [
    "Hoeveel vakantiedagen zijn er? De vakantie is 27 dagen. Aanvragen gaan naar de leiding.",
    "Combien de jours de congé y a-t-il? Le congé est de 27 jours. Il faut le demander tôt.",
    "¿Cuántos días de vacaciones hay? Las vacaciones son 27 días y se piden en la oficina.",
    "Quanti giorni di ferie ci sono? Le ferie sono 27 giorni e si chiedono al responsabile.",
    "Hur många semesterdagar finns det? Semestern är 27 dagar och chefen ska veta det.",
    "有給休暇は何日ですか。年次有給休暇は27日です。申請は上司に提出してください。",
    "Сколько дней отпуска? Ежегодный отпуск составляет 27 дней.",
]


def german(**changes):
    """Return a run record in German."""
    record = {
        "id": "de",
        "question": GERMAN["question"],
        "retrieved": [{"id": "a", "text": GERMAN["chunk"]}],
        "passed": ["a"],
        "prompt": f"Kontext: {GERMAN['chunk']}\nFrage: {GERMAN['question']}",
        "answer": GERMAN["answer"],
    }
    return run_from_record(record | changes)


@pytest.mark.parametrize("text", OTHERS)
def test_other_languages_are_told(text):
    """Related languages share forms with English, but few."""
    question, _, rest = text.partition("?")
    run = make_run(question=present(question), answer=present(rest), retrievers=())
    assert not reads_as_english(run)


@pytest.mark.parametrize(
    "text",
    [
        "refund policy",
        "How long do refunds take? Doc 1: refunds take 1 days. Doc 2: refunds take 2 days.",
        "Who wrote Les Misérables? Victor Hugo wrote Les Misérables in 1862.",
    ],
)
def test_short_and_technical_english_is_english(text):
    """Names of other languages and dry sentences do not make it foreign."""
    assert reads_as_english(make_run(question=present(text), answer=present("")))


def test_another_language_is_not_judged():
    """A detector that cannot read says so instead of crying wolf."""
    run = german()
    verdicts = Rules1().judge(run, measure(run, build_checks(None)))
    for stage in (Stage.RETRIEVER, Stage.ASSEMBLY, Stage.GENERATOR):
        assert verdicts[stage].verdict is StageVerdict.UNKNOWN
        assert verdicts[stage].reason is UnknownReason.ABSTAINED
    assert verdicts[Stage.RERANKER].verdict is StageVerdict.ABSENT


def test_what_needs_no_reading_is_judged_in_any_language():
    """An empty result and a cut-off answer are facts of the record."""
    run = german(retrieved=[], passed=[], finish_reason="length")
    verdicts = Rules1().judge(run, measure(run, build_checks(None)))
    assert verdicts[Stage.RETRIEVER].fault_types == (FaultType.EMPTY_RESULT,)
    assert verdicts[Stage.GENERATOR].fault_types == (FaultType.OUTPUT_TRUNCATED,)


def test_an_english_question_over_other_documents_is_no_english_run():
    """The evidence cannot be read then."""
    run = german(
        question="How many days of leave are there for the employees of the company?",
        answer="There are 27 days of leave for the employees of the company.",
        retrieved=[{"id": "a", "text": GERMAN["chunk"] * 2}],
    )
    assert not reads_as_english(run)


def test_a_translated_answer_leaves_an_english_run_english():
    """What is judged is the draft."""
    run = make_run(answer=present(" ".join([GERMAN["answer"]] * 9)))
    step = replace(run.generators[0], answer=run.answer, draft=present("It leaves at 22:15."))
    assert reads_as_english(replace(run, generators=(step,)))
    assert not reads_as_english(run)


@pytest.mark.parametrize(
    "text",
    [
        "Wo dürfen Hunde auf der Brightwater sein?",
        "Was kostet Parken in Sandmouth?",
        "Auf dem Achterdeck, an der Leine.",
        "Sur quel pont du Brightwater les chiens sont-ils admis ?",
        "Oui, à l'arrière.",
        "Sie erhalten 16 Wochen voll bezahlte Elternzeit.",
        "Tienes 16 semanas de permiso parental.",
        "Hai 16 settimane di congedo parentale.",
        "Je krijgt 16 weken ouderschapsverlof.",
        "¿En qué cubierta del Brightwater se permiten perros?",
        "Se permiten perros en la cubierta de popa, con correa.",
        "Posso portare il cane a bordo?",
        "Onde posso estacionar?",
        "Waar mogen honden zijn?",
        "Hur mycket kostar parkering?",
        "Gdzie można parkować?",
        "停车费是多少？",
    ],
)
def test_short_texts_in_other_languages_are_told(text):
    """A question has too few words for a share of function words."""
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "EU VAT rules",
        "MIT admissions",
        "Who wrote El amor en los tiempos del cólera?",
        "What does auf Wiedersehen mean?",
        "Is the Rue de la Paix in Paris?",
        "Ludwig van Beethoven teacher",
        "Côte d'Azur beaches",
        "price of a crème brûlée",
        "and in Zürich?",
        "",
    ],
)
def test_names_and_foreign_words_leave_english_english(text):
    """In questions, keywords and follow-ups."""
    assert not is_foreign(text)


def test_words_that_english_chunks_have_are_no_sign():
    """A title in another language stands in them, too."""
    title = "la maison de l'été"
    assert is_foreign(title)
    assert not is_foreign(title, frozenset({"la", "maison", "de", "l", "ete", "l'ete"}))


def test_a_question_in_another_language_leaves_nothing_to_compare():
    """Though the handbook and a translated query are English."""
    question = "Wann fährt die Nachtfähre und wo legt sie an?"
    assert stages_in_english(make_run()) == frozenset(Stage)
    assert stages_in_english(make_run(question=present(question))) == frozenset()


def test_another_language_is_judged_where_it_is_not_compared():
    """A rewrite or an answer in another language costs its own stage."""
    french = "Le bateau de nuit part à quelle heure ?"
    step = RewriteStep(StepOrigin(), RewriteKind.REWRITE, make_run().question, present((french,)))
    found = stages_in_english(make_run(rewriters=(step,)))
    assert Stage.REWRITER not in found
    assert {Stage.RETRIEVER, Stage.GENERATOR} <= found
    found = stages_in_english(make_run(answer=present("Il part à 22h15, tous les soirs.")))
    assert found == frozenset(Stage) - {Stage.GENERATOR}


def test_a_german_question_over_an_english_handbook_is_not_judged():
    """Nothing of it is faulty for that."""
    run = german(
        retrieved=[{"id": "a", "text": "The yearly leave is 27 days. Requests go to the office."}],
        prompt="Context: The yearly leave is 27 days. Requests go to the office.",
    )
    verdicts = Rules1().judge(run, measure(run, build_checks(None)))
    for stage in (Stage.RETRIEVER, Stage.ASSEMBLY, Stage.GENERATOR):
        assert verdicts[stage].reason is UnknownReason.ABSTAINED

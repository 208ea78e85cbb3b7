"""The texts of a run to the stages whose texts are in the language that the checks know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from otel_raglog.checks.reading import claims_of
from otel_raglog.checks.text.lexicon import (
    FOREIGN_HINTS,
    FOREIGN_SIGNS,
    OF_SEVERAL_LANGUAGES,
    QUESTION_OPENERS,
    STOPWORDS,
)
from otel_raglog.checks.text.words import WORD, fold, words
from otel_raglog.model import Run, Stage

_FEWEST_WORDS = 10
_LEAST_SHARE = 0.13
"""English running text has a quarter of function words and more, in short technical sentences
a sixth; related languages share some of their forms and stay below an eighth."""
_TABLES_SHARE = 0.11
"""For chunks alone: English tables have fewer function words than sentences."""
_MOST_FOREIGN = 0.3
_BEYOND_LATIN = re.compile(r"[^\u0000-\u024f]")
"""What comes after Latin Extended-B: letters of other scripts, and signs."""

_MOST_CHARACTERS = 20_000

_ENGLISH = STOPWORDS - OF_SEVERAL_LANGUAGES
_SURE = 2
"""What a word that only one language has weighs; one that names borrow weighs 1."""
_FEWEST_HINTS = 3


def stages_in_english(run: Run) -> frozenset[Stage]:
    """Return the stages of which every text that is compared reads as English.

    A question or chunks in another language leave nothing to compare; rewrites, embedded texts
    and the answer matter to their own stage.
    """
    if not reads_as_english(run):
        return frozenset()
    question = run.question.value if run.question.usable and run.question.value else ""
    chunks = "\n".join(_chunk_texts(run))
    known = frozenset(words(chunks[:_MOST_CHARACTERS]))
    if is_foreign(question, known):
        return frozenset()
    known |= frozenset(words(question))
    rewrites = [text for step in run.rewriters for text in step.rewrites.value or ()]
    embedded = [text for step in run.embedders for text in step.texts.value or ()]
    found = set(Stage)
    if any(is_foreign(text, known) for text in rewrites):
        found -= {Stage.REWRITER, Stage.EMBEDDER}
    if any(is_foreign(text, known) for text in embedded):
        found -= {Stage.EMBEDDER}
    if is_foreign(chunks):
        found -= {Stage.RETRIEVER, Stage.RERANKER, Stage.ASSEMBLY, Stage.GENERATOR}
    if is_foreign(claims_of(run) or "", known):
        found -= {Stage.GENERATOR}
    return frozenset(found)


def reads_as_english(run: Run) -> bool:
    """Tell whether question, answer and chunks together read as English; a few words are taken to.

    Decided by the share of English function words, or by letters of other scripts.
    """
    chunks = "\n".join(_chunk_texts(run))
    asked = "\n".join(_asked_texts(run))
    # An English question over other documents is no English run.
    whole = f"{asked}\n{chunks}"
    return _has_function_words(whole, _LEAST_SHARE) and _has_function_words(chunks, _TABLES_SHARE)


def is_foreign(text: str, known: Iterable[str] = ()) -> bool:
    """Tell whether a text, even a short one, is in another language for certain.

    By letters of other scripts, or by function words of other big languages that are more than
    the English ones. Words that are ``known`` from English texts are names or loan words, and a
    text that begins as English questions do only quotes the others.
    """
    text = text[:_MOST_CHARACTERS]
    if _has_other_script(text):
        return True
    found = WORD.findall(text)
    if not found or fold(found[0]) in QUESTION_OPENERS:
        return False
    usual = frozenset(known)
    # Capitals within a sentence are of names and short forms (MIT, Della Vedova).
    small = [word for at, word in enumerate(found) if word.islower() or (not at and word.istitle())]
    strange = [plain for word in small if (plain := fold(word)) not in usual]
    signs = sum(word in FOREIGN_SIGNS for word in strange) + ("¿" in text) + ("¡" in text)
    hints = sum(word in FOREIGN_HINTS for word in strange)
    if not text.isascii():
        accented = (fold(word) for word in small if word.islower() and not word.isascii())
        hints += sum(word not in usual for word in accented)
    if not signs and hints < _FEWEST_HINTS:
        return False
    english = sum(fold(word) in _ENGLISH for word in found)
    return _SURE * signs + hints > _SURE * english


def _has_other_script(text: str) -> bool:
    foreign = sum(map(str.isalpha, _BEYOND_LATIN.findall(text)))
    return foreign > 0 and foreign > _MOST_FOREIGN * sum(map(str.isalpha, text))


def _has_function_words(whole: str, least_share: float) -> bool:
    text = whole[:_MOST_CHARACTERS]
    if _has_other_script(text):
        return False
    found = words(text)
    if len(found) < _FEWEST_WORDS:
        return True
    return sum(map(STOPWORDS.__contains__, found)) >= least_share * len(found)


def _asked_texts(run: Run) -> Iterator[str]:
    if run.question.usable and run.question.value:
        yield run.question.value
    answer = claims_of(run)
    if answer:
        yield answer


def _chunk_texts(run: Run) -> Iterator[str]:
    for step in run.retrievers:
        for chunk in step.chunks.value or ():
            yield chunk.text

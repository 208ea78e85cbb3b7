"""Rules of rewriter and embedder: what became of the question's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from otel_raglog.checks.text.edits import edit_distance
from otel_raglog.checks.text.lexicon import NEGATIONS, QUALIFIERS
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberIndex, numbers
from otel_raglog.checks.text.questions import answer_kind, kinds_differ
from otel_raglog.checks.text.words import WordIndex, content_words, stem, words
from otel_raglog.lab.evidence import plain
from otel_raglog.lab.labelling.known import Record
from otel_raglog.lab.labelling.label import Label, faulty, fine, listed, undecided
from otel_raglog.lab.vocabulary import Vocabulary

_ENOUGH = 2
_MISSPELLINGS = 3


def label_rewriter(record: Record, vocabulary: Vocabulary) -> Label:
    """Return whether the rewrites together keep what the question asks, and add nothing."""
    question = str((record.get("reference") or {}).get("standalone") or record["question"])
    told = [question, str(record["question"])]
    told += [str(turn[1]) for turn in record.get("history") or ()]
    rewrites = [str(text) for text in record["rewrites"]]
    lost, doubtful = _lost(question, rewrites, vocabulary)
    own = WordIndex(told)
    added = [
        word
        for word in content_words(" ".join(rewrites))
        if not own.holds_related(word)
        and (word.isdigit() or word in QUALIFIERS or vocabulary.name_like(word))
        and not _compound(word, told)
    ]
    # Another name in place of a rare word is an entity that changed.
    if any(not word.isdigit() and word not in QUALIFIERS for word in added):
        lost += [word for word in doubtful if vocabulary.specific(word)]
    wrong_entity = [
        word
        for word in content_words(" ".join(rewrites))
        if record.get("history") and vocabulary.specific(word)
        and not WordIndex(told[:2]).holds_related(word) and lost
    ]  # fmt: skip
    negated = _negations(question) != max((_negations(text) for text in rewrites), default=0)
    kinds = [kinds_differ(answer_kind(question), answer_kind(text)) for text in rewrites]
    types: list[str] = []
    reasons: list[str] = []
    if lost and (any(not w.isdigit() and w not in QUALIFIERS for w in added) or wrong_entity):
        types.append("changes_entity")
        reasons.append(f"{listed(lost)} became {listed(added or wrong_entity)}")
    elif lost:
        types.append("drops_constraint")
        reasons.append(f"{listed(lost)} of the question is in no rewrite")
    elif added:
        types.append("adds_constraint")
        reasons.append(f"{listed(added)} is not in the question or its history")
    if lost and any(word.isdigit() for word in added):
        types.append("adds_constraint")
        reasons.append(f"{listed(added)} was added")
    if negated:
        types.append("changes_intent")
        reasons.append("a negation came or went")
    if kinds and min(kinds) >= 1:
        types.append("changes_intent")
        reasons.append("another kind of thing is asked for")
    if types:
        return faulty("; ".join(reasons), tuple(dict.fromkeys(types)))
    if doubtful := [word for word in doubtful if word not in lost]:
        return undecided(f"{listed(doubtful)} is missing, and may or may not matter")
    return fine("every name, number and rare word of the question is in a rewrite")


def _lost(
    question: str, texts: Sequence[str], vocabulary: Vocabulary
) -> tuple[list[str], list[str]]:
    """Return the words of ``question`` that no text has: those that narrow it, and the rest."""
    kept = WordIndex(texts)
    joined = " ".join(texts)
    figures = NumberIndex(texts)
    missing = [word for word in content_words(question) if not kept.holds_related(word)]
    missing = [word for word in missing if not _compound(word, [joined])]
    missing = [w for w in missing if not any(figures.holds(n) for n in numbers(w))]
    own = WordIndex([question])
    # Where other words came in, a rare one may have been put in other words: buy, purchase.
    reworded = any(not own.holds_related(word) for word in content_words(joined))
    lost = [
        word
        for word in missing
        if word.isdigit()
        or word in QUALIFIERS
        or vocabulary.name_like(word)
        or (vocabulary.specific(word) and not reworded)
    ]
    # A surname may do for a name, and it may not.
    lost = [word for word in lost if not _of_a_kept_name(word, question, missing)]
    rest = [word for word in missing if word not in lost and not vocabulary.generic(word)]
    return lost, rest


def _of_a_kept_name(word: str, question: str, missing: Sequence[str]) -> bool:
    of = [name.words for name in names(question) if word in name.words]
    return any(other not in missing for parts in of for other in parts)


def _compound(word: str, texts: Sequence[str]) -> bool:
    """Whether the word is written there in two words, or as a part of one."""
    return any(word in plain(text).replace(" ", "") for text in texts)


def _negations(text: str) -> int:
    return sum(word in NEGATIONS for word in words(text)) % 2


def label_embedder(record: Record, vocabulary: Vocabulary) -> Label:
    """Return whether each embedded text is a query."""
    given = record["embedder_input"]
    texts = [str(text) for text in ([given] if isinstance(given, str) else given)]
    queries = [str(text) for text in record.get("rewrites") or [record["question"]]]
    for text in texts:
        query = max(queries, key=lambda q: (_common(text, q), -abs(len(q) - len(text))))
        if words(text) == words(query):
            continue
        found = _altered(text, query, vocabulary)
        if found is not None:
            return found
    return fine("each text is a query, word for word or but for words that mean nothing")


def _common(one: str, other: str) -> int:
    return len({stem(word) for word in words(one)} & {stem(word) for word in words(other)})


def _altered(text: str, query: str, vocabulary: Vocabulary) -> Label | None:
    kept = set(words(text))
    missing = [word for word in content_words(query) if word not in kept]
    lost = [w for w in missing if not vocabulary.generic(w) or w in QUALIFIERS or w.isdigit()]
    added = [word for word in content_words(text) if word not in set(words(query))]
    odd = [c for c in text if c == "\ufffd" or ord(c) < _SPACE or _ODD.match(c)]
    if len(odd) > sum(1 for c in query if c == "\ufffd" or _ODD.match(c)) or (
        text.count("%") > query.count("%")
    ):
        return faulty("letters were corrupted", ("corrupted_input",))
    near = [
        w
        for w in lost
        if any(0 < edit_distance(w, a, _MISSPELLINGS) <= _MISSPELLINGS for a in added)
    ]
    if near:
        return faulty(f"{listed(near)} is misspelled", ("misspelled_input",))
    if lost and not added:
        return faulty(f"{listed(lost)} was cut off", ("truncated_input",))
    if lost or len(added) >= _ENOUGH:
        return faulty(f"{listed(lost or added)} was changed", ("altered_input",))
    return None


_SPACE = 32
_ODD = re.compile(r"[\u0080-\u00bf\u00c2\u00c3\u00e2\u20ac\u2122]")

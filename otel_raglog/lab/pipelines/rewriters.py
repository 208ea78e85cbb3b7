"""Rewriters: a question and its history to the queries that are searched for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Protocol

from otel_raglog.checks.text.lexicon import QUALIFIERS
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.words import content_words, is_content, stem, words
from otel_raglog.lab.bench import Bench
from otel_raglog.lab.follow_ups import Asked
from otel_raglog.lab.llm import ChatModel


class Rewriter(Protocol):
    """Rewrites what was asked; ``rng`` is the only randomness."""

    def rewrite(self, asked: Asked, bench: Bench, rng: Random) -> tuple[str, ...]:
        """Return one query or several."""
        ...


_SYNONYMS = {
    "got": "received", "wrote": "authored", "made": "created", "movie": "film", "film": "movie",
    "kind": "type", "big": "large", "start": "begin", "started": "began", "begin": "start",
    "located": "situated", "sing": "perform", "sang": "performed", "name": "title", "buy":
    "purchase", "show": "series", "help": "assist", "build": "construct", "built": "constructed",
    "find": "discover", "found": "discovered", "used": "employed", "happened": "occurred",
    "happen": "occur", "causes": "leads to", "caused": "led to", "called": "known as", "gave":
    "provided", "job": "occupation", "country": "nation", "city": "town", "end": "finish",
    "ended": "finished", "main": "principal", "important": "significant", "people": "persons",
    "symptoms": "signs", "effect": "impact", "effects": "impacts", "shown": "demonstrated",
    "contain": "include", "contains": "includes", "amount": "quantity", "goal": "aim", "due":
    "owing", "role": "part", "method": "technique", "methods": "techniques", "study": "research",
}  # fmt: skip
_OPENERS = (
    (
        r"^who (got|won|wrote|played|invented|discovered|directed|sang|founded)\b",
        r"which person \1",
    ),
    (r"^when (did|was|were|is|does)\b", r"on what date \1"),
    (r"^where (is|was|are|were|did|does|do)\b", r"in what place \1"),
    (r"^how many\b", r"what number of"),
    (r"^why (did|does|do|is|are|was|were)\b", r"for what reason \1"),
    (r"^what's\b", r"what is"),
    (r"^who's\b", r"who is"),
)
_CHATTER = re.compile(
    r"^(?:please |can you |could you |do you know |tell me |i want to know |so )+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Polish:
    """One well-formed question of the same meaning: synonyms of common words, other openers."""

    share: float = 0.5
    """How often each change that is possible is made."""

    def rewrite(self, asked: Asked, bench: Bench, rng: Random) -> tuple[str, ...]:  # noqa: ARG002
        """Return the question, reworded."""
        text = _CHATTER.sub("", asked.text.strip())
        for pattern, into in _OPENERS:
            if rng.random() < self.share:
                text = re.sub(pattern, into, text, count=1, flags=re.IGNORECASE)
        text = re.sub(r"[a-z]+", lambda match: self._other(match.group(), rng), text)
        text = text[:1].upper() + text[1:]
        return (text if text.endswith("?") else f"{text.rstrip(' .')}?",)

    def _other(self, word: str, rng: Random) -> str:
        other = _SYNONYMS.get(word)
        return other if other and rng.random() < self.share else word


@dataclass(frozen=True, slots=True)
class Keywords:
    """Queries of the question's rarest content words, as a keyword extractor makes them.

    The first keeps ``most`` words in their order; the others pair the question's names and
    numbers with single words. What is not among the rarest is lost: a natural fault when it
    narrowed the question.
    """

    queries: int = 3
    most: int = 5

    def rewrite(self, asked: Asked, bench: Bench, rng: Random) -> tuple[str, ...]:
        """Return ``queries`` different queries, fewer for a question of few words."""
        kept = content_words(asked.text)
        by_rarity = sorted(kept, key=lambda word: -self._weight(word, bench))
        chosen = set(by_rarity[: self.most])
        found = [" ".join(word for word in kept if word in chosen)]
        anchor = by_rarity[:2]
        others = [word for word in by_rarity[2 : self.most] if word not in anchor]
        rng.shuffle(others)
        found += [
            " ".join(w for w in kept if w in {*anchor, word}) for word in others[: self.queries - 1]
        ]
        return tuple(dict.fromkeys(text for text in found if text)) or (asked.text,)

    @staticmethod
    def _weight(word: str, bench: Bench) -> float:
        # Qualifiers are common in any corpus; extractors that count words lose them.
        return bench.vocabulary.rarity(word) * (0.6 if word in QUALIFIERS else 1.0)


@dataclass(frozen=True, slots=True)
class Expand:
    """The question and terms of the passages that BM25 finds first (pseudo-relevance feedback).

    After RM3 (Abdul-Jaleel et al., TREC 2004): terms by frequency in the first passages times
    rarity. Names and numbers are not taken, for they would narrow the search.
    """

    terms: int = 4
    passages: int = 5

    def rewrite(self, asked: Asked, bench: Bench, rng: Random) -> tuple[str, ...]:  # noqa: ARG002
        """Return one query."""
        asked_stems = {stem(word) for word in words(asked.text)}
        weights: dict[str, float] = {}
        for hit in bench.lexical.search(asked.text, self.passages):
            for word in set(words(hit.passage.text)):
                named = bench.vocabulary.name_like(word) or not word.isalpha()
                if is_content(word) and not named and stem(word) not in asked_stems:
                    weights[word] = weights.get(word, 0.0) + bench.vocabulary.rarity(word)
        best = sorted(weights, key=lambda word: (-weights[word], word))[: self.terms]
        return (" ".join([asked.text.strip(" ?"), *best]),)


_IT = re.compile(r"\b(it|its|they|their|them|he|his|she|her|there)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Condense:
    """A follow-up with its pronoun replaced by the name that the conversation is about.

    By rule: the name of the last user turn, else of the last reply. A reply that names several
    things, or a turn in lower case, misleads it: a natural fault.
    """

    def rewrite(self, asked: Asked, bench: Bench, rng: Random) -> tuple[str, ...]:  # noqa: ARG002
        """Return one standalone question; the question as it is where nothing refers back."""
        entity = self._entity(asked)
        if entity is None or not _IT.search(asked.text):
            return (asked.text,)
        return (_IT.sub(lambda match: _in_place(match.group(), entity), asked.text, count=1),)

    @staticmethod
    def _entity(asked: Asked) -> str | None:
        for role in ("user", "assistant"):
            for said, text in reversed(asked.history):
                found = [name.text for name in names(text)] if said == role else []
                if found:
                    return max(found, key=len) if role == "user" else found[0]
        told = [text for said, text in asked.history if said == "user"]
        about = re.search(r"\b(?:about|on) ([^.?]+)", told[-1]) if told else None
        return about.group(1) if about else None


def _in_place(pronoun: str, entity: str) -> str:
    possessive = pronoun.lower() in {"its", "their", "his", "her"}
    return f"{entity}'s" if possessive else entity


_PROMPTS = {
    "rewrite": "Rewrite the question so that a search engine finds the answer. Keep every name, "
    "number and condition. Reply with the question alone.",
    "keywords": "Write three short keyword queries for a search engine that together find the "
    "answer. One query on each line, nothing else.",
    "condense": "Rewrite the last question so that it can be understood without the "
    "conversation. Reply with the question alone.",
}
_LIST_MARK = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s*")


@dataclass(frozen=True, slots=True)
class ModelRewriter:
    """An LLM behind an OpenAI-compatible endpoint; ``task`` is one of the prompts by name."""

    model: ChatModel
    task: str

    def rewrite(self, asked: Asked, bench: Bench, rng: Random) -> tuple[str, ...]:  # noqa: ARG002
        """Return the lines of the reply, the question where the reply is empty."""
        said = [f"{role}: {text}" for role, text in asked.history]
        user = "\n".join([*said, f"Question: {asked.text}"])
        reply = self.model.chat(_PROMPTS[self.task], user)
        lines = [_LIST_MARK.sub("", line).strip(" \"'") for line in reply.text.splitlines()]
        found = tuple(dict.fromkeys(line for line in lines if line))
        return (found[:3] if self.task == "keywords" else found[:1]) or (asked.text,)

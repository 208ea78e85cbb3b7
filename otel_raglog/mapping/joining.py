"""Fragments in any order to those that are one run: by what they have in common, never by time.

Time only rules out: what is too far apart, and a search that began after the LLM was called.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from otel_raglog.mapping.fragments import Fragment

MOST_COMPARED = 100
"""Fragments that one is compared with, of each kind, before it and after it."""

MOST_LINKED = 100
"""Fragments that have something in common beyond which nothing tells them apart."""

_FEWEST_CHARACTERS = 8
"""Shorter texts must be equal; a longer one may stand in a text with more."""

_PROBE_CHARACTERS = 48
_NANO = 1_000_000_000
_SHOWN_IDS = 4

AMBIGUOUS = "several searches and LLM calls match equally well, so that none is joined"
TOO_MANY = "too many searches and LLM calls at the same time ask for the same"
SAME_SPAN_IDS = "spans of these traces have the same ids, so that none is joined"


@dataclass(frozen=True, slots=True)
class Together:
    """Traces that are one run, in order of time; ``generator`` is the one whose LLM answers."""

    generator: bytes
    trace_ids: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Apart:
    """Traces that are judged each by itself, and why, where that needs to be said."""

    trace_ids: tuple[bytes, ...]
    note: str = ""


Outcome: TypeAlias = Together | Apart


class _Match(NamedTuple):
    """How well a search fits an LLM call: the more the better, the first first."""

    text: bool
    chunks: int


_NO_MATCH = _Match(text=False, chunks=0)


class _Line:
    """Fragments of one kind, in order of time."""

    def __init__(self) -> None:
        self._places: list[tuple[int, bytes]] = []
        self._fragments: dict[bytes, Fragment] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, fragment: Fragment) -> None:
        insort(self._places, (fragment.called, fragment.trace_id))
        self._fragments[fragment.trace_id] = fragment

    def remove(self, fragment: Fragment) -> None:
        del self._places[bisect_left(self._places, (fragment.called, fragment.trace_id))]
        del self._fragments[fragment.trace_id]

    def around(self, fragment: Fragment) -> Iterator[Fragment]:
        """Yield the nearest ones, as many before as after."""
        at = bisect_left(self._places, (fragment.called, fragment.trace_id))
        for _, trace_id in self._places[max(0, at - MOST_COMPARED) : at + MOST_COMPARED]:
            yield self._fragments[trace_id]


@dataclass(slots=True)
class _Bucket:
    """The fragments with one key."""

    searches: _Line = field(default_factory=_Line)
    calls: _Line = field(default_factory=_Line)

    def of(self, *, calls: bool) -> _Line:
        return self.calls if calls else self.searches


class Joiner:
    """Fragments that are here now, and how they belong together.

    Each is compared when it is added, with those that are nearest in time. What becomes of them
    depends on which are here, and not on the order in which they came.
    """

    def __init__(self, window_seconds: float) -> None:
        self._window = int(window_seconds * _NANO)
        self._fragments: dict[bytes, Fragment] = {}
        self._buckets: dict[tuple[str, ...], _Bucket] = {}
        self._linked: dict[bytes, set[bytes]] = {}
        self._shown: dict[tuple[bytes, bytes], _Match] = {}
        self._wrote: set[tuple[bytes, bytes]] = set()
        self._asks_the_same: set[tuple[bytes, bytes]] = set()

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._fragments

    def __len__(self) -> int:
        return len(self._fragments)

    def add(self, fragment: Fragment) -> None:
        """Take a fragment whose trace is not here yet."""
        bucket = self._buckets.setdefault(fragment.key, _Bucket())
        self._linked[fragment.trace_id] = set()
        for calls in (False, True):
            for other in bucket.of(calls=calls).around(fragment):
                if _may_meet(fragment, other) and _gap(fragment, other) <= self._window:
                    self._compare(fragment, other)
        bucket.of(calls=fragment.calls).add(fragment)
        self._fragments[fragment.trace_id] = fragment

    def remove(self, trace_ids: Iterable[bytes]) -> None:
        """Let traces go."""
        for trace_id in trace_ids:
            fragment = self._fragments.pop(trace_id)
            bucket = self._buckets[fragment.key]
            bucket.of(calls=fragment.calls).remove(fragment)
            if not len(bucket.calls) and not len(bucket.searches):
                del self._buckets[fragment.key]
            for other in self._linked.pop(trace_id):
                self._linked[other].discard(trace_id)
                for pair in ((trace_id, other), (other, trace_id)):
                    self._shown.pop(pair, None)
                    self._wrote.discard(pair)
                    self._asks_the_same.discard(pair)

    def outcome(self, trace_id: bytes) -> Outcome:
        """Return what becomes of a trace that is here, together with which others."""
        linked = self._connected(trace_id)
        if len(linked) > MOST_LINKED:
            return Apart((trace_id,), TOO_MANY)
        for found in self._resolve(linked):
            if trace_id in found.trace_ids:
                return found
        return Apart((trace_id,))

    # ------------------------------------------------------------------ two and two

    def _compare(self, one: Fragment, other: Fragment) -> None:
        if one.calls and other.calls:
            first, second = sorted((one, other), key=_order)
            linked = first.called < second.called and _ask_the_same(first, second)
            if linked:
                self._asks_the_same.add((first.trace_id, second.trace_id))
        elif not one.calls and not other.calls:
            linked = _is_kin(one, other)
        else:
            linked = self._compare_with_call(*((one, other) if other.calls else (other, one)))
        if linked:
            self._linked[one.trace_id].add(other.trace_id)
            self._linked[other.trace_id].add(one.trace_id)

    def _compare_with_call(self, search: Fragment, call: Fragment) -> bool:
        pair = (search.trace_id, call.trace_id)
        if call.called <= search.start and _wrote(call, search):
            self._wrote.add(pair)
            return True
        if search.start > call.called:
            return False
        match = _Match(_is_asked(search, call), sum(_is_shown(text, call) for text in search.found))
        if match == _NO_MATCH:
            return False
        self._shown[pair] = match
        return True

    def _connected(self, trace_id: bytes) -> list[Fragment]:
        seen = {trace_id}
        pending = [trace_id]
        while pending and len(seen) <= MOST_LINKED:
            new = self._linked[pending.pop()] - seen
            seen |= new
            pending.extend(new)
        return sorted((self._fragments[item] for item in seen), key=_order)

    # ------------------------------------------------------------------- all of them

    def _resolve(self, fragments: Sequence[Fragment]) -> list[Outcome]:
        """Return what becomes of fragments that are linked; those left out stand alone."""
        searches = [fragment for fragment in fragments if not fragment.calls]
        calls = [fragment for fragment in fragments if fragment.calls]
        groups: dict[bytes, list[Fragment]] = {}
        doubtful: dict[bytes, None] = {}
        for search in searches:
            best = self._best(search, searches, calls)
            if len(best) == 1:
                groups.setdefault(best[0].trace_id, []).append(search)
            elif best:
                doubtful.update(dict.fromkeys([search.trace_id, *(c.trace_id for c in best)]))
        members = {key: self._members(key, found, calls, groups) for key, found in groups.items()}
        settled = set(groups)
        while spoilt := [key for key in settled if self._is_doubtful(key, members, doubtful)]:
            settled.difference_update(spoilt)
            doubtful.update(dict.fromkeys(m.trace_id for key in spoilt for m in members[key]))
        taken = doubtful.keys() | {m.trace_id for key in settled for m in members[key]}
        outcomes: list[Outcome] = []
        for call in calls:
            if call.trace_id in settled:
                others = [other for other in calls if other.trace_id not in taken]
                later = self._refining(call, groups[call.trace_id], others)
                taken |= {member.trace_id for member in later}
                outcomes.append(_together(call, [*members[call.trace_id], *later]))
        if doubtful:
            ids = tuple(f.trace_id for f in fragments if f.trace_id in doubtful)
            outcomes.append(Apart(ids, f"{AMBIGUOUS} ({_named(ids)})"))
        return outcomes

    def _members(
        self,
        generator: bytes,
        searches: Sequence[Fragment],
        calls: Sequence[Fragment],
        groups: Mapping[bytes, Sequence[Fragment]],
    ) -> list[Fragment]:
        """Return searches, the LLM calls that wrote them and answered nothing, and the answer."""
        call = self._fragments[generator]
        writers = [
            other
            for other in calls
            if other.trace_id not in groups
            and self._is_near(other, call)
            and any((search.trace_id, other.trace_id) in self._wrote for search in searches)
        ]
        return [*searches, *writers, call]

    def _is_doubtful(
        self,
        generator: bytes,
        members: Mapping[bytes, Sequence[Fragment]],
        doubtful: Mapping[bytes, None],
    ) -> bool:
        own = members[generator]
        elsewhere = {
            m.trace_id for key, found in members.items() if key != generator for m in found
        }
        searches = [member for member in own if not member.calls]
        writers = [member for member in own if member.calls and member.trace_id != generator]
        return (
            any(member.trace_id in doubtful or member.trace_id in elsewhere for member in own)
            or _are_twins(searches)
            or len({member.session for member in own} - {None}) > 1
            or any(
                sum((search.trace_id, writer.trace_id) in self._wrote for writer in writers) > 1
                for search in searches
            )
        )

    def _best(
        self, search: Fragment, searches: Sequence[Fragment], calls: Sequence[Fragment]
    ) -> list[Fragment]:
        """Return the LLM calls that a search fits best, several when it fits them equally.

        A call that was told what another one of them said came after the answer (it names the
        talk, or refines the answer).
        """
        kin = [other for other in searches if other is search or _is_kin(search, other)]
        matches = [(self._match(search, kin, call, calls), call) for call in calls]
        highest = max((match for match, _ in matches), default=_NO_MATCH)
        if highest == _NO_MATCH:
            return []
        best = [call for match, call in matches if match == highest]
        return [call for call in best if not any(_was_told(call, o, searches) for o in best)]

    def _match(
        self,
        search: Fragment,
        kin: Sequence[Fragment],
        call: Fragment,
        calls: Sequence[Fragment],
    ) -> _Match:
        """Return how well a search fits a call, with what searches for the same text found."""
        if search.start > call.called or not self._is_near(search, call):
            return _NO_MATCH
        matches = [self._shown.get((k.trace_id, call.trace_id), _NO_MATCH) for k in kin]
        text = any(match.text for match in matches) or any(
            (other.trace_id, call.trace_id) in self._asks_the_same
            and any((k.trace_id, other.trace_id) in self._wrote for k in kin)
            for other in calls
        )
        return _Match(text, max(match.chunks for match in matches))

    def _refining(
        self, call: Fragment, searches: Sequence[Fragment], others: Sequence[Fragment]
    ) -> list[Fragment]:
        """Return later calls that were shown chunks and what a call before them said."""
        family = [call]
        for other in others:
            shown = any(
                self._shown.get((search.trace_id, other.trace_id), _NO_MATCH).chunks
                for search in searches
            )
            if shown and any(_was_told(other, member, searches) for member in family):
                family.append(other)
        return family[1:]

    def _is_near(self, one: Fragment, other: Fragment) -> bool:
        return _may_meet(one, other) and _gap(one, other) <= self._window


def _together(call: Fragment, members: Sequence[Fragment]) -> Outcome:
    ids = tuple(member.trace_id for member in sorted(members, key=_order))
    if sum(len(member.span_ids) for member in members) > len(
        frozenset().union(*(member.span_ids for member in members))
    ):
        return Apart(ids, f"{SAME_SPAN_IDS} ({_named(ids)})")
    return Together(call.trace_id, ids)


def _named(trace_ids: Sequence[bytes]) -> str:
    shown = ", ".join(trace_id.hex() for trace_id in trace_ids[:_SHOWN_IDS])
    more = len(trace_ids) - _SHOWN_IDS
    return shown + (f" and {more} more" if more > 0 else "")


def _order(fragment: Fragment) -> tuple[int, int, bytes]:
    return fragment.called, fragment.end, fragment.trace_id


def _gap(one: Fragment, other: Fragment) -> int:
    return max(0, one.start - other.end, other.start - one.end)


def _may_meet(one: Fragment, other: Fragment) -> bool:
    return one.session is None or other.session is None or one.session == other.session


def _is_kin(one: Fragment, other: Fragment) -> bool:
    return not set(one.sought).isdisjoint(other.sought)


def _are_twins(searches: Sequence[Fragment]) -> bool:
    """Tell whether one search was made twice: then the other one is of another run."""
    kinds = [(search.name, frozenset(search.sought), search.found) for search in searches]
    return len(set(kinds)) < len(kinds)


def _is_asked(search: Fragment, call: Fragment) -> bool:
    """Tell whether the user's last message holds what was searched for, or the other way round.

    Of several texts that were embedded at once none needs to be a question: documents are
    embedded, too, on their way into a store.
    """
    return not search.batch and any(
        text in {call.asked, call.question}
        or _holds(call.asked, text)
        or _holds(text, call.question)
        for text in search.sought
    )


def _is_shown(text: str, call: Fragment) -> bool:
    # To look for a long text costs more than for its beginning, which is mostly not there.
    return text[:_PROBE_CHARACTERS] in call.prompt and text in call.prompt


def _ask_the_same(first: Fragment, second: Fragment) -> bool:
    """Tell whether the question of an LLM call is in the prompt of a later one, or as it was."""
    return bool(first.question) and (
        first.question in {second.asked, second.question}
        or _holds(second.asked, first.question)
        or _holds(first.asked, second.question)
    )


def _wrote(call: Fragment, search: Fragment) -> bool:
    return not call.written.isdisjoint(search.sought)


def _was_told(later: Fragment, earlier: Fragment, searches: Sequence[Fragment]) -> bool:
    """Tell whether a call's prompt holds what one before it said, and not because a chunk does."""
    return (
        later is not earlier
        and earlier.end <= later.called
        and _holds(later.prompt, earlier.said)
        and not any(earlier.said in text for search in searches for text in search.found)
    )


def _holds(text: str, part: str) -> bool:
    """Tell whether a text holds another one, from word to word."""
    if len(part) < _FEWEST_CHARACTERS:
        return False
    at = text.find(part)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(part) : at + len(part) + 1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = text.find(part, at + 1)
    return False

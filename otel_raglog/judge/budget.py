"""What the LLM may cost to whether a run may be asked about now; kept over restarts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import structlog

from otel_raglog.clock import Clock
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.judge.spent import (
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    SECONDS_PER_MINUTE,
    Books,
    BooksFile,
)

_NANOS_PER_SECOND = 1_000_000_000
_log = structlog.get_logger()


class Limit(StrEnum):
    """The limits; the values are the options below ``judge.budget``."""

    USD_PER_HOUR = "usd_per_hour"
    USD_PER_DAY = "usd_per_day"
    TOKENS_PER_MINUTE = "tokens_per_minute"


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """The most USD in a clock hour and in a day, both of UTC, and the most tokens in any minute.

    Of USD, 0 allows none; of tokens, any number.
    """

    usd_per_hour: float = 1.0
    usd_per_day: float = 10.0
    tokens_per_minute: int = 200_000


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was counted as spent before a run is asked about, and for which hour, day and second."""

    tokens: int
    usd: float
    hour: int
    day: int
    second: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """The limit that stands in the way, in words too, and the seconds until it may not.

    ``retry_after_seconds`` is ``None`` when the run is too large for the limit at any time.
    """

    limit: Limit
    message: str
    retry_after_seconds: float | None


@dataclass(frozen=True, slots=True)
class Spent:
    """What counts as spent now, reservations included."""

    hour_usd: float
    day_usd: float
    minute_tokens: int


class Budget:
    """Counts what the LLM costs, before each run is asked about, and after. For all threads.

    What a run may cost is counted before its first call and put right after its last, so that runs
    that are asked about at once cannot pass a limit together, and what a killed process was about
    to spend stays spent. It counts for the hour, the day and the minute in which it was reserved.

    The file is read again each time, so that processes that are given the same one share a budget;
    who deletes it begins anew. A damaged file is put aside, and what may have been spent counts as
    spent: the hour's limit, and as much for each hour of the day that has begun, up to the day's.
    So no promise is broken, and the LLM is asked again at midnight (UTC) at the latest. When the
    file cannot be written any more, counting goes on in memory.

    ``priced`` tells whether the model has a price; without one the limits in USD do not apply.

    Raises:
        ConfigError: the file cannot be read or written.
    """

    def __init__(
        self, limits: BudgetLimits, path: Path | None, clock: Clock, *, priced: bool = True
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._priced = priced
        self._lock = threading.Lock()
        self._books = Books()
        self._in_memory = False
        self._noted = False
        self._file: BooksFile | None = None
        if path is not None:
            try:
                self._file = BooksFile(path)
                with self._file.locked():
                    self._books = self._read(self._file, self._now())
                    self._file.write(self._books)
            except OSError as refused:
                raise ConfigError(f"judge.budget.path {path}: {refused.strerror}") from refused

    def admit(self, tokens: int, usd: float | None) -> Reservation | Refusal:
        """Count what a run may cost, or say why it is not to be asked about now.

        ``usd`` is ``None`` when that is not known.
        """
        with self._open() as now:
            refusal = self._refusal(now, tokens, usd)
            if refusal is not None:
                return refusal
            books = self._books
            reservation = Reservation(tokens, usd or 0.0, books.hour, books.day, now)
            self._add(reservation, tokens, reservation.usd)
            return reservation

    def settle(self, reservation: Reservation, tokens: int, usd: float | None) -> None:
        """Count what a run has cost in place of what was reserved for it."""
        with self._open():
            self._add(reservation, tokens - reservation.tokens, (usd or 0.0) - reservation.usd)

    def spent(self) -> Spent:
        """Return what counts as spent now."""
        with self._open():
            books = self._books
            return Spent(books.hour_usd, books.day_usd, books.minute_tokens)

    def describe(self) -> str:
        """Return the limits in words, for people who check their setup."""
        limits = self._limits
        tokens = "any number of tokens"
        if limits.tokens_per_minute:
            tokens = f"at most {limits.tokens_per_minute:,} tokens a minute"
        if not self._priced:
            return f"{tokens}; the model has no known price: limits in USD do not apply"
        hour, day = limits.usd_per_hour, limits.usd_per_day
        return f"{tokens}; at most {hour:g} USD an hour and {day:g} USD a day (UTC)"

    def close(self) -> None:
        """Let go of the file; what comes later is counted in memory. May be called again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _refusal(self, now: int, tokens: int, usd: float | None) -> Refusal | None:
        limits, books = self._limits, self._books
        if usd is not None and self._priced:
            for limit, most, used, window in (
                (Limit.USD_PER_HOUR, limits.usd_per_hour, books.hour_usd, SECONDS_PER_HOUR),
                (Limit.USD_PER_DAY, limits.usd_per_day, books.day_usd, SECONDS_PER_DAY),
            ):
                if used + usd > most:
                    left = f"{max(0.0, most - used):.4f} of {most:g} USD are left"
                    wait = float(window - now % window) if usd <= most else None
                    return Refusal(limit, f"{left}, a run may cost {usd:.4f}", wait)
        most_tokens = limits.tokens_per_minute
        if most_tokens and books.minute_tokens + tokens > most_tokens:
            left_tokens = max(0, most_tokens - books.minute_tokens)
            message = f"{left_tokens:,} of {most_tokens:,} are left, a run may take {tokens:,}"
            wait = self._seconds_until(now, tokens) if tokens <= most_tokens else None
            return Refusal(Limit.TOKENS_PER_MINUTE, message, wait)
        return None

    def _seconds_until(self, now: int, tokens: int) -> float:
        """Return how long it takes until so many tokens are left, if nothing else comes."""
        excess = self._books.minute_tokens + tokens - self._limits.tokens_per_minute
        leaving = iter(sorted(self._books.tokens.items()))
        second = now
        while excess > 0:
            second, used = next(leaving)
            excess -= used
        return float(max(1, second + SECONDS_PER_MINUTE + 1 - now))

    def _add(self, at: Reservation, tokens: int, usd: float) -> None:
        self._books.add(tokens, usd, at.hour, at.day, at.second)
        if self._file is None:
            return
        try:
            self._file.write(self._books)
        except OSError as refused:
            self._go_on_in_memory(refused)
        else:
            self._in_memory = False

    @contextlib.contextmanager
    def _open(self) -> Iterator[int]:
        """Hold the books as they are now; yields Unix seconds."""
        with self._lock, contextlib.ExitStack() as stack:
            now = self._now()
            if self._file is not None:
                try:
                    stack.enter_context(self._file.locked())
                    if not self._in_memory:
                        self._books = self._read(self._file, now)
                except OSError as refused:
                    self._go_on_in_memory(refused)
            self._books.turn_to(now)
            yield now

    def _read(self, file: BooksFile, now: int) -> Books:
        try:
            return file.read()
        except BadInput as damage:
            aside = file.put_aside()
            _log.warning("judge_budget_damaged", problem=str(damage), kept_as=str(aside))
        limits = self._limits
        hours = now % SECONDS_PER_DAY // SECONDS_PER_HOUR + 1
        return Books(
            hour=now // SECONDS_PER_HOUR,
            hour_usd=limits.usd_per_hour,
            day=now // SECONDS_PER_DAY,
            day_usd=min(limits.usd_per_day, hours * limits.usd_per_hour),
            tokens={now: limits.tokens_per_minute},
        )

    def _now(self) -> int:
        return self._clock.unix_nano() // _NANOS_PER_SECOND

    def _go_on_in_memory(self, refused: OSError) -> None:
        self._in_memory = True
        if not self._noted:
            self._noted = True
            _log.warning("judge_budget_only_in_memory", problem=refused.strerror)

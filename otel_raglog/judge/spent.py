"""What an LLM has cost of late to a small file, and back."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_raglog.errors import BadInput

SECONDS_PER_MINUTE = 60
SECONDS_PER_HOUR = 3_600
SECONDS_PER_DAY = 86_400

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_MOST_FILE_BYTES = 64 * 1_024

_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Index = Annotated[int, Field(ge=0)]


class Books(BaseModel):
    """What was spent this hour, this day and this minute.

    Hours and days (UTC) count from the epoch; tokens are by the Unix second.
    """

    model_config = ConfigDict(extra="forbid")

    hour: _Index = 0
    hour_usd: _Usd = 0.0
    day: _Index = 0
    day_usd: _Usd = 0.0
    tokens: dict[_Index, _Index] = Field(default_factory=dict)

    @property
    def minute_tokens(self) -> int:
        """Tokens of the last minute."""
        return sum(self.tokens.values())

    def turn_to(self, now: int) -> None:
        """Begin a new hour, day and minute at ``now``, in Unix seconds, where it is time.

        A clock that was set back opens no budget again: by less than an hour (a day) the later one
        goes on; by more, what was spent counts for the present one.
        """
        hour, day = now // SECONDS_PER_HOUR, now // SECONDS_PER_DAY
        if hour > self.hour:
            self.hour_usd = 0.0
        if day > self.day:
            self.day_usd = 0.0
        if hour != self.hour - 1:
            self.hour = hour
        if day != self.day - 1:
            self.day = day
        self.tokens = {
            second: tokens
            for second, tokens in self.tokens.items()
            if tokens and abs(now - second) <= SECONDS_PER_MINUTE
        }

    def add(self, tokens: int, usd: float, hour: int, day: int, second: int) -> None:
        """Count as spent; a negative amount gives back what was counted, unless its time is over."""
        if hour == self.hour:
            self.hour_usd = max(0.0, self.hour_usd + usd)
        if day == self.day:
            self.day_usd = max(0.0, self.day_usd + usd)
        self.tokens[second] = max(0, self.tokens.get(second, 0) + tokens)


class BooksFile:
    """A private file, replaced as a whole, that several processes may use by turns.

    Raises:
        OSError: its folder, or the lock beside it, cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.lock")
        self._lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; for one thread at a time."""
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def read(self) -> Books:
        """Return what was written last; nothing spent where there is no file.

        Raises:
            BadInput: the file is damaged.
            OSError: it cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                raw = file.read(_MOST_FILE_BYTES)
        except FileNotFoundError:
            return Books()
        try:
            return Books.model_validate_json(raw)
        except ValidationError:
            raise BadInput(f"{self._path} is damaged") from None

    def put_aside(self) -> Path:
        """Rename the file, and return its new name.

        Raises:
            OSError: it cannot be renamed.
        """
        return self._path.replace(self._path.with_name(f"{self._path.name}.damaged"))

    def write(self, books: Books) -> None:
        """Put ``books`` in place of what was there, for a loss of power too.

        Raises:
            OSError: the disk refuses.
        """
        partial = self._path.with_name(f"{self._path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        with open(os.open(partial, flags, _PRIVATE_FILE), "wb") as file:  # noqa: PTH123  a descriptor
            file.write(books.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)

    def close(self) -> None:
        """Close the lock."""
        os.close(self._lock)

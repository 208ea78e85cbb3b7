"""A pipeline's mappings to one file with all their versions, and back."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from otel_raglog_proxy_bridge.formats.fields import at, count, items
from otel_raglog_proxy_bridge.mappings import CallMapping, MappingError, Origin, mapping_from
from otel_raglog_proxy_bridge.model import Exchange

FORMAT = 1
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_MOST_NAME = 100
_MOST_FILE_BYTES = 16 * 1_024 * 1_024
_MOST_VERSIONS = 20
"""So often a mapping that no person wrote is replaced by another such."""
_MOST_MAPPINGS = 1_000
"""So many are added by rules and LLMs."""


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a mapping; ``restores`` is the version of which a rollback made it a copy."""

    number: int
    mapping: CallMapping
    restores: int | None = None

    @property
    def settled(self) -> bool:
        """Whether a person chose it: then no rule and no LLM replaces it."""
        return self.mapping.origin is Origin.USER or self.restores is not None

    @property
    def source(self) -> str:
        """Where it comes from, in words."""
        origin = self.mapping.origin.value
        return origin if self.restores is None else f"{origin}, rollback to {self.restores}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping with its predecessors, oldest first."""

    versions: tuple[Version, ...]

    @property
    def current(self) -> Version:
        """The version that is used."""
        return self.versions[-1]

    @property
    def name(self) -> str:
        """The name of the current version's match."""
        return self.current.mapping.name

    def version(self, number: int) -> Version:
        """Return a version.

        Raises:
            MappingError: there is none of this number.
        """
        for version in self.versions:
            if version.number == number:
                return version
        known = ", ".join(str(version.number) for version in self.versions)
        raise MappingError(f"{self.name} has no version {number}; there are {known}")

    def predecessor(self) -> Version:
        """Return the version before the current one; before the restored one after a rollback.

        Raises:
            MappingError: there is none.
        """
        current = self.current
        number = (current.restores or current.number) - 1
        if number < 1:
            raise MappingError(f"{self.name} has no earlier version")
        return self.version(number)

    def with_version(self, mapping: CallMapping, restores: int | None = None) -> Entry:
        """Return the entry with one more version."""
        version = Version(self.current.number + 1, mapping, restores)
        return Entry((*self.versions, version))


class MappingStore:
    """The mappings of one pipeline, in ``<folder>/<pipeline>.json``.

    For all threads and for several processes: each change is made under a lock on what the file
    holds then, and the file is replaced as a whole. A file that cannot be read is never replaced.
    It holds names, path templates and expressions, nothing else of a call. Nothing is read or
    written before a method is called.
    """

    def __init__(self, folder: Path, pipeline: str) -> None:
        self.pipeline = pipeline
        self.path = folder / f"{file_name(pipeline)}.json"
        self.problem: str | None = None
        """Why the file could not be read when :meth:`find` last looked; the mappings before hold."""
        self._entries: tuple[Entry, ...] = ()
        self._seen: tuple[int, int, int] | None = None
        self._lock = threading.Lock()

    def load(self) -> tuple[Entry, ...]:
        """Return all mappings as the file has them; none where there is no file.

        Raises:
            MappingError: the file is damaged, of another pipeline or a later format, or cannot be
                read.
        """
        with self._lock:
            seen = self._signature()
            self._entries, self._seen, self.problem = self._read(), seen, None
            return self._entries

    def entry(self, name: str) -> Entry:
        """Return the mapping of this name, as the file has it.

        Raises:
            MappingError: there is none, or the file is damaged.
        """
        return _named(self.load(), name)

    def current(self, name: str) -> CallMapping:
        """Return the current version of the mapping of this name; see :meth:`entry`."""
        return self.entry(name).current.mapping

    def find(self, exchange: Exchange) -> CallMapping | None:
        """Return the mapping that is meant by ``exchange``: a person's first, then the narrowest.

        The file is read again when it has changed. Never raises: a file that cannot be read leaves
        the mappings as they were, and says so in :attr:`problem`.
        """
        with self._lock:
            self._look_again()
            entries = self._entries
        fitting = [entry.current for entry in entries if entry.current.mapping.fits(exchange)]
        if not fitting:
            return None
        return min(fitting, key=lambda each: (not each.settled, each.mapping.match.breadth)).mapping

    def add(self, mapping: CallMapping, *, replaces: str | None = None) -> Version:
        """Store a mapping as a new version of the one that it replaces, and return what is current.

        It replaces that of the same name, or the one named ``replaces``, whose match it may change.
        What a person chose is not replaced by rules or LLMs, nor anything by the same.

        Raises:
            MappingError: the file is damaged, ``replaces`` is unknown, or the name is taken; or it
                cannot be written.
        """
        with self._changing() as entries:
            name = replaces or mapping.name
            if replaces is not None:
                _named(entries, replaces)
            place = next((i for i, entry in enumerate(entries) if entry.name == name), None)
            if mapping.name != name and any(entry.name == mapping.name for entry in entries):
                raise MappingError(f"match: there is another mapping of {mapping.name}")
            if place is None:
                version = Version(1, mapping)
                if mapping.origin is Origin.USER or len(entries) < _MOST_MAPPINGS:
                    entries.append(Entry((version,)))
                return version
            entry = entries[place]
            if not _replaces(mapping, entry):
                return entry.current
            entries[place] = entry.with_version(mapping)
            return entries[place].current

    def rollback(self, name: str, *, created: str, number: int | None = None) -> Version:
        """Make an earlier version current again, as a new version, and return that.

        Without ``number`` it is the predecessor: of a rollback, that of the version it restored.

        Raises:
            MappingError: there is no such version, or the file is damaged or cannot be written.
        """
        with self._changing() as entries:
            entry = _named(entries, name)
            earlier = entry.predecessor() if number is None else entry.version(number)
            if earlier is entry.current:
                raise MappingError(f"{name}: version {earlier.number} is current")
            restored = replace(earlier.mapping, created=created)
            if any(other.name == restored.name for other in entries if other is not entry):
                raise MappingError(f"match: there is another mapping of {restored.name}")
            changed = entry.with_version(restored, earlier.restores or earlier.number)
            entries[entries.index(entry)] = changed
            return changed.current

    # ------------------------------------------------------------------------------- the file

    def _look_again(self) -> None:
        try:
            seen = self._signature()
            if seen != self._seen:
                self._seen = seen
                self._entries, self.problem = self._read(), None
        except MappingError as problem:
            self.problem = str(problem)

    def _signature(self) -> tuple[int, int, int] | None:
        try:
            state = self.path.stat()
        except OSError:  # of which reading tells, where it is not just missing
            return None
        return state.st_ino, state.st_size, state.st_mtime_ns

    def _read(self) -> tuple[Entry, ...]:
        try:
            data = _json_in(self.path)
        except FileNotFoundError:
            return ()
        later = count(data, "format")
        if later is not None and later > FORMAT:
            raise MappingError(
                f"{self.path} is left as it is: a later version of otel-raglog wrote it (format "
                f"{later}, and {FORMAT} is known here)"
            )
        try:
            return _entries_of(data, self.pipeline)
        except MappingError as problem:
            raise _damaged(self.path, str(problem)) from None

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[Entry]]:
        """Yield the entries to be changed in place; they are written when they are others then."""
        try:
            self.path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            beside = self.path.with_name(f"{self.path.name}.lock")
            lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE_FILE)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                before = self._read()
                entries = list(before)
                yield entries
                if tuple(entries) != before:
                    self._write(entries)
            finally:
                os.close(lock)
        except OSError as error:
            raise MappingError(
                f"{self.path} cannot be written: {error.strerror or error}"
            ) from None
        self.load()

    def _write(self, entries: Sequence[Entry]) -> None:
        data = {
            "format": FORMAT,
            "pipeline": self.pipeline,
            "mappings": [{"versions": list(map(_version_json, each.versions))} for each in entries],
        }
        partial = self.path.with_name(f"{self.path.name}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        with open(os.open(partial, flags, _PRIVATE_FILE), "wb") as file:  # noqa: PTH123  a descriptor
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path)


def file_name(pipeline: str) -> str:
    """Return a name for files that no other pipeline has, whatever its own holds."""
    safe = "%5F" if pipeline == "_" else quote(pipeline or "_", safe="", errors="surrogatepass")
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    if len(safe) <= _MOST_NAME:
        return safe
    return f"{safe[:_MOST_NAME]}-{hashlib.sha256(pipeline.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Found:
    """A file of mappings in a folder: whose it is, and why it cannot be read, if so."""

    pipeline: str
    path: Path
    problem: str | None = None


def files_in(folder: Path) -> tuple[Found, ...]:
    """Return the files of mappings in ``folder``, sorted by pipeline; none where it is missing.

    One that is damaged is there with its problem, and the pipeline that its name tells. A file of
    another name than its pipeline's is of none: nobody reads it.

    Raises:
        MappingError: the folder cannot be read.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise MappingError(f"{folder} cannot be read: {error.strerror or error}") from None
    return tuple(sorted(map(_found, paths), key=lambda found: (found.pipeline, found.path)))


def _found(path: Path) -> Found:
    told = unquote(path.stem)
    try:
        name = at(_json_in(path), "pipeline")
    except (MappingError, OSError) as problem:
        return Found(told, path, str(problem))
    if not isinstance(name, str):
        return Found(told, path, f"{path} is no file of mappings: it names no pipeline")
    meant = f"{file_name(name)}.json"
    if meant != path.name:
        return Found(told, path, f"{path} is not read: the mappings of {name!r} are in {meant}")
    return Found(name, path)


def _json_in(path: Path) -> object:
    """Return the data in a file.

    Raises:
        FileNotFoundError: it is not there.
        MappingError: it is damaged, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for
            raise MappingError(f"{path} cannot be read: it is no file")
        with path.open("rb") as file:
            raw = file.read(_MOST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise MappingError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(raw) > _MOST_FILE_BYTES:
        raise _damaged(path, f"it is longer than {_MOST_FILE_BYTES} bytes")
    if not raw.strip():
        raise _damaged(path, "it is empty")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise _damaged(path, f"no JSON: {problem}") from None


def _damaged(path: Path, why: str) -> MappingError:
    return MappingError(f"{path} is damaged and is left as it is: {why}")


def _replaces(mapping: CallMapping, entry: Entry) -> bool:
    old = entry.current
    if replace(mapping, created="", reason="") == replace(old.mapping, created="", reason=""):
        return False
    if mapping.origin is Origin.USER:
        return True
    return not old.settled and len(entry.versions) < _MOST_VERSIONS


def _named(entries: Sequence[Entry], name: str) -> Entry:
    for entry in entries:
        if entry.name == name:
            return entry
    known = "; ".join(entry.name for entry in entries) or "none"
    raise MappingError(f"there is no mapping {name!r}; known: {known}")


def _version_json(version: Version) -> dict[str, object]:
    restores = {} if version.restores is None else {"restores": version.restores}
    return {"number": version.number, **version.mapping.as_json(), **restores}


def _entries_of(data: object, pipeline: str) -> tuple[Entry, ...]:
    if not isinstance(data, Mapping):
        raise MappingError("it is no JSON object")
    if at(data, "format") != FORMAT:
        raise MappingError(f"its format is {at(data, 'format')!r}, and {FORMAT} is known here")
    if not isinstance(at(data, "pipeline"), str):
        raise MappingError("it names no pipeline")
    if at(data, "pipeline") != pipeline:
        raise MappingError(f"it is of the pipeline {at(data, 'pipeline')!r}, not {pipeline!r}")
    if not isinstance(at(data, "mappings"), list):
        raise MappingError("mappings is no list")
    entries = []
    for place, each in enumerate(items(data, "mappings")):
        versions = tuple(
            _version_of(version, f"mappings[{place}].versions[{number - 1}]", number)
            for number, version in enumerate(items(each, "versions"), 1)
        )
        if not versions:
            raise MappingError(f"mappings[{place}] has no versions")
        entries.append(Entry(versions))
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise MappingError(f"{name} is there twice")
    return tuple(entries)


def _version_of(data: object, place: str, number: int) -> Version:
    if not isinstance(data, Mapping):
        raise MappingError(f"{place} is no object")
    own = {key: value for key, value in data.items() if key not in {"number", "restores"}}
    if count(data, "number") != number:
        raise MappingError(f"{place}.number is not {number}")
    restores = count(data, "restores")
    if "restores" in data and (restores is None or not 0 < restores < number):
        raise MappingError(f"{place}.restores is no earlier version")
    try:
        return Version(number, mapping_from(own), restores)
    except MappingError as problem:
        raise MappingError(f"{place}: {problem}") from None

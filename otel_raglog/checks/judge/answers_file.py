"""Files of answers by LLMs, one line a run, to checked answers, and back."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from otel_raglog.checks.judge.answers import JudgeAnswers
from otel_raglog.errors import BadInput
from otel_raglog.plain_errors import in_words

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PART = 1 << 20
_SHOWN = 80
ANSWER_KEYS = tuple(name for name in JudgeAnswers.model_fields if name not in {"id", "model"})
"""The fields of a line that hold the answer to a check."""


class SpentTokens(BaseModel):
    """Tokens that the answers of one run took, as the provider counts them."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: SpentTokens) -> SpentTokens:
        return SpentTokens(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


class RecordedAnswers(JudgeAnswers):
    """One line of a file: the answers of one run, at least one, and what they took.

    ``cost_usd`` is ``None`` where the price is unknown.
    """

    usage: SpentTokens | None = None
    cost_usd: float | None = None

    @model_validator(mode="after")
    def _holds_answers(self) -> RecordedAnswers:
        if not self.answered:
            raise ValueError(f"holds no answer to a check ({', '.join(ANSWER_KEYS)})")
        return self

    @property
    def answered(self) -> tuple[str, ...]:
        """The keys of the checks that are answered."""
        return tuple(key for key in ANSWER_KEYS if getattr(self, key) is not None)


@dataclass(slots=True)
class AnswersFile:
    """What a file held: answers by run; lines that could not be read, or that later ones replaced.

    ``torn`` says that the last line ends in its middle, as an interrupted writer leaves it.
    """

    answers: dict[str, RecordedAnswers] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    torn: str | None = None


def read_answers(path: Path) -> tuple[dict[str, RecordedAnswers], list[str]]:
    """Return the answers in ``path`` by run, and a sentence for each line that was left out.

    The file has JSON lines or a JSON array, gzipped or not. Of several lines of one run the last
    one counts, and the others are named too.

    Raises:
        BadInput: the file cannot be opened.
    """
    found = read_answers_file(path)
    torn = [] if found.torn is None else [found.torn]
    return found.answers, [*found.problems, *torn, *found.replaced]


def read_answers_file(path: Path) -> AnswersFile:
    """Return what ``path`` holds, with what is wrong with it by kind.

    Raises:
        BadInput: the file cannot be opened.
    """
    content, damage = _content(path)
    file = AnswersFile()
    lines: dict[str, str] = {}
    for where, text, last in _items(path, content):
        answers = _read(where, text, file, torn=last and (damage or not content.endswith(b"\n")))
        if answers is None:
            continue
        if answers.id in lines:
            file.replaced.append(f"{lines[answers.id]}: replaced by a later line of the same run")
        lines[answers.id] = where
        file.answers[answers.id] = answers
    if damage and file.torn is None:
        file.torn = f"{path}: the gzip data end in their middle"
    return file


def write_answers(path: Path, answers: Iterable[RecordedAnswers]) -> None:
    """Write a file anew, gzipped when its name ends in ``.gz``; it is whole or as it was.

    Raises:
        BadInput: it cannot be written.
    """
    content = b"".join(map(_line, answers))
    # Without a time in it the same answers are the same bytes.
    packed = gzip.compress(content, mtime=0) if path.suffix == ".gz" else content
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(packed)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def append_answers(path: Path, answers: RecordedAnswers) -> None:
    """Add a line to a file, so that it outlives the process.

    Raises:
        BadInput: it cannot be written.
    """
    line = _line(answers)
    try:
        with path.open("ab") as file:
            file.write(gzip.compress(line, mtime=0) if path.suffix == ".gz" else line)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def merged(old: RecordedAnswers | None, new: RecordedAnswers) -> RecordedAnswers:
    """Return ``new`` with the answers of ``old`` to checks that it lacks.

    What both took is added, unless no answer of ``old`` is left. The model is the later one's, and
    unknown where that of the answers that are kept is.
    """
    answered = () if old is None else old.answered
    kept = {key: getattr(old, key) for key in answered if key not in new.answered}
    if old is None or not kept:
        return new
    usages = [each.usage for each in (old, new) if each.usage is not None]
    costs = (old.cost_usd, new.cost_usd)
    return new.model_copy(
        update={
            **kept,
            "model": None if old.model is None else new.model,
            "usage": sum(usages[1:], usages[0]) if usages else None,
            "cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
        }
    )


def _content(path: Path) -> tuple[bytes, bool]:
    """Return the bytes of a file, unpacked as far as possible, and whether some are missing."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    if not content.startswith(_GZIP_MAGIC):
        return content.removeprefix(_BYTE_ORDER_MARK), False
    unpacked: list[bytes] = []
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            while part := stream.read1(_PART):
                unpacked.append(part)
    except (OSError, EOFError, zlib.error):
        return b"".join(unpacked), True
    return b"".join(unpacked), False


def _items(path: Path, content: bytes) -> Iterator[tuple[str, bytes | Mapping[str, object], bool]]:
    """Yield the place of each item, the item, and whether it is the last one."""
    if content.lstrip().startswith(b"["):
        whole = _parse(content)
        if isinstance(whole, list):
            for number, item in enumerate(whole, 1):
                yield f"{path}, item {number}", item, False
            return
    lines = [(n, line) for n, line in enumerate(content.splitlines(), 1) if line.strip()]
    for number, line in lines:
        yield f"{path}, line {number}", line, number == lines[-1][0]


def _read(
    where: str, item: bytes | Mapping[str, object], file: AnswersFile, *, torn: bool
) -> RecordedAnswers | None:
    data = _parse(item) if isinstance(item, bytes) else item
    if data is None and torn:
        file.torn = f"{where}: ends in its middle"
        return None
    try:
        # Strictly: "80" is no number, and 17 no id. In JSON a list is a tuple, a word a choice.
        text = item if isinstance(item, bytes) else json.dumps(item)
        return RecordedAnswers.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        named = f" of run {_shown(data['id'])}" if isinstance(data, dict) and "id" in data else ""
        words = in_words(first) if isinstance(data, dict) else "is no JSON object"
        file.problems.append(f"{where}{named}: {place + ' ' if place else ''}{words}")
    return None


def _shown(run_id: object) -> str:
    text = repr(run_id)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _parse(text: bytes) -> object | None:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _line(answers: RecordedAnswers) -> bytes:
    data = answers.model_dump(mode="json", exclude_none=False)
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode() + b"\n"

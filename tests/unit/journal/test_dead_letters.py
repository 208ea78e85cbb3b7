"""Dead letters: what was refused for good can be read, and sent again by people."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.journal.dead_letters import DeadLetterFile, read_dead_letter
from otel_raglog.model import Payload, Signal

PAYLOAD = Payload(Signal.LOGS, bytes(range(256)), 3, (("x-scope-orgid", "7"),))


def make(folder: Path, max_bytes: int = 1_000_000) -> DeadLetterFile:
    return DeadLetterFile(folder / "dead", max_bytes, ManualClock(1_700_000_000.0))


def test_a_refused_payload_comes_back_exactly(tmp_path: Path) -> None:
    """With its headers; the line also says why, where and when."""
    assert make(tmp_path).put("my/backend", PAYLOAD, "http_400", 'bad "items": 9')
    [file] = (tmp_path / "dead").iterdir()
    [line] = file.read_text().splitlines()
    assert read_dead_letter(line) == PAYLOAD
    letter = json.loads(line)
    del letter["body"]
    assert letter == {
        "at": "2023-11-14T22:13:20.000+00:00",
        "exporter": "my/backend",
        "signal": "logs",
        "reason": "http_400",
        "items": 3,
        "message": 'bad "items": 9',
        "headers": {"x-scope-orgid": "7"},
    }


def test_only_the_owner_can_read_them(tmp_path: Path) -> None:
    """They hold questions and documents."""
    make(tmp_path).put("one", PAYLOAD, "http_400", "")
    assert stat.S_IMODE((tmp_path / "dead").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "dead" / "one.jsonl").stat().st_mode) == 0o600


def test_headers_of_one_name_are_joined(tmp_path: Path) -> None:
    """As HTTP allows."""
    letters = make(tmp_path)
    letters.put("one", Payload(Signal.TRACES, b"", 1, (("a", "1"), ("a", "2"))), "", "")
    line = (tmp_path / "dead" / "one.jsonl").read_bytes()
    assert read_dead_letter(line).headers == (("a", "1, 2"),)


def test_a_file_that_is_full_makes_room_for_the_next(tmp_path: Path) -> None:
    """One file is kept beside it."""
    letters = make(tmp_path, 1_000)
    for _ in range(4):  # about 600 bytes each
        assert letters.put("one", PAYLOAD, "http_400", "")
    assert sorted(path.name for path in (tmp_path / "dead").iterdir()) == [
        "one.jsonl",
        "one.jsonl.1",
    ]


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    """As after a kill in the middle of writing."""
    letters = make(tmp_path)
    (tmp_path / "dead" / "one.jsonl").write_text('{"at": "20')
    letters.put("one", PAYLOAD, "http_400", "")
    torn, line = (tmp_path / "dead" / "one.jsonl").read_text().splitlines()
    with pytest.raises(BadInput):
        read_dead_letter(torn)
    assert read_dead_letter(line) == PAYLOAD


def test_a_disk_that_refuses_is_told_not_raised(tmp_path: Path) -> None:
    """The sender goes on."""
    letters = make(tmp_path)
    (tmp_path / "dead" / "one.jsonl").mkdir()
    assert not letters.put("one", PAYLOAD, "http_400", "")


@pytest.mark.parametrize(
    "line",
    ["", "[]", "{}", '{"signal": "smoke", "items": 1, "headers": {}, "body": ""}', '{"body": 7}'],
)
def test_what_is_no_dead_letter_is_refused(line: str) -> None:
    """Whatever it is."""
    with pytest.raises(BadInput):
        read_dead_letter(line)


def test_a_folder_that_cannot_be_made_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    """At the start, not at the first letter."""
    (tmp_path / "dead").write_text("")
    with pytest.raises(ConfigError):
        make(tmp_path)

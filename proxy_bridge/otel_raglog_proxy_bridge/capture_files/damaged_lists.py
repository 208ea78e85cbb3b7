"""A damaged JSON or YAML file to the whole items of the list in it, in linear time.

A file of captured calls is one document, of which a parser takes all or nothing. One that was cut
short, as by a full disk or a recorder that was killed, still has its calls up to there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_NEXT_KEY = re.compile(rb"(?m)^[^\s#-]")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Broken:
    """What stands in the place of an item that cannot be read.

    With ``ends`` it stands for all that follow too; with ``is_after`` what is broken is no item, but
    comes after the last.
    """

    why: str
    ends: bool = False
    is_after: bool = False

    def told(self, item: str, number: int) -> str:
        """Return a sentence on it, in the place of the item of this number."""
        if self.is_after:
            return f"after {item} {number - 1}: {self.why}"
        rest = "; nothing after it can be read" if self.ends else ""
        return f"{item} {number} is damaged: {self.why}{rest}"


def json_items(content: bytes, key: str = "") -> list[object]:
    """Return the items of the list at ``key``, or that ``content`` is, and a ``Broken`` at the end.

    ``key`` is a regular expression. Nothing is returned where there is no such list, or no item of
    it is whole.
    """
    items = list(_json_items(content, key))
    return [] if items and isinstance(items[0], Broken) else items


def _json_items(content: bytes, key: str) -> Iterator[object]:
    text = content.decode("utf-8", "replace")
    # Inside a text its quotes would be escaped.
    start = re.search(rf'"{key}"\s*:\s*\[', text) if key else re.match(r"\s*\[", text)
    if start is None:
        return
    at = _skipped(text, start.end())
    while not text.startswith("]", at):
        try:
            item, at = _DECODER.raw_decode(text, at)
        except ValueError:
            yield Broken("no JSON, or cut short", ends=True)
            return
        except RecursionError:
            yield Broken("nested too deep", ends=True)
            return
        yield item
        at = _skipped(text, at)
        if text.startswith(",", at):
            at = _skipped(text, at + 1)
        elif not text.startswith("]", at):
            break
    yield Broken("no JSON, or cut short", is_after=True)


def yaml_items(content: bytes, key: bytes) -> Iterator[bytes]:
    """Yield each item of the block list at the key, as a document with the key alone.

    Items are told by their dash, which stands left of all that is in them. Nothing is yielded where
    there is no such list.
    """
    start = re.search(rb"""(?m)^["']?(%b)["']?:[ \t]*\r?\n(?=( *)- )""" % key, content)
    if start is None:
        return
    dash = re.compile(rb"(?m)^%b- " % start[2])
    places = [found.start() for found in dash.finditer(content, start.end())]
    after = _NEXT_KEY.search(content, places[-1])
    end = after.start() if after else len(content)
    for place, following in zip(places, [*places[1:], end], strict=True):
        yield start[1] + b":\n" + content[place:following]


def _skipped(text: str, at: int) -> int:
    """Return where the space at a place ends."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()

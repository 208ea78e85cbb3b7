"""Bodies to the same bodies with their secrets masked: JSON stays JSON, vectors stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import quote, unquote_plus

from otel_raglog_proxy_bridge.key_forms import MASK
from otel_raglog_proxy_bridge.secret_formats import (
    is_credential,
    mask_formats,
    mask_private_keys,
)
from otel_raglog_proxy_bridge.secret_names import Secrecy, is_secret_parameter, secrecy

Patterns: TypeAlias = tuple[tuple[re.Pattern[str], str], ...]
"""Regular expressions of the user, each with what replaces its matches."""

_FORM = "application/x-www-form-urlencoded"
_DEEPEST = 12
"""How many times JSON is looked for in a string of JSON: arguments of tools are such strings.

A string of JSON that lies deeper is left out."""

# A string ends at its quote, at the end of its line (JSON allows no line break in one) or of a
# body that was cut. Whatever follows a quote, this matches.
_STRING = re.compile(r'"(?P<text>(?:[^"\\\n]++|\\[^\n])*+\\?+)(?P<end>"|(?=\n)|\Z)')
_COLON = re.compile(r"\s*+:")
_COLON_AND_STRING = re.compile(r'\s*+:\s*+"(?:[^"\\\n]++|\\[^\n])*+"')
_VALUE = re.compile(r"(?P<colon>\s*+:\s*+)(?P<value>-?[0-9][0-9.eE+-]*+)?")
_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*+")
_WHOLE = re.compile(r"-?[0-9]++")
_BRACKET = re.compile(r"[\[\]{}]")
_WORDS = re.compile(r"[A-Za-z_]{6}")
_PACKED = re.compile(r"(?:[A-Za-z0-9+/]|\\/)++={0,2}+")
_LEAST_PACKED = 256
"""An embedding in base64 is at least this long; no key of a known form that long is all base64."""
_FIELD_OR_LIST = re.compile(r'"\s{0,3}:|\A\s*+[\[{"]')
_FIELD = re.compile(r'"\s{0,3}:')
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_PAIR_NAMES = frozenset({"name", "key", "header", "field"})
_PAIR_VALUES = frozenset({"value", "val"})
_NAME_BEHIND = re.compile(
    r'(?:\s{0,40},\s{0,40}"[^"\\]{0,40}"\s{0,3}:\s{0,3}(?:"[^"\\]{0,200}"|[\w.+-]{1,40})){0,4}?'
    r'\s{0,40},\s{0,40}"(?i:name|key|header|field)"\s{0,3}:\s{0,3}"(?P<name>[^"\\]{1,80})"'
)
"""The name of a pair whose value is written first."""
_INNER_LIST = re.compile(r"[\[,]\s*+\[\s*+\Z")
_LIST_END = re.compile(r"\s*+\]")


class CrossingPattern(Exception):
    """A user's pattern matches across the punctuation of JSON, which masking would break."""


def mask_body(
    text: str,
    content_type: str = "",
    patterns: Patterns = (),
    *,
    cut: bool = False,
    found: set[str] | None = None,
) -> str:
    """Return a body with its secrets masked; ``cut``: its end is missing.

    Masked are the values of fields whose name tells a secret, everything in the form of a known
    key, and what ``patterns`` find. JSON stays JSON; numbers in lists and embeddings in base64 are
    not touched. The values of named fields are added to ``found``.

    Raises:
        CrossingPattern: one of ``patterns`` matches beyond a single text of the JSON.
    """
    if content_type.lower().startswith(_FORM) and not text.lstrip().startswith(("{", "[")):
        return _mask_form(text, patterns, cut=cut, found=found)
    if _is_event_stream(text):
        lines = text.split("\n")
        last = len(lines) - 1
        return mask_private_keys(
            "\n".join(
                _mask_line(line, patterns, cut=cut and at == last, found=found)
                for at, line in enumerate(lines)
            )
        )
    return _mask(text, patterns, cut=cut, depth=0, found=found)


def mask_text(text: str, patterns: Patterns = (), *, cut: bool = False) -> str:
    """Return any text with its secrets masked, as JSON where it is JSON."""
    return _mask(text, patterns, cut=cut, depth=0, found=None)


def _mask(text: str, patterns: Patterns, *, cut: bool, depth: int, found: set[str] | None) -> str:
    if _FIELD_OR_LIST.search(text) is not None:
        if depth >= _DEEPEST:
            return MASK if _FIELD.search(text) is not None else _mask_plain(text, patterns, cut=cut)
        return _JsonText(patterns, cut=cut, depth=depth, found=found).mask(text)
    return _mask_plain(text, patterns, cut=cut)


def _mask_plain(text: str, patterns: Patterns, *, cut: bool = False) -> str:
    for pattern, replacement in patterns:
        text = pattern.sub(replacement, text)
    return mask_formats(text, cut=cut)


def _is_event_stream(text: str) -> bool:
    return text.startswith(("data:", "event:", "id:", ":")) or "\ndata:" in text


def _mask_line(line: str, patterns: Patterns, *, cut: bool, found: set[str] | None) -> str:
    name, colon, rest = line.partition(":")
    if colon and rest.lstrip()[:1] in {"{", "[", '"'}:
        return f"{name}:{_mask(rest, patterns, cut=cut, depth=0, found=found)}"
    return _mask(line, patterns, cut=cut, depth=0, found=found)


def _mask_form(text: str, patterns: Patterns, *, cut: bool, found: set[str] | None) -> str:
    fields = []
    pairs = text.split("&")
    for at, pair in enumerate(pairs):
        name, equals, value = pair.partition("=")
        if value and is_secret_parameter(unquote_plus(name)):
            if found is not None and secrecy(unquote_plus(name)) is Secrecy.SURE:
                found.add(unquote_plus(value))
            value = MASK
        else:
            plain = unquote_plus(value)
            masked = mask_text(plain, patterns, cut=cut and at == len(pairs) - 1)
            value = value if masked == plain else quote(masked, safe="*")
        fields.append(f"{name}{equals}{value}")
    return "&".join(fields)


class _JsonText:
    """Masks one JSON text, whole or cut, token by token: what is no secret keeps its bytes."""

    def __init__(
        self, patterns: Patterns, *, cut: bool, depth: int, found: set[str] | None = None
    ) -> None:
        self._patterns = patterns
        self._cut = cut
        self._depth = depth
        self._found = found
        self._told = Secrecy.NONE  # of the key before
        self._hidden = 0  # brackets open since a key whose whole value is hidden
        self._after_key = False
        self._pair = ""  # the key before, where it is one of a pair of name and value
        self._pair_told = Secrecy.NONE  # what the pair's name tells of its value
        self._before = ""  # what stands before the string that is looked at
        self._listed = Secrecy.NONE  # what the first of two strings of a list tells of the second
        self._loose = False  # something between the strings is not JSON

    def mask(self, text: str) -> str:
        """Return ``text`` masked."""
        masked = "".join(self._pieces(text))
        if self._loose:
            return _mask_plain(masked, self._patterns, cut=self._cut)
        for pattern, _ in self._patterns:
            if any('"' in found[0] for found in pattern.finditer(masked)):
                raise CrossingPattern(pattern.pattern)
        return masked

    def _pieces(self, text: str) -> Iterator[str]:
        at = 0
        for token in _STRING.finditer(text):
            self._before = text[at : token.start()]
            if "}" in self._before or "{" in self._before:
                self._pair_told = Secrecy.NONE
            yield self._gap(self._before)
            at = token.end()
            if _COLON.match(text, at) is not None:
                yield self._key(token)
            else:
                yield self._value(token)
        yield self._gap(text[at:])

    def _key(self, token: re.Match[str]) -> str:
        name = token["text"]
        if "\\" in name:
            name = _decoded(name)
        self._told = secrecy(name)
        lowered = name.lower()
        if lowered in _PAIR_VALUES and self._told is Secrecy.NONE:
            self._told = self._pair_told
            if (behind := self._name_behind(token)) is not None:
                self._told = behind
        self._pair = lowered if lowered in _PAIR_NAMES else ""
        self._after_key = True
        return self._string(token, Secrecy.NONE)

    def _value(self, token: re.Match[str]) -> str:
        told = Secrecy.SURE if self._hidden else self._told if self._after_key else Secrecy.NONE
        if self._pair and self._after_key:
            self._pair_told = secrecy(token["text"])
        if not self._after_key and not self._hidden:
            told = self._told_in_list(token)
        self._after_key = False
        return self._string(token, told)

    def _name_behind(self, token: re.Match[str]) -> Secrecy | None:
        value = _COLON_AND_STRING.match(token.string, token.end())
        behind = None if value is None else _NAME_BEHIND.match(token.string, value.end())
        return None if behind is None else secrecy(behind["name"])

    def _told_in_list(self, token: re.Match[str]) -> Secrecy:
        """Return what a list of two strings, in a list of such, tells: ``["x-api-key", "…"]``."""
        text = token["text"]
        told, self._listed = self._listed, Secrecy.NONE
        if _INNER_LIST.search(self._before) is not None and " " not in text:
            self._listed = secrecy(text)
        elif self._before.strip() == "," and _LIST_END.match(token.string, token.end()):
            return told
        return Secrecy.NONE

    def _gap(self, gap: str) -> str:
        """Follow what stands between two strings: brackets, numbers and, if loose, words."""
        written = gap
        if self._after_key and (found := _VALUE.match(gap)) is not None:
            rest = gap[found.end() :]
            if found["value"] is not None:
                written = f"{found['colon']}{self._number(found['value'])}{rest}"
            elif rest[:1] in {"[", "{"} and self._told is Secrecy.SURE and not self._hidden:
                return found["colon"] + self._hide(rest)
            self._after_key = found["value"] is None and not rest
        if self._hidden:
            return self._hide(written)
        if _WORDS.search(written) is not None:
            self._loose = True
            return _mask_plain(written, self._patterns)
        return written

    def _hide(self, gap: str) -> str:
        """Follow the brackets of a value that is hidden as a whole, its numbers too."""
        end = len(gap)
        for bracket in _BRACKET.finditer(gap):
            self._hidden += 1 if bracket[0] in "[{" else -1
            if not self._hidden:
                end = bracket.end()
                break
        hidden = _NUMBER.sub(f'"{MASK}"', gap[:end])
        return hidden + (self._gap(gap[end:]) if end < len(gap) else "")

    def _number(self, value: str) -> str:
        if self._told is Secrecy.SURE:
            return f'"{MASK}"'
        if _WHOLE.fullmatch(value) is not None:
            masked = value
            for pattern, replacement in self._patterns:
                masked = pattern.sub(replacement, masked)
            return value if masked == value else json.dumps(masked)
        return value

    def _string(self, token: re.Match[str], told: Secrecy) -> str:
        """Return a string with its secrets masked; its text was escaped, and is again if changed."""
        written, end = token["text"], token["end"]
        if not written:
            return token[0]
        if told is Secrecy.SURE:
            if self._found is not None and self._told is Secrecy.SURE and end:
                self._found.add(_decoded(written) if "\\" in written else written)
            return f'"{MASK}{end}'
        if len(written) >= _LEAST_PACKED and _PACKED.fullmatch(written) is not None:
            return token[0]
        text = _decoded(written) if "\\" in written else written
        if told is Secrecy.MAYBE and is_credential(text):
            return f'"{MASK}{end}'
        cut = self._cut and not end
        masked = _mask(text, self._patterns, cut=cut, depth=self._depth + 1, found=self._found)
        if masked == text:
            return token[0]
        return f"{json.dumps(masked)[:-1]}{end}"


def _decoded(written: str) -> str:
    """Return the text that a JSON string's escapes stand for, of one that was cut too."""
    for attempt in (written, _CUT_ESCAPE.sub("", written)):
        try:
            return str(json.loads(f'"{attempt}"', strict=False))
        except ValueError:
            continue
    return written

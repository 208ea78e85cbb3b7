"""Texts to the same texts with masks in place of everything that has the form of a secret."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.key_forms import BEGINNINGS, MASK, mask_keys
from otel_raglog_proxy_bridge.secret_names import Secrecy, is_secret_parameter, secrecy
from otel_raglog_proxy_bridge.secret_texts import mask_written

__all__ = ["MASK", "is_credential", "mask_formats", "mask_private_keys"]

_SCHEMES = ("Bearer ", "bearer ", "BEARER ", "Basic ", "basic ", "Bearer%20", "Bearer+")

# The scheme comes first and its lookbehind second: only so does `re` search for it as fast as
# `str.find` does.
_SCHEME_FORMATS = tuple(
    (
        scheme,
        re.compile(
            f"{re.escape(scheme)}(?<![A-Za-z0-9]{re.escape(scheme)})"
            r"(?=[A-Za-z._~+/%-]{0,200}[0-9=]|[A-Za-z._~+/%-]{32})[A-Za-z0-9._~+/%=-]{6,}+"
        ),
    )
    for scheme in _SCHEMES
)

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?s:.*?)(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_USER_IN_URL = re.compile(r"://[^\s/?#@:\"'<>]{0,256}:[^\s/?#\"'<>]{1,512}@")
_TOKEN_IN_URL = re.compile(r"://(?!git@|\*\*\*@)[^\s/?#@:\"'<>]{1,512}@")
_WEBHOOKS = (
    ("hooks.slack.com/", re.compile(r"hooks\.slack\.com/[A-Za-z0-9_/-]++")),
    ("/api/webhooks/", re.compile(r"/api/webhooks/[A-Za-z0-9_/-]++")),
)
_ENDINGS = (
    "key",
    "keyid",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    "signature",
    "sig",
    "authorization",
)
_GAPS = ("", "[\"' ]", "[\"'] ")
_NAMED = "|".join(f"(?<={ending}{gap}[=:])" for ending in _ENDINGS for gap in _GAPS)
_VALUE = r"(?P<space>\s{0,3}[\"']?)(?P<value>[^\s\"'<>,;&{}()\[\]]"
_ASSIGNED = re.compile(rf"[=:](?i:{_NAMED}){_VALUE}{{8,}}+)")
_ASSIGNED_CUT = re.compile(rf"[=:](?i:{_NAMED}){_VALUE}++)\Z")
_NAME = re.compile(r"(?P<before>[?&]?)(?P<name>[A-Za-z0-9_. -]{1,40})[\"' ]{0,2}\Z")
_LOOK_BACK = 48
_COOKIE = re.compile(r"(?i:cookie)(?P<space>\s?:\s?)[^\s=;:]{1,80}=[^\r\n]++")
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w.:-]{2,60})>(?P<value>[^<]++)")
_PART = re.compile(
    r"(?P<head>name=\"(?P<name>[^\"\r\n]{1,80})\"[^\r\n]{0,400}+\r?\n(?:[^\r\n]{1,400}+\r?\n){0,8}+\r?\n)"
    r"(?s:(?P<value>.*?))(?=\r?\n--|\Z)"
)
_CUT_FORMAT = re.compile(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, (*BEGINNINGS, *_SCHEMES)))})[\w.~+/%=-]*\Z"
)
_CUT_USER = re.compile(r"://[^\s/?#@:\"'<>]{0,256}:(?!\d{1,5}\Z)[^\s/?#@\"'<>]+\Z")
_TAIL = 4096
_SHORTEST = 8
_CODE = re.compile(r"(?:self|os|settings|config|env|process|args|options|secrets)\.[A-Za-z_]|\$")
_LETTER = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/=:-]{16,}")


def mask_formats(text: str, *, cut: bool = False) -> str:
    """Return ``text`` with every secret of a known form masked; ``cut``: its end is missing.

    Takes a time in proportion to the text's length.
    """
    if len(text) < _SHORTEST and not cut:
        return text
    text = mask_keys(text)
    for scheme, pattern in _SCHEME_FORMATS:
        if scheme in text:
            text = pattern.sub(f"{scheme}{MASK}", text)
    if "://" in text:
        text = _USER_IN_URL.sub(f"://{MASK}@", text)
        text = _TOKEN_IN_URL.sub(f"://{MASK}@", text)
    text = mask_private_keys(text)
    for part, pattern in _WEBHOOKS:
        if part in text:
            text = pattern.sub(f"{part}{MASK}", text)
    text = _mask_named(mask_written(text))
    return _mask_end(text) if cut else text


def mask_private_keys(text: str) -> str:
    """Return ``text`` with PEM blocks of private keys masked, to its end if one has no end."""
    return _PRIVATE_KEY.sub(MASK, text) if "PRIVATE KEY" in text else text


def is_credential(value: str) -> bool:
    """Return whether ``value`` looks made by a machine to be kept secret: long, mixed, no blank."""
    return _CREDENTIAL.fullmatch(value) is not None and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def _mask_named(text: str) -> str:
    if "=" in text or ":" in text:
        text = _ASSIGNED.sub(_assigned, text)
        if "ookie" in text or "OOKIE" in text:
            text = _COOKIE.sub(rf"Cookie\g<space>{MASK}", text)
    if "</" in text:
        text = _ELEMENT.sub(_element, text)
    if 'name="' in text and "\n--" in text:
        text = _PART.sub(_part, text)
    return text


def _assigned(found: re.Match[str]) -> str:
    sign, space, value = found[0][0], found["space"], found["value"]
    if found.string[found.end() : found.end() + 1] in {"(", "["} or _CODE.match(value):
        return found[0]  # a call or a field of a program, which only names the secret
    name = _NAME.search(found.string[max(0, found.start() - _LOOK_BACK) : found.start()])
    if name is None:
        return found[0]
    told = secrecy(name["name"])
    if name["before"] and is_secret_parameter(name["name"]):
        hidden = True
    elif told is Secrecy.SURE:
        hidden = (sign == "=" and not space[:1].isspace()) or _is_mixed(value)
    else:
        hidden = told is Secrecy.MAYBE and is_credential(value)
    return f"{sign}{space}{MASK}" if hidden else found[0]


def _element(found: re.Match[str]) -> str:
    value = found["value"]
    told = secrecy(found["name"])
    if told is Secrecy.SURE or (told is Secrecy.MAYBE and is_credential(value)):
        return f"<{found['name']}>{MASK}"
    return found[0]


def _part(found: re.Match[str]) -> str:
    told = secrecy(found["name"])
    if told is Secrecy.SURE or (told is Secrecy.MAYBE and is_credential(found["value"])):
        return f"{found['head']}{MASK}"
    return found[0]


def _mask_end(text: str) -> str:
    """Mask what may be the beginning of a secret whose rest was cut off."""
    kept, tail = text[:-_TAIL], text[-_TAIL:]
    tail = _ASSIGNED_CUT.sub(lambda found: f"{found[0][0]}{found['space']}{MASK}", tail)
    tail = _CUT_USER.sub(f"://{MASK}", tail)
    return kept + _CUT_FORMAT.sub(MASK, tail)

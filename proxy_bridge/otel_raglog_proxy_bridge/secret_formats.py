"""Texts to the same texts with masks in place of everything that has the form of a secret."""

from __future__ import annotations

import re
from typing import Final

from otel_raglog_proxy_bridge.secret_names import Secrecy, is_secret_parameter, secrecy

MASK: Final = "***"

_KEY = "[A-Za-z0-9_-]"
_MIXED = "(?=[A-Za-z_-]{0,80}[0-9])(?=[a-z0-9_-]{0,80}[A-Z])"
_TAILS = {
    "sk-": rf"(?!learn){_KEY}{{16,}}+",
    "sk_live_": f"{_KEY}{{10,}}+",
    "sk_test_": f"{_KEY}{{10,}}+",
    "rk_live_": f"{_KEY}{{10,}}+",
    "whsec_": f"{_KEY}{{16,}}+",
    "AKIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "ASIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "AIza": f"{_KEY}{{30,}}+",
    "AQ.Ab": f"{_KEY}{{20,}}+",
    "ya29.": f"{_KEY}{{20,}}+",
    "ghp_": "[A-Za-z0-9]{20,}+",
    "gho_": "[A-Za-z0-9]{20,}+",
    "ghu_": "[A-Za-z0-9]{20,}+",
    "ghs_": "[A-Za-z0-9]{20,}+",
    "ghr_": "[A-Za-z0-9]{20,}+",
    "github_pat_": f"{_KEY}{{20,}}+",
    "glpat-": f"{_KEY}{{16,}}+",
    "xoxa-": f"{_KEY}{{10,}}+",
    "xoxb-": f"{_KEY}{{10,}}+",
    "xoxp-": f"{_KEY}{{10,}}+",
    "xoxr-": f"{_KEY}{{10,}}+",
    "xoxs-": f"{_KEY}{{10,}}+",
    "xapp-": f"{_KEY}{{10,}}+",
    "hf_": "[A-Za-z0-9]{16,}+",
    "pcsk_": f"{_KEY}{{16,}}+",
    "gsk_": "[A-Za-z0-9]{16,}+",
    "pplx-": f"{_KEY}{{16,}}+",
    "xai-": f"{_MIXED}{_KEY}{{16,}}+",
    "tvly-": f"{_KEY}{{16,}}+",
    "jina_": f"{_MIXED}{_KEY}{{16,}}+",
    "pa-": f"{_MIXED}{_KEY}{{24,}}+",
    "fw_": f"{_MIXED}[A-Za-z0-9]{{16,}}+",
    "r8_": "[A-Za-z0-9]{16,}+",
    "nvapi-": f"{_KEY}{{16,}}+",
    "lsv2_": f"{_KEY}{{16,}}+",
    "npm_": f"{_MIXED}[A-Za-z0-9]{{16,}}+",
    "pypi-": f"{_MIXED}{_KEY}{{16,}}+",
    "dop_v1_": "[a-z0-9]{16,}+",
    "SG.": f"{_KEY}{{16,}}+(?:\\.{_KEY}++)?",
    "eyJ": r"[A-Za-z0-9_=-]{4,}+\.[A-Za-z0-9_=-]++(?:\.[A-Za-z0-9_=-]*+)*",
}
"""What follows the beginning by which a kind of key is known."""
_SCHEMES = ("Bearer ", "bearer ", "BEARER ", "Basic ", "basic ", "Bearer%20", "Bearer+")

# The beginning comes first and its lookbehind second: only so does `re` search for it as fast as
# `str.find` does.
_FORMATS = tuple(
    (beginning, re.compile(f"{re.escape(beginning)}(?<![A-Za-z0-9]{re.escape(beginning)}){tail}"))
    for beginning, tail in _TAILS.items()
)
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
_USER_IN_URL = re.compile(r"://[^\s/?#@:\"'<>]{0,256}:[^\s/?#@\"'<>]{1,512}@")
_WEBHOOKS = (
    ("hooks.slack.com/", re.compile(r"hooks\.slack\.com/[A-Za-z0-9_/-]++")),
    ("/api/webhooks/", re.compile(r"/api/webhooks/[A-Za-z0-9_/-]++")),
)
_AZURE_KEY = ("JQQJ99", re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{30,60}JQQJ99[A-Za-z0-9]{10,40}"))

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
    rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, (*_TAILS, *_SCHEMES)))})[\w.~+/%=-]*\Z"
)
_CUT_USER = re.compile(r"://[^\s/?#@:\"'<>]{0,256}:(?!\d{1,5}\Z)[^\s/?#@\"'<>]+\Z")
_TAIL = 4096
_SHORTEST = 8
_LETTER = re.compile("[A-Za-z]")
_DIGIT = re.compile("[0-9]")
_CREDENTIAL = re.compile(r"[A-Za-z0-9._~+/=:-]{16,}")


def mask_formats(text: str, *, cut: bool = False) -> str:
    """Return ``text`` with every secret of a known form masked; ``cut``: its end is missing.

    Takes a time in proportion to the text's length.
    """
    if len(text) < _SHORTEST and not cut:
        return text
    for beginning, pattern in _FORMATS:
        if beginning in text:
            text = pattern.sub(MASK, text)
    for scheme, pattern in _SCHEME_FORMATS:
        if scheme in text:
            text = pattern.sub(f"{scheme}{MASK}", text)
    if "://" in text:
        text = _USER_IN_URL.sub(f"://{MASK}@", text)
    text = mask_private_keys(text)
    for part, pattern in _WEBHOOKS:
        if part in text:
            text = pattern.sub(f"{part}{MASK}", text)
    if _AZURE_KEY[0] in text:
        text = _AZURE_KEY[1].sub(MASK, text)
    text = _mask_named(text)
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

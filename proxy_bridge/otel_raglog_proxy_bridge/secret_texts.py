"""Secrets as people write them: command lines, header lines, settings, XML, queries in texts."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.key_forms import MASK
from otel_raglog_proxy_bridge.secret_names import Secrecy, is_secret_parameter, secrecy

_COMMANDS = ("curl", "wget", "http ", "https ")
_USER = re.compile(
    r"(?<![\w-])(?P<head>(?:-u|--user|--proxy-user)[ =]{0,2}[\"']?)[^\s:\"']{1,200}:[^\s\"']{1,200}"
)
_FLAG = re.compile(
    r"--(?<![\w-]--)(?P<head>(?P<name>[A-Za-z0-9][A-Za-z0-9-]{1,40})(?P<sign>=|\s{1,3})(?P<quote>[\"']?))"
    r"(?P<value>[^\s\"'<>$\\-][^\s\"'<>]{3,})"
)
_WORD = re.compile(r"[A-Za-z]+[.,;:!?)]*")
_AUTHORIZATION = re.compile(
    r"(?i:uthorization)(?P<head>[\"']?\s{0,2}[:=]\s{0,2}[\"']?)"
    r"(?P<scheme>(?i:basic|bearer|token|api-?key|key|jwt|oauth|digest|negotiate|sharedkey\w{0,4}|ssws|aws4-hmac-sha256))"
    r"(?P<space>[ \t]+)(?P<value>[^\s\"'<>$\\{}][^\r\n\"'<>\\]*+)"
)
_WHOLE_LINE = frozenset({"aws4-hmac-sha256", "digest", "oauth"})
_QUOTED = re.compile(
    r"(?P<head>[=:](?<=[A-Za-z0-9\"'\] ][=:])>?\s{0,3}[bfru]{0,2}(?P<quote>[\"']))"
    r"(?P<value>[^\s\"'<>{}$][^\s\"'<>{}]{3,})(?P=quote)"
)
_TUPLE = re.compile(
    r"(?P<head>\(\s{0,3}b?[\"'](?P<name>[\w.-]{2,60})[\"'],\s{0,3}b?[\"'])(?P<value>[^\"'\r\n]{4,4096})(?=[\"']\s{0,3}\))"
)
_LINE = re.compile(
    r"(?m)^(?P<head>[ \t]{0,40}(?:- )?(?:export |set )?(?P<name>[A-Za-z][\w.-]{2,60})[ \t]{0,3}[:=][ \t]{0,3})"
    r"(?P<value>[^\s\"'<>(){}\[\],;&$][^\s\"'<>(){}\[\],;&]{3,})[ \t]*$"
)
_SETTING = re.compile(
    r"(?m)(?P<head>(?:^|[;\s\"'])(?P<name>[A-Za-z][A-Za-z_]{2,30})=)(?P<value>[^\s;\"'<>(){}\[\]]{4,})(?=;)"
)
_QUERY = re.compile(
    r"(?P<head>[?&#;](?:amp;)?(?P<name>[A-Za-z0-9_.%-]{1,60})=)(?P<value>[^\s&#;\"'<>`(){}\[\]$]{6,})"
)
_XML_PAIR = re.compile(
    r"(?P<head>(?:name|key)\s?=\s?\"(?P<name>[\w.:-]{2,80})\"\s{1,10}value\s?=\s?\")(?P<value>[^\"<>]{1,4096})"
)
_CDATA = re.compile(
    r"(?P<head><(?P<name>[A-Za-z][\w.:-]{2,60})>\s{0,20}<!\[CDATA\[)(?P<value>[^\]]{1,4096})"
)
_ELEMENT_WITH_MORE = re.compile(
    r"(?P<head><(?P<name>[A-Za-z][\w.:-]{2,60})\s[^<>]{0,200}(?<!/)>)(?P<value>[^<]{1,4096})(?=</)"
)
_NAME_BACKWARDS = re.compile(r"[\"'\] ]{0,2}(?P<name>[A-Za-z0-9_.-]{1,40})")
_LOOK_BACK = 44


def mask_written(text: str) -> str:
    """Return ``text`` with secrets masked that command lines, settings and the like hold.

    Takes a time in proportion to the text's length: each pattern begins at a sign, and what it
    looks at from there is bounded or is not looked at again.
    """
    if "--" in text or "-u" in text:
        if any(command in text for command in _COMMANDS):
            text = _USER.sub(rf"\g<head>{MASK}", text)
        text = _FLAG.sub(_flag, text)
    if "uthorization" in text or "UTHORIZATION" in text:
        text = _AUTHORIZATION.sub(_authorization, text)
    if "('" in text or '("' in text:
        text = _TUPLE.sub(_named, text)
    if "=" in text or ":" in text:
        text = _LINE.sub(_line, _QUOTED.sub(_quoted, text))
    if "=" in text:
        text = _SETTING.sub(_named, text) if ";" in text else text
        text = _QUERY.sub(_parameter, text)
    if "<" in text or "value" in text:
        for pattern in (_XML_PAIR, _CDATA, _ELEMENT_WITH_MORE):
            text = pattern.sub(_named, text)
    return text


def _flag(found: re.Match[str]) -> str:
    is_word = _WORD.fullmatch(found["value"]) is not None and found["sign"] != "="
    if secrecy(found["name"]) is Secrecy.NONE or (is_word and not found["quote"]):
        return found[0]
    return f"--{found['head']}{MASK}"


def _authorization(found: re.Match[str]) -> str:
    value, scheme = found["value"], found["scheme"]
    first, blank, rest = value.partition(" ")
    if scheme.lower() in _WHOLE_LINE:
        first, blank, rest = value, "", ""
    if re.search(r"[0-9=]", first) is None:
        return found[0]
    start = found[0][: found.start("value") - found.start()]
    return f"{start}{MASK}{blank}{rest}"


def _named(found: re.Match[str]) -> str:
    return f"{found['head']}{MASK}" if secrecy(found["name"]) is Secrecy.SURE else found[0]


def _quoted(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - _LOOK_BACK) : found.start()]
    name = _NAME_BACKWARDS.match(before[::-1])
    if name is None or secrecy(name["name"][::-1]) is not Secrecy.SURE:
        return found[0]
    return f"{found['head']}{MASK}{found['quote']}"


def _line(found: re.Match[str]) -> str:
    is_word = _WORD.fullmatch(found["value"]) is not None or "." in found["value"].strip(".")
    if is_word or secrecy(found["name"]) is not Secrecy.SURE:
        return found[0]
    return f"{found['head']}{MASK}"


def _parameter(found: re.Match[str]) -> str:
    return f"{found['head']}{MASK}" if is_secret_parameter(found["name"]) else found[0]

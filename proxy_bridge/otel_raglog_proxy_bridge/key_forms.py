"""Keys that are known by how they begin: texts to the same texts without them."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"

_KEY = "[A-Za-z0-9_-]"
_MIXED = "(?=[A-Za-z_-]{0,80}[0-9])(?=[a-z0-9_-]{0,80}[A-Z])"
_HEX = "[0-9a-f]{32}(?![0-9A-Za-z])"
_TAILS = {
    "sk-": rf"(?!learn){_KEY}{{16,}}+",
    "sk_live_": f"{_KEY}{{10,}}+",
    "sk_test_": f"{_KEY}{{10,}}+",
    "rk_live_": f"{_KEY}{{10,}}+",
    "rk_test_": f"{_KEY}{{10,}}+",
    "whsec_": f"{_KEY}{{16,}}+",
    "AKIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "ASIA": "[0-9A-Z]{16}(?![0-9A-Za-z])",
    "ABSK": "(?=[A-Za-z+/]{0,80}[0-9])[A-Za-z0-9+/]{40,}+={0,2}",
    "bedrock-api-key-": "[A-Za-z0-9+/=_-]{16,}+",
    "AIza": f"{_KEY}{{30,}}+",
    "AQ.Ab": f"{_KEY}{{20,}}+",
    "GOCSPX-": f"{_KEY}{{16,}}+",
    "1//0": f"{_MIXED}{_KEY}{{20,}}+",
    "ya29.": f"{_KEY}{{20,}}+",
    "ghp_": "[A-Za-z0-9]{20,}+",
    "gho_": "[A-Za-z0-9]{20,}+",
    "ghu_": "[A-Za-z0-9]{20,}+",
    "ghs_": "[A-Za-z0-9]{20,}+",
    "ghr_": "[A-Za-z0-9]{20,}+",
    "github_pat_": f"{_KEY}{{20,}}+",
    "glpat-": f"{_KEY}{{16,}}+(?:\\.{_KEY}++)*",
    "gldt-": f"{_MIXED}{_KEY}{{16,}}+",
    "glrt-": f"{_MIXED}{_KEY}{{16,}}+",
    "glptt-": f"{_KEY}{{16,}}+",
    "xoxa-": f"{_KEY}{{10,}}+",
    "xoxb-": f"{_KEY}{{10,}}+",
    "xoxc-": f"{_KEY}{{10,}}+",
    "xoxd-": "[A-Za-z0-9%_-]{10,}+",
    "xoxe-": f"{_KEY}{{10,}}+",
    "xoxe.": f"xox[a-z]-{_KEY}{{10,}}+",
    "xoxp-": f"{_KEY}{{10,}}+",
    "xoxr-": f"{_KEY}{{10,}}+",
    "xoxs-": f"{_KEY}{{10,}}+",
    "xapp-": f"{_KEY}{{10,}}+",
    "hf_": "[A-Za-z0-9]{16,}+",
    "api_org_": "[A-Za-z0-9]{20,}+",
    "pcsk_": f"{_KEY}{{16,}}+",
    "gsk_": "[A-Za-z0-9]{16,}+",
    "csk-": f"{_MIXED}{_KEY}{{16,}}+|(?<=csk-)(?=[a-z]{{0,30}}[0-9])[a-z0-9]{{40,}}+",
    "pplx-": f"{_KEY}{{16,}}+",
    "xai-": f"{_MIXED}{_KEY}{{16,}}+",
    "tvly-": f"{_KEY}{{16,}}+",
    "fc-": _HEX,
    "jina_": f"{_MIXED}{_KEY}{{16,}}+",
    "pa-": f"{_MIXED}{_KEY}{{24,}}+",
    "fw_": f"{_MIXED}[A-Za-z0-9]{{16,}}+",
    "r8_": "[A-Za-z0-9]{16,}+",
    "tgp_v1_": f"{_KEY}{{16,}}+",
    "nvapi-": f"{_KEY}{{16,}}+",
    "lsv2_": f"{_KEY}{{16,}}+",
    "ls__": "[a-f0-9]{16,}+",
    "npm_": f"{_MIXED}[A-Za-z0-9]{{16,}}+",
    "pypi-": f"{_MIXED}{_KEY}{{16,}}+",
    "dapi": "(?=[a-f]{0,31}[0-9])[a-f0-9]{32}(?:-[0-9])?(?![0-9A-Za-z])",
    "dop_v1_": "[a-z0-9]{16,}+",
    "doo_v1_": "[a-z0-9]{16,}+",
    "dckr_pat_": f"{_KEY}{{16,}}+",
    "SG.": f"{_KEY}{{16,}}+(?:\\.{_KEY}++)?",
    "SK": _HEX,
    "key-": "(?=[a-f]{0,31}[0-9])[0-9a-f]{32}(?![0-9A-Za-z])",
    "shpat_": "[A-Za-z0-9]{16,}+",
    "shpss_": "[A-Za-z0-9]{16,}+",
    "hvs.": f"{_KEY}{{20,}}+",
    "hvb.": f"{_KEY}{{20,}}+",
    "ntn_": f"{_MIXED}[A-Za-z0-9]{{20,}}+",
    "secret_": f"{_MIXED}[A-Za-z0-9]{{40,}}+",
    "lin_api_": "[A-Za-z0-9]{16,}+",
    "glsa_": f"{_KEY}{{16,}}+",
    "NRAK-": "[A-Z0-9]{16,}+",
    "ATATT3": f"{_KEY}{{20,}}+(?:=[0-9A-F]{{8}})?",
    "xkeysib-": f"{_KEY}{{16,}}+",
    "sbp_": "[a-f0-9]{20,}+",
    "sb_secret_": f"{_KEY}{{16,}}+",
    "pscale_tkn_": f"{_KEY}{{16,}}+",
    "pscale_pw_": f"{_KEY}{{16,}}+",
    "AGE-SECRET-KEY-1": "[0-9A-Z]{20,}+",
    "eyJ": r"[A-Za-z0-9_=-]{4,}+\.[A-Za-z0-9_=-]++(?:\.[A-Za-z0-9_=-]*+)*",
}
"""What follows the beginning by which a kind of key is known."""

BEGINNINGS = tuple(_TAILS)
"""How keys of a known form begin."""

# The beginning comes first and its lookbehind second: only so does `re` search for it as fast as
# `str.find` does.
_FORMS = tuple(
    (
        beginning,
        re.compile(f"{re.escape(beginning)}(?<![A-Za-z0-9]{re.escape(beginning)})(?:{tail})"),
    )
    for beginning, tail in _TAILS.items()
)
_INNER_FORMS = (
    ("JQQJ99", re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{30,60}JQQJ99[A-Za-z0-9]{10,40}")),
    ("Q~", re.compile(r"(?<![\w.~-])[\w.~-]{3,4}[78]?Q~[\w.~-]{30,36}(?![\w~])")),
    (":AA", re.compile(r"(?<![0-9A-Za-z])(?:bot)?[0-9]{8,12}:AA[A-Za-z0-9_-]{30,40}")),
)
"""Keys of Azure, client secrets of Entra and bots of Telegram are known by something inside."""


def mask_keys(text: str) -> str:
    """Return ``text`` with every key of a known form masked."""
    for beginning, pattern in _FORMS:
        if beginning in text:
            text = pattern.sub(MASK, text)
    for part, pattern in _INNER_FORMS:
        if part in text:
            text = pattern.sub(MASK, text)
    return text

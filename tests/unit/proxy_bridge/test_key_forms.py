"""Keys that are known by how they begin."""

import pytest

from otel_raglog_proxy_bridge.key_forms import mask_keys

KEYS = {
    "gldt-": "Ab12Ab12Ab12Ab12Ab12Ab12",
    "GOCSPX-": "Ab12Ab12Ab12Ab12Ab12Ab12",
    "dapi": "0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b",
    "SK": "0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b",
    "xoxe.": "xoxp-1-Ab12Ab12Ab12Ab12Ab12Ab12",
    "hvs.": "Ab12Ab12Ab12Ab12Ab12Ab12Ab12Ab12",
    "fc-": "0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b",
    "tgp_v1_": "Ab12Ab12Ab12Ab12Ab12Ab12",
    "shpat_": "0a1b0a1b0a1b0a1b0a1b0a1b0a1b0a1b",
    "csk-": "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
    "api_org_": "AbCdAbCdAbCdAbCdAbCdAbCd",
    "1//0": "Ab12Ab12Ab12Ab12Ab12Ab12Ab12Ab12",
    "123456789:AA": "Ab12Ab12Ab12Ab12Ab12Ab12Ab12Ab12x",
    "abc8Q~": "Ab12Ab12Ab12Ab12Ab12Ab12Ab12Ab12",
}
"""Beginnings, and what may follow them: apart, since scanners look for the whole."""


@pytest.mark.parametrize("beginning", KEYS)
def test_keys(beginning):
    """A key is masked wherever it stands, and nothing around it is."""
    assert mask_keys(f"my key is {beginning}{KEYS[beginning]}, ok?") == "my key is ***, ok?"


@pytest.mark.parametrize(
    "text",
    [
        "SKU 12",
        "dapi is a name",
        "fc-barcelona-is-a-club-of-football",
        "secret_santa_list",
        "key-value-store",
    ],
)
def test_words_that_begin_so(text):
    """Words are no keys."""
    assert mask_keys(text) == text

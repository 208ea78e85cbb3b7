"""Names of headers, parameters and fields to whether what they hold is a secret."""

from __future__ import annotations

import re
from enum import Enum

_SEPARATORS = re.compile(r"[^a-z0-9]+")

_SECRET_ENDINGS = (
    "apikey",
    "accesskey",
    "accesskeyid",
    "accountkey",
    "authkey",
    "encryptionkey",
    "masterkey",
    "privatekey",
    "secretkey",
    "serverkey",
    "sharedkey",
    "signingkey",
    "subscriptionkey",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "accesstoken",
    "apitoken",
    "authtoken",
    "bearertoken",
    "idtoken",
    "refreshtoken",
    "securitytoken",
    "sessiontoken",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "connectionstring",
    "clientassertion",
)
_SECRET_HEADERS = re.compile(
    r"auth|cookie|credential|passw|passphrase|pwd|secret|signature|token|keys?$"
)
_SECRET_PARAMETERS = frozenset(
    {
        "appid",
        "assertion",
        "auth",
        "code",
        "codeverifier",
        "key",
        "pass",
        "pin",
        "samlresponse",
        "session",
        "sid",
        "sig",
        "signature",
        "token",
        "jwt",
        "otp",
    }
)
_SECRET_PARAMETER_BEGINNINGS = ("xamz", "xgoog")


class Secrecy(Enum):
    """How surely a name says that its value is a secret."""

    NONE = 0
    MAYBE = 1
    """Only when the value looks like a credential: ``token`` also names a word of a model."""
    SURE = 2


def secrecy(name: str) -> Secrecy:
    """Return what the name of a JSON field, an XML element or an assignment tells."""
    plain = _plain(name)
    if plain.endswith(_SECRET_ENDINGS) or plain.removesuffix("s").endswith(_SECRET_ENDINGS):
        return Secrecy.SURE
    if plain.endswith("token"):
        return Secrecy.MAYBE
    return Secrecy.NONE


def is_secret_header(name: str) -> bool:
    """Return whether a header of this name must never be kept, whoever asks for it."""
    return _SECRET_HEADERS.search(name.lower()) is not None


def is_secret_parameter(name: str) -> bool:
    """Return whether the value of a query parameter or a form's field is to be masked."""
    plain = _plain(name)
    return (
        plain in _SECRET_PARAMETERS
        or plain.startswith(_SECRET_PARAMETER_BEGINNINGS)
        or plain.endswith(("token", "signature"))
        or secrecy(name) is Secrecy.SURE
    )


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())

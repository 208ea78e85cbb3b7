"""Names of headers, parameters and fields to whether what they hold is a secret."""

from __future__ import annotations

import re
from enum import Enum

_SEPARATORS = re.compile(r"[^a-z0-9]+")
_DIGITS = "0123456789"

_PASS_OF = (
    "account",
    "admin",
    "api",
    "auth",
    "basic",
    "database",
    "db",
    "ftp",
    "http",
    "imap",
    "ldap",
    "login",
    "mail",
    "mongo",
    "mysql",
    "postgres",
    "proxy",
    "redis",
    "root",
    "smtp",
    "ssh",
    "user",
    "wifi",
)
"""What stands before ``pass`` where it is a password: ``bypass`` and ``first_pass`` are none."""

_SECRET_ENDINGS = (
    "apikey",
    "appkey",
    "accesskey",
    "accesskeyid",
    "accountkey",
    "authkey",
    "clientkey",
    "encryptionkey",
    "hmackey",
    "masterkey",
    "privatekey",
    "secretkey",
    "serverkey",
    "sharedkey",
    "signingkey",
    "storagekey",
    "subscriptionkey",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secretid",
    "accesstoken",
    "apitoken",
    "authtoken",
    "bearertoken",
    "bottoken",
    "csrftoken",
    "deploytoken",
    "githubtoken",
    "gitlabtoken",
    "hftoken",
    "idtoken",
    "jwttoken",
    "privatetoken",
    "refreshtoken",
    "sastoken",
    "securitytoken",
    "sessiontoken",
    "sharedaccesssignature",
    "xsrftoken",
    "authorization",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "connectionstring",
    "clientassertion",
    *(f"{owner}pass" for owner in _PASS_OF),
)
_SECRET_NAMES = frozenset({"auth", "basicauth", "httpauth", "jwt", "proxyauth", "xauth"})
_ADDED = re.compile(
    r"(?:again|b64|base64|binary|confirm|confirmation|current|encoded|hash|new|old|plain|"
    r"plaintext|raw|repeat|string|value)\Z"
)
"""What names of secrets add at their end: ``SecretString``, ``password_confirmation``."""

_PERHAPS_ENDINGS = ("token", "signature")
_PERHAPS_NAMES = frozenset({"hmac", "pass", "sas", "sig"})

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
        "hmac",
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
    plain = _plain(name).rstrip(_DIGITS)
    if _is_sure(plain) or _is_sure(_ADDED.sub("", plain)):
        return Secrecy.SURE
    if plain.endswith(_PERHAPS_ENDINGS) or plain in _PERHAPS_NAMES:
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


def _is_sure(plain: str) -> bool:
    return (
        plain in _SECRET_NAMES
        or plain.endswith(_SECRET_ENDINGS)
        or plain.removesuffix("s").endswith(_SECRET_ENDINGS)
    )


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.lower())

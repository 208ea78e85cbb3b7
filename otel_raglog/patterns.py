"""Regular expressions of users to compiled ones that take time in proportion to the text, no more.

RE2 has neither look-around nor back-references, and so no text that it takes minutes for: Python's
own expressions hold up the whole process on an unlucky one.
"""

from __future__ import annotations

import re
from typing import Any

from otel_raglog.errors import BadInput, ConfigError

UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode says may be left undisplayed, blank letters, and controls but tabs and line ends."""


def compile_pattern(text: str) -> Any:
    """Return the compiled expression, whose ``sub`` is like that of :mod:`re`.

    Raises:
        BadInput: it is none, or of a kind that RE2 does not know; says what is wrong.
        ConfigError: RE2 is not installed.
    """
    try:
        import re2  # noqa: PLC0415  an optional extra
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"regular expressions need {error.name}: pip install 'otel-raglog[judge]'"
        ) from None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        problem = error.args[0] if error.args else ""
        told = problem.decode("utf-8", "replace") if isinstance(problem, bytes) else str(problem)
        raise BadInput(f"{text!r} is no regular expression of RE2: {told}") from None

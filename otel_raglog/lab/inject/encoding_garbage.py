"""The embedder is given bytes read in the wrong encoding, or escapes instead of letters."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import on_embedded
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_MARK = "\ufffd"


class EncodingGarbage:
    """Replacement marks, UTF-16 read as Latin-1, or percent escapes, in a part of the words."""

    name = "encoding_garbage"
    stage = Stage.EMBEDDER
    types = ("corrupted_input",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Corrupt every text."""
        kind = rng.choice(("marks", "wide", "escapes", "mojibake"))
        share = rng.uniform(0.3, 0.8)

        def edit(text: str) -> str:
            return " ".join(
                corrupted(word, kind, rng) if rng.random() < share else word
                for word in text.split()
            )

        return on_embedded(run, edit)


def corrupted(word: str, kind: str, rng: Random) -> str:
    """Return ``word`` as it looks after a wrong decoding."""
    if kind == "wide":
        return word.encode("utf-16-le").decode("latin-1")
    if kind == "escapes":
        return "".join(f"%{ord(c):02X}" for c in word)
    if kind == "mojibake":
        return "".join(c + rng.choice(("", "Ã©", "â€™", "Â")) for c in word)
    return "".join(_MARK if rng.random() < 0.5 else c for c in word)  # noqa: PLR2004  half

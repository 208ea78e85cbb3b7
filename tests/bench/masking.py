"""Prints what masking a text costs, by its length and by what it repeats: it should double with it.

python tests/bench/masking.py
"""

from __future__ import annotations

import time

from otel_raglog_proxy_bridge.secret_formats import mask_formats

LENGTHS = (50_000, 100_000, 200_000, 400_000)
PIECES = (
    "sk-", "eyJa.", "://", "://a:", "key=", "=", "-----BEGIN PRIVATE KEY", "Bearer ", "cookie:a=", "<a>",
    'name="a"\n\n', "://a:b", "--token ", "--a", "curl -u a", "Authorization: Basic ", "('key', '",
    "password='", "a: b\n", "?a=", 'name="key" value="', "<password><![CDATA[", "<password a", "Q~", ":AA",
    " ", "The ferry to the island leaves at seven from the old pier. ",
)  # fmt: skip


def milliseconds(piece: str, length: int) -> float:
    """Return what masking ``piece``, repeated to ``length`` characters, takes."""
    text = piece * (length // len(piece))
    began = time.process_time()
    mask_formats(text, cut=True)
    return 1_000 * (time.process_time() - began)


def main() -> None:
    """Print a table."""
    print(f"{'milliseconds of CPU':32}" + "".join(f"{length:>10,}" for length in LENGTHS))
    for piece in PIECES:
        row = [milliseconds(piece, length) for length in LENGTHS]
        print(f"{piece[:30]!r:32}" + "".join(f"{value:10.1f}" for value in row))


if __name__ == "__main__":
    main()

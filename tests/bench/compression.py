"""CPU time of compressing one request of the pipe's benchmark: zlib as in gRPC's core, and ISA-L as we do.

Run with ``python tests/bench/compression.py``.
"""

from __future__ import annotations

import random
import statistics
import time
import zlib
from collections.abc import Callable

from isal import igzip
from pipe_requests import make_moulds

REQUESTS = 20
WAYS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("zlib, level 6", lambda body: zlib.compress(body, 6)),
    ("ISA-L, level 2", lambda body: igzip.compress(body, compresslevel=2)),
)


def main() -> None:
    """Print the table."""
    print(f"{'spans':12} {'kB':>5}  {'by':15} {'ms':>6} {'MB/s':>6} {'bytes out':>10}")
    for kind in ("plain", "rag"):
        source = random.Random(1)
        bodies = [mould.cast(source) for mould in make_moulds(kind, 1, REQUESTS)]
        size = statistics.fmean(map(len, bodies))
        for name, compress in WAYS:
            spent, out = [], 0
            for body in bodies:
                started = time.process_time()
                out += len(compress(body))
                spent.append(time.process_time() - started)
            taken = statistics.median(spent)
            share = out / sum(map(len, bodies))
            print(
                f"{kind:12} {size / 1000:>5.0f}  {name:15} {taken * 1000:>6.2f} {size / taken / 1e6:>6.0f} {share:>10.1%}"
            )


if __name__ == "__main__":
    main()

"""Split labelled run records into the half that rules-1 was tuned on, and the one held out.

``python tests/bench/halves.py FOLDER [FILE]`` writes ``design.jsonl`` and ``held_out.jsonl`` for
``otel-raglog evaluate``: the table of docs/detector.md. By default FILE is
../shared/data/runs/judged.jsonl.gz, which lies beside this project and is not part of it. A run is
of the design half when the SHA-256 of its group begins with an even byte.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from pathlib import Path

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "runs" / "judged.jsonl.gz"


def main() -> None:
    """Write both files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else sys.exit(__doc__)
    path = Path(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT
    if not path.exists():
        sys.exit(f"{path} is missing: it lies beside this project, not in it; name another file")
    opener = gzip.open if path.suffix == ".gz" else open
    halves: dict[str, list[str]] = {"design": [], "held_out": []}
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            digest = hashlib.sha256(str(record.get("group", record["id"])).encode()).digest()
            halves["held_out" if digest[0] % 2 else "design"].append(line)
    folder.mkdir(parents=True, exist_ok=True)
    for name, kept in halves.items():
        (folder / f"{name}.jsonl").write_text("".join(kept), encoding="utf-8")


if __name__ == "__main__":
    main()

"""A folder with an ONNX model and its tokenizer, each file checked, to a session that runs it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_raglog.errors import ConfigError

_MARK = re.compile(r"\[(CLS|SEP|PAD|MASK|UNK)\]")
MODEL_FILE, TOKENIZER_FILE = "model-int8.onnx", "tokenizer.json"


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A loaded model; ``session`` and ``tokenizer`` are objects of untyped libraries."""

    session: Any
    tokenizer: Any
    input_names: tuple[str, ...]


def load_onnx(folder: Path, what: str, *, intra_op_threads: int = 1) -> OnnxModel:
    """Return the model of ``folder``, on the CPU; ``what`` names it in errors.

    Raises:
        ConfigError: a file of the model is missing or is not the one of the manifest.
    """
    # Heavy libraries load with the model, so that importing the checks stays cheap.
    # onnxruntime (seen in 1.32) sends usage data to its makers and writes a device id into the
    # home folder unless this is set before it is imported. A telemetry sidecar must not.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # noqa: TID251  set, not read
    import onnxruntime as ort  # noqa: PLC0415
    from threadpoolctl import threadpool_limits  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    # Our matrices are small: threads would cost more than they save, and how a sum is split among
    # them, so its last bits, would depend on the number of cores.
    threadpool_limits(limits=1, user_api="blas")
    files = _verified_files(folder, what)
    options = ort.SessionOptions()
    options.intra_op_num_threads = intra_op_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(files[MODEL_FILE], options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_buffer(files[TOKENIZER_FILE])
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return OnnxModel(session, tokenizer, tuple(node.name for node in session.get_inputs()))


def _verified_files(folder: Path, what: str) -> dict[str, bytes]:
    """Read the model's files, each checked against the manifest's hash."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        expected: dict[str, str] = dict(manifest["sha256"])
        files = {name: (folder / name).read_bytes() for name in expected}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{what}: the model in {folder} cannot be read: {error}") from error
    for name, content in files.items():
        if hashlib.sha256(content).hexdigest() != expected[name]:
            raise ConfigError(
                f"{what}: {folder / name} is not the file of its manifest (sha256 differs)"
            )
    absent = {MODEL_FILE, TOKENIZER_FILE} - files.keys()
    if absent:
        raise ConfigError(f"{what}: the manifest in {folder} lacks {', '.join(sorted(absent))}")
    return files


def text_key(*texts: str) -> bytes:
    """Return a hash of texts, in order, to cache under."""
    found = hashlib.blake2b(digest_size=16)
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        found.update(len(content).to_bytes(8, "little"))
        found.update(content)
    return found.digest()


def readable_text(text: str) -> str:
    """Return ``text``, as long, without what is no text for a tokenizer.

    Lone surrogates, and the names of BERT's own marks, which it would take for the marks.
    """
    return _MARK.sub(r"(\1)", text.encode("utf-8", "replace").decode("utf-8"))

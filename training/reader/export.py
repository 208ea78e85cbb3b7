"""Writes a trained reader as the folder that the service loads: int8 ONNX, tokenizer, manifest."""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime as ort
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from training.reader.base import BUNDLED_MODEL, MODEL_FILE, TOKENIZER_FILE
from training.reader.limits import MAX_TOKENS
from training.reader.model import Reader
from training.reader.pairs import encode, load_tokenizer, padded

WEIGHTS = Path("build/reader/reader.pt")
FOLDER = Path("build/reader/reader-2")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUTS = ("bounds", "classes")
_OPSET = 17
_SAMPLES = (
    ("who wrote the book", "The book was written by Ada Lovelace in 1843."),
    ("who wrote the book", "Bern is the capital of Switzerland, and the seat of its government."),
    ("when did the war end? The war ended in 1918.", "The war began in 1914 and ended in 1918."),
    ("when did the war end? The war ended in 1914.", "The war began in 1914 and ended in 1918."),
    ("how tall is the tower in Paris", "height of the Eiffel tower"),
    ("how tall is the tower in Paris", "how old is the tower in Paris"),
)


def write_onnx(model: Reader, file: Path, tokenizer: Tokenizer) -> None:
    """Write the model with float weights, for any number of pairs and of tokens."""
    example = padded([encode(tokenizer, *pair) for pair in _SAMPLES[:2]])
    torch.onnx.export(
        model,
        example,
        file,
        input_names=list(INPUTS),
        output_names=list(OUTPUTS),
        dynamic_axes={
            **{name: {0: "batch", 1: "tokens"} for name in (*INPUTS, "bounds")},
            "classes": {0: "batch"},
        },
        opset_version=_OPSET,
        dynamo=False,
    )


def write_folder(model: Reader, folder: Path, tokenizer: Tokenizer, name: str) -> None:
    """Write the three files of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "model.onnx"
        write_onnx(model, plain, tokenizer)
        # Per channel: with one scale a matrix, the log-odds are more than twice as far off.
        quantize_dynamic(plain, folder / MODEL_FILE, weight_type=QuantType.QInt8, per_channel=True)
    tokenizer.save(str(folder / TOKENIZER_FILE), pretty=False)
    manifest = {
        "model": name,
        "licence": "Apache-2.0",
        "max_tokens": MAX_TOKENS,
        "sha256": {
            file: hashlib.sha256((folder / file).read_bytes()).hexdigest()
            for file in (MODEL_FILE, TOKENIZER_FILE)
        },
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")


def differences(
    model: Reader, folder: Path, tokenizer: Tokenizer
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield of each sample pair the classes of torch and of the file, and the largest difference.

    The difference is that of all log-odds, of bounds and classes.
    """
    session = ort.InferenceSession(folder / MODEL_FILE, providers=["CPUExecutionProvider"])
    for text, passage in _SAMPLES:
        # One at a time, as the service does: the int8 scales depend on all of a batch.
        inputs = padded([encode(tokenizer, text, passage)])
        with torch.no_grad():
            expected = [output.numpy() for output in model(*inputs)]
        feed = {name: value.numpy() for name, value in zip(INPUTS, inputs, strict=True)}
        found = session.run(list(OUTPUTS), feed)
        largest = max(
            float(np.abs(ours - theirs).max()) for ours, theirs in zip(expected, found, strict=True)
        )
        yield expected[1][0], found[1][0], largest


def main() -> None:
    """Export the reader, and show the file's size and what int8 changes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="file of train.py")
    parser.add_argument("--base", type=Path, default=BUNDLED_MODEL, help="folder of the MiniLM")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write")
    parser.add_argument("--name", default="otel-raglog/reader-2", help="model in the manifest")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = Reader(options.base)
    model.load_state_dict(torch.load(options.weights, weights_only=True))
    model.eval()
    tokenizer = load_tokenizer(options.base)
    write_folder(model, options.out, tokenizer, options.name)
    size = (options.out / MODEL_FILE).stat().st_size
    print(f"{options.out / MODEL_FILE}: {size / 1e6:.1f} MB")
    for expected, found, largest in differences(model, options.out, tokenizer):
        print(f"torch {expected.round(2)} int8 {found.round(2)} largest difference {largest:.3f}")


if __name__ == "__main__":
    main()

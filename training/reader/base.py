"""The bundled all-MiniLM-L6-v2 (int8 ONNX) as a torch model to train on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import BertConfig, BertModel

BUNDLED_MODEL = (
    Path(__file__).parents[2] / "otel_raglog" / "checks" / "similarity" / "all-MiniLM-L6-v2"
)
MODEL_FILE, TOKENIZER_FILE = "model-int8.onnx", "tokenizer.json"
_PREFIX = "m."
_QUANTIZED = "_quantized"


def load_base(folder: Path = BUNDLED_MODEL) -> BertModel:
    """Return the folder's model with float weights and without dropout.

    Raises:
        ValueError: the ONNX file does not hold exactly the weights of the model.
    """
    # Plain attention: the others cannot be traced for the export.
    config = BertConfig(
        **json.loads((folder / "config.json").read_text("utf-8"))
        | {"attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0},
        attn_implementation="eager",
    )
    bert = BertModel(config, add_pooling_layer=False)
    weights = {name: torch.tensor(weight) for name, weight in _weights(folder / MODEL_FILE)}
    absent, unknown = bert.load_state_dict(weights, strict=False)
    if absent or unknown:
        raise ValueError(f"{folder / MODEL_FILE}: absent {absent}, unknown {unknown}")
    return bert


def _weights(file: Path) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the model's weights by the names that torch has for them."""
    graph = onnx.load(file).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for name, value in stored.items():
        if not name.startswith(_PREFIX):
            continue
        if name.endswith(_QUANTIZED):
            whole = name.removesuffix(_QUANTIZED)
            yield whole.removeprefix(_PREFIX), _dequantized(whole, stored)
        elif value.dtype == np.float32 and not name.endswith("_scale"):
            yield name.removeprefix(_PREFIX), value
    # The export has no names for the weights of linear layers; the nodes that use them have, such
    # as /m/encoder/layer.0/attention/self/query/MatMul_quant.
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            (name,) = (i for i in node.input if i in stored and i.endswith(_QUANTIZED))
            layer = node.name.strip("/").split("/")[1:-1]
            weight = _dequantized(name.removesuffix(_QUANTIZED), stored)
            yield ".".join([*layer, "weight"]), weight.T


def _dequantized(name: str, stored: dict[str, np.ndarray]) -> np.ndarray:
    zero = stored[f"{name}_zero_point"].astype(np.float32)
    return (stored[f"{name}_quantized"].astype(np.float32) - zero) * stored[f"{name}_scale"]

"""Models in folders, checked before they run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from otel_raglog.checks.onnx import (
    MODEL_FILE,
    TOKENIZER_FILE,
    load_onnx,
    readable_text,
    text_key,
)
from otel_raglog.checks.similarity.encoder import BUNDLED_MODEL
from otel_raglog.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a model's folder."""
    for name in (MODEL_FILE, TOKENIZER_FILE, "manifest.json"):
        shutil.copy(BUNDLED_MODEL / name, tmp_path / name)
    return tmp_path


def test_a_model_is_loaded_with_its_tokenizer() -> None:
    """Texts have all their tokens: who needs fewer cuts them."""
    model = load_onnx(BUNDLED_MODEL, "encoder")
    assert set(model.input_names) == {"input_ids", "attention_mask", "token_type_ids"}
    assert len(model.tokenizer.encode("word " * 1_000, add_special_tokens=False).ids) == 1_000
    assert model.tokenizer.encode("word", add_special_tokens=False).tokens == ["word"]


@pytest.mark.parametrize("name", [MODEL_FILE, TOKENIZER_FILE])
def test_a_changed_file_is_refused(folder: Path, name: str) -> None:
    """By the manifest's hash, before anything is run; the message names model and file."""
    content = bytearray((folder / name).read_bytes())
    content[1_000] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ConfigError, match=rf"^encoder: .*{name} is not .*sha256 differs"):
        load_onnx(folder, "encoder")


@pytest.mark.parametrize("name", [MODEL_FILE, TOKENIZER_FILE, "manifest.json"])
def test_a_missing_file_is_refused(folder: Path, name: str) -> None:
    """The message names it."""
    (folder / name).unlink()
    with pytest.raises(ConfigError, match=rf"^encoder: .* cannot be read: .*{name}"):
        load_onnx(folder, "encoder")


@pytest.mark.parametrize("manifest", ["", "{", "[]", "{}", '{"sha256": 5}', '{"sha256": "abc"}'])
def test_a_broken_manifest_is_refused(tmp_path: Path, manifest: str) -> None:
    """Start fails loudly."""
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigError, match=r"^reader: the model in .* cannot be read"):
        load_onnx(tmp_path, "reader")


@pytest.mark.parametrize("name", [MODEL_FILE, TOKENIZER_FILE])
def test_no_file_is_loaded_that_the_manifest_lacks(folder: Path, name: str) -> None:
    """It would not be checked."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["sha256"][name]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match=f"lacks {name}"):
        load_onnx(folder, "encoder")


def test_sums_do_not_depend_on_the_number_of_cores() -> None:
    """Once a model is loaded, matrices are multiplied on one thread."""
    from threadpoolctl import threadpool_info

    load_onnx(BUNDLED_MODEL, "encoder")
    assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} <= {1}


def test_the_runtime_sends_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """onnxruntime would write a device id and a queue of usage data; we must not phone home."""
    environment = os.environ | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    code = (
        "from otel_raglog.checks.similarity.encoder import MiniLmEncoder\n"
        "MiniLmEncoder().encode(['one text'])"
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab",), ("ba",)),
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), ("b", "a")),
        (("a",), ("a", "")),
        (("",), ()),
        (("\ud800",), ("?",)),
        (("é",), ("e\u0301",)),
    ],
)
def test_a_key_is_of_these_texts_in_this_order(
    one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """Not of the text that they make together."""
    assert text_key(*one) == text_key(*one)
    assert text_key(*one) != text_key(*other)


@pytest.mark.parametrize("text", ["", "plain", "Łódź 🏖 \x00", "e\u0301"])
def test_text_is_readable_as_it_is(text: str) -> None:
    """Nothing is normalised."""
    assert readable_text(text) == text


def test_a_lone_surrogate_becomes_one_other_character() -> None:
    """Places in the text stay the same."""
    assert readable_text("a\ud83d\ude00b\udfff") == "a??b?"


def test_the_names_of_the_models_marks_are_words() -> None:
    """A passage with a mark's name in it cannot end the text beside it; offsets stay."""
    text = "a [SEP] b [CLS] [mask] [SEPT]"
    assert readable_text(text) == "a (SEP) b (CLS) [mask] [SEPT]"
    tokenizer = load_onnx(BUNDLED_MODEL, "test").tokenizer
    ids = tokenizer.encode(readable_text("a [SEP] b"), add_special_tokens=False).ids
    assert not {101, 102} & set(ids)

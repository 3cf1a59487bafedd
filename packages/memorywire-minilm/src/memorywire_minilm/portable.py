"""The encoder in numpy: bit-identical to the C kernel, for any machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memorywire_minilm.layout import HEADS, HIDDEN, LAYERS, TOKEN, TOKEN_STEPS, Encoding, sections

Floats = NDArray[np.float32]
Product = Callable[[Floats], Floats]

EPSILON: Final = np.float32(1e-12)
HALF: Final = np.float32(0.5)
ONE: Final = np.float32(1)
WIDTH: Final = np.float32(HIDDEN)
LANES: Final = 8
HEAD: Final = HIDDEN // HEADS

# Quantization steps: of rows before a matrix, and inside attention (kernel.c gives the reasons).
ROW_STEPS: Final = np.float32(127)
KEY_STEPS: Final = np.float32(700)
VALUE_STEPS: Final = np.float32(1000)
COUNT_STEPS: Final = np.float32(65_535)
WEIGHT_STEPS: Final = np.float32(16_383)

# 127 * 127 * 768 is below 2 ** 24, so a float32 holds any sum of that many products exactly.
EXACT_INPUTS: Final = 768

POWER: Final = (9.66636852e-3, 5.59219758e-2, 2.4022349e-1, 6.93121045e-1, 1.0)
GAUSS: Final = (
    2.27812705e-8,
    -1.59859331e-6,
    4.7955333e-5,
    -8.14013593e-4,
    8.77237883e-3,
    -6.45730893e-2,
    3.97883334e-1,
)


class Matrix:
    """A linear map with 8-bit weights, applied to rows quantised to 8 bits.

    Each row is quantised between its minimum and maximum.
    """

    def __init__(
        self, arrays: dict[str, Floats], name: str, open_product: Callable[[Floats], Product]
    ) -> None:
        packed = arrays[name]
        lines, groups, channels, inputs = packed.shape
        unpacked = packed.transpose(0, 2, 1, 3).reshape(lines * channels, groups * inputs)
        self._product = open_product(unpacked.T.astype(np.float32, order="C"))
        self._scale = arrays[f"{name}.scale"]
        self._bias = arrays[f"{name}.bias"]
        self._sum = arrays[f"{name}.sum"].astype(np.float32)

    def __call__(self, rows: Floats) -> Floats:
        least, most = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
        middle, reach = (most + least) * HALF, (most - least) * HALF
        steps, size = in_steps(rows - middle, ROW_STEPS, reach)
        outputs: Floats = (self._product(steps) * size + self._sum * middle) * self._scale + self._bias
        return outputs


def open_float_product(weights: Floats) -> Product:
    """Return a function that multiplies integer rows by these weights in blocks with exact sums in BLAS."""
    blocks = np.split(weights, -(-len(weights) // EXACT_INPUTS))

    def multiply(steps: Floats) -> Floats:
        parts = np.split(steps, len(blocks), axis=1)
        product: Floats = parts[0] @ blocks[0]
        for part, block in zip(parts[1:], blocks[1:], strict=True):
            product += part @ block
        return product

    return multiply


class Norm:
    """Layer normalisation of each row."""

    def __init__(self, arrays: dict[str, Floats], name: str) -> None:
        self._weight = arrays[f"{name}.weight"]
        self._bias = arrays[f"{name}.bias"]

    def __call__(self, rows: Floats) -> Floats:
        centred = rows - total(rows) / WIDTH
        shrink: Floats = ONE / np.sqrt(total(centred * centred) / WIDTH + EPSILON)
        return centred * shrink * self._weight + self._bias


class Layer:
    """One transformer layer."""

    def __init__(
        self, arrays: dict[str, Floats], index: int, open_product: Callable[[Floats], Product]
    ) -> None:
        self._qkv = Matrix(arrays, f"{index}.qkv", open_product)
        self._attended = Matrix(arrays, f"{index}.attended", open_product)
        self._attended_norm = Norm(arrays, f"{index}.attended.norm")
        self._inner = Matrix(arrays, f"{index}.inner", open_product)
        self._outer = Matrix(arrays, f"{index}.outer", open_product)
        self._outer_norm = Norm(arrays, f"{index}.outer.norm")

    def __call__(self, rows: Floats) -> Floats:
        rows = self._attended_norm(rows + self._attended(attend(self._qkv(rows))))
        return self._outer_norm(rows + self._outer(gelu(self._inner(rows))))


class PortableKernel:
    """Embeds rows of token ids with numpy, one at a time."""

    def __init__(
        self,
        weights: memoryview,
        head: bytes | None,
        name: str = "numpy",
        open_product: Callable[[Floats], Product] = open_float_product,
    ) -> None:
        """`weights` is a complete weights file, as in `layout`. Without a `head`, texts have no
        tokens.
        """
        self.name = name
        self._head = None if head is None else np.frombuffer(head, "<f4").reshape(HIDDEN, TOKEN)
        arrays = {
            section.name: np.frombuffer(
                weights[section.offset : section.offset + section.size], section.type
            ).reshape(section.shape)
            for section in sections()
        }
        self._words = arrays["words"]
        self._scale = arrays["words.scale"]
        self._positions = arrays["positions"]
        self._norm = Norm(arrays, "norm")
        self._layers = [Layer(arrays, index, open_product) for index in range(LAYERS)]

    def embed(self, rows: Sequence[Sequence[int]]) -> list[Encoding]:
        """Return the vector of each row, and the directions of its tokens."""
        encoded, head = map(self.encode, rows), self._head
        return [
            Encoding(pool(states), b"" if head is None else project(states[1:-1], head)) for states in encoded
        ]

    def begin(self, rows: Sequence[Sequence[int]]) -> Callable[[], list[Encoding]]:
        """Return a function that embeds these rows when called: numpy has no background thread."""
        return lambda: self.embed(rows)

    def encode(self, ids: Sequence[int]) -> Floats:
        """Return the state of each token after the last layer."""
        chosen = np.asarray(ids, np.intp)
        words = self._words[chosen] * self._scale[chosen, None]
        rows = self._norm(words + self._positions[: len(chosen)])
        for layer in self._layers:
            rows = layer(rows)
        return rows


def pool(rows: Floats) -> bytes:
    """Return the sum of a text's rows, scaled to length one."""
    pooled = rows.sum(axis=0, keepdims=True)
    unit: Floats = pooled * (ONE / np.sqrt(total(pooled * pooled)))
    return unit.astype("<f4").tobytes()


def project(rows: Floats, head: Floats) -> bytes:
    """Return the directions of rows in `TOKEN` bytes each; sums run from first to last input, as in C."""
    outputs = np.zeros((len(rows), TOKEN), np.float32)
    for column, line in zip(rows.T, head, strict=True):
        outputs += column[:, None] * line
    lengths = np.sqrt(total(outputs * outputs))
    rates = np.divide(np.float32(TOKEN_STEPS), lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return np.rint(outputs * rates).astype(np.int8).tobytes()


def total(rows: Floats) -> Floats:
    """Return the sum of each row, added in the order of the C kernel: 8 lanes, then across."""
    lanes = rows.reshape(len(rows), rows.shape[1] // LANES, LANES).sum(axis=1)
    across: Floats = np.add.accumulate(lanes, axis=1)[:, -1:]
    return across


def in_steps(values: Floats, steps: np.float32, reach: Floats) -> tuple[Floats, Floats]:
    """Return `values` as integers, with `steps` for the magnitude `reach`, and the size of a step."""
    rate = np.divide(steps, reach, out=np.zeros_like(reach), where=reach > 0)
    return np.rint(values * rate), reach / steps


def peak(values: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return the largest absolute value along `axis`."""
    greatest: Floats = np.abs(values).max(axis=axis, keepdims=True)
    return greatest


def attend(qkv: Floats) -> Floats:
    """Return the attention output of each token; queries are scaled for powers of two.

    The integers are so small that float32 sums of their products are exact in any order.
    """
    heads = qkv.reshape(len(qkv), 3, HEADS, HEAD).transpose(1, 2, 0, 3)
    queries, query_size = in_steps(heads[0], KEY_STEPS, peak(heads[0], axis=2))
    keys, key_size = in_steps(heads[1], KEY_STEPS, peak(heads[1], axis=2))
    values, value_size = in_steps(heads[2], VALUE_STEPS, peak(heads[2], axis=(1, 2)))
    scores = queries @ keys.transpose(0, 2, 1) * query_size * key_size.transpose(0, 2, 1)
    context = soften(scores) @ values * (value_size / WEIGHT_STEPS)
    return context.transpose(1, 0, 2).reshape(len(qkv), HIDDEN)


def soften(scores: Floats) -> Floats:
    """Return integer weights for each row that add up to about `WEIGHT_STEPS`."""
    powers = power_of_two(scores - scores.max(axis=2, keepdims=True))
    counts = np.rint(powers * COUNT_STEPS)
    weights: Floats = np.rint(counts * (WEIGHT_STEPS / counts.sum(axis=2, keepdims=True)))
    return weights


def power_of_two(values: Floats) -> Floats:
    """Return two to the power of numbers that are not positive, accurate to 18 bits."""
    bounded = np.maximum(values, np.float32(-126))
    whole = np.rint(bounded)
    share = polynomial(bounded - whole, POWER)
    exponent = whole.astype(np.int32) << 23
    return (share.view(np.int32) + exponent).view(np.float32)


def gelu(values: Floats) -> Floats:
    """Return the Gaussian error linear unit, accurate to 0.0002: a hundredth of an 8-bit step."""
    near = np.clip(values, -4, 4)
    return values * (polynomial(near * near, GAUSS) * near + HALF)


def polynomial(values: Floats, factors: Sequence[float]) -> Floats:
    """Evaluate the polynomial with these factors, the highest power first."""
    result = values * np.float32(factors[0])
    for factor in factors[1:-1]:
        result += np.float32(factor)
        result *= values
    result += np.float32(factors[-1])
    return result

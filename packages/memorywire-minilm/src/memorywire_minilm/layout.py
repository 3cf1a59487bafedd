"""The offsets of the arrays in the weights file."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

VOCABULARY = 30_522
POSITIONS = 256
HIDDEN = 384
INNER = 1_536
LAYERS = 6
TASK_LAYER = 4  # the first layer that differs in the task encoder
HEADS = 12
TOKEN = 64  # bytes per token direction
TOKEN_STEPS = 127

# A kernel reads 16 output channels of 4 inputs each as one 64-byte line.
CHANNELS = 16
INPUTS = 4

ALIGNMENT = 64
HEADER = struct.pack("<8s7I", b"MWMINILM", 1, VOCABULARY, POSITIONS, HIDDEN, INNER, LAYERS, HEADS).ljust(
    ALIGNMENT, b"\0"
)

MATRICES = {
    "qkv": (3 * HIDDEN, HIDDEN),
    "attended": (HIDDEN, HIDDEN),
    "inner": (INNER, HIDDEN),
    "outer": (HIDDEN, INNER),
}


class Encoding(NamedTuple):
    """The output of a kernel: 384 float32 of length one, little-endian, and `TOKEN` signed bytes for each
    token, of which `TOKEN_STEPS` stand for length one."""

    vector: bytes
    tokens: bytes


class Section(NamedTuple):
    """One array of the file: little-endian, row-major, starting at `offset`."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """The size of the array in bytes."""
        return prod(self.shape) * int(self.type[-1])


def sections() -> list[Section]:
    """Return all arrays of the file, in order."""
    found: list[Section] = []
    offset = len(HEADER)
    for name, kind, shape in _arrays():
        section = Section(name, kind, shape, offset)
        found.append(section)
        offset = _aligned(offset + section.size)
    return found


def file_size() -> int:
    """Return the size of a complete weights file in bytes."""
    last = sections()[-1]
    return _aligned(last.offset + last.size)


def layers_offset() -> int:
    """Return the offset of the layers; the token embeddings are before it."""
    return next(section.offset for section in sections() if section.name == "0.qkv")


def task_offset() -> int:
    """Return the offset of the layers that differ in the task encoder; they extend to the end of the file."""
    return next(section.offset for section in sections() if section.name == f"{TASK_LAYER}.qkv")


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _arrays() -> Iterator[tuple[str, str, tuple[int, ...]]]:
    yield "words", "<i1", (VOCABULARY, HIDDEN)
    yield "words.scale", "<f4", (VOCABULARY,)
    yield "positions", "<f4", (POSITIONS, HIDDEN)
    yield from _norm("norm")
    for layer in range(LAYERS):
        yield from _matrix(f"{layer}.qkv")
        yield from _matrix(f"{layer}.attended")
        yield from _norm(f"{layer}.attended.norm")
        yield from _matrix(f"{layer}.inner")
        yield from _matrix(f"{layer}.outer")
        yield from _norm(f"{layer}.outer.norm")


def _matrix(name: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    outputs, inputs = MATRICES[name.split(".")[1]]
    yield name, "<i1", (outputs // CHANNELS, inputs // INPUTS, CHANNELS, INPUTS)
    yield f"{name}.scale", "<f4", (outputs,)
    yield f"{name}.bias", "<f4", (outputs,)
    yield f"{name}.sum", "<i4", (outputs,)


def _norm(name: str) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    yield f"{name}.weight", "<f4", (HIDDEN,)
    yield f"{name}.bias", "<f4", (HIDDEN,)

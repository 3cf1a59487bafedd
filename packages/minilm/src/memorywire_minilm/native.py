"""The encoder in C, when this installation has it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from ctypes import CDLL, byref, c_char, c_float, c_int, c_int32, c_void_p
from importlib.machinery import EXTENSION_SUFFIXES
from mmap import mmap
from pathlib import Path

from memorywire_minilm.layout import HEADER, HIDDEN

# In the order of the kernel's levels.
LEVELS = ("c", "avx2", "avx512-vnni")


class NativeKernel:
    """Embeds one row of token ids at a time in C, leaving other threads free to run."""

    def __init__(self, library: CDLL, name: str, weights: mmap) -> None:
        """`weights` is a whole weights file, mapped so that it may be written to."""
        self.name = name
        self._level = LEVELS.index(name)
        self._weights = c_char.from_buffer(weights, len(HEADER))
        self._embed = library.minilm_embed
        self._embed.argtypes = (c_void_p, c_void_p, c_int, c_int, c_void_p)

    def embed(self, ids: Sequence[int]) -> bytes:
        """The vector of one text: 384 float32 of length one, little-endian."""
        row = (c_int32 * len(ids))(*ids)
        vector = (c_float * HIDDEN)()
        if not self._embed(byref(self._weights), row, len(ids), self._level, vector):
            raise MemoryError(f"no memory to embed {len(ids)} tokens")
        return bytes(vector)


def find_library() -> CDLL | None:
    """The compiled kernel, or None when it was not built or cannot run here."""
    if sys.byteorder != "little":
        return None
    folder = Path(__file__).parent
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"_kernel{suffix}"
        if path.exists():
            return CDLL(str(path))
    return None


def levels(library: CDLL | None) -> tuple[str, ...]:
    """The names of the kernels in `library` that this processor can run."""
    return LEVELS[: library.minilm_level() + 1] if library else ()

"""Loads the model and embeds texts with the fastest kernel this machine can run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import file_digest
from itertools import compress
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import Protocol

from memorywire_minilm.layout import HEADER, POSITIONS, file_size, task_offset
from memorywire_minilm.native import NativeKernel, find_library, levels, processors
from memorywire_minilm.tokenizer import Tokenizer
from memorywire_minilm.vocabulary import Vocabulary

MODEL = "all-MiniLM-L6-v2"
REVISION = "int8-1"
DIMENSION = 384

# Numpy's matrix products are faster than plain C.
PREFERRED = ("avx512-vnni", "avx2", "numpy", "c")

DATA = Path(__file__).parent / "data"
WEIGHTS = DATA / "weights.bin"
VOCABULARY = DATA / "vocab.txt"
TABLE = DATA / "vocab.bin"
TASKS = DATA / "tasks.bin"
DIGESTS = {
    WEIGHTS: "f7391fa2f6e45ae351ed86a893414c8088bb2055f6a58c0eaa3b4a732ea88eae",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    TABLE: "5729391a7fcb34b718c6f84cfc73232ca940fa28d05a532fe91ef2a6fab47166",
    TASKS: "8b111e5d8c2148e19756982a3b421204ca9eb04fa21b0b2b89c1bf4c1b0ef461",
}


class ModelDamaged(Exception):
    """A file of the model is missing or is not the one that was published."""


class KernelUnavailable(Exception):
    """The kernel asked for is unknown, or this machine cannot run it."""


class Kernel(Protocol):
    """Embeds rows of token ids."""

    @property
    def name(self) -> str:
        """What the kernel is called in `kernels`."""

    def embed(self, rows: Sequence[Sequence[int]]) -> list[bytes]:
        """A vector for each row: 384 float32 of length one, little-endian."""

    def begin(self, rows: Sequence[Sequence[int]]) -> Callable[[], list[bytes]]:
        """What gives these vectors when it is called, once; they may be made meanwhile."""


class Model:
    """Turns texts into vectors; safe to share between threads."""

    def __init__(self, tokenizer: Tokenizer, kernel: Kernel) -> None:
        self._tokenizer = tokenizer
        self._kernel = kernel

    @property
    def kernel(self) -> str:
        """The name of the kernel in use."""
        return self._kernel.name

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text: 384 float32 of length one, little-endian.

        A vector depends on its text alone, of which the first 256 tokens count, and is the same
        to the bit with every kernel. A text that the model mostly cannot read, such as emoji or
        another script, has no direction: its vector is zero, and so is its cosine with anything.
        """
        rows, readable = self._read(texts)
        return _fill_unreadable(readable, self._kernel.embed(rows))

    def begin(self, texts: Sequence[str]) -> Callable[[], list[bytes]]:
        """What gives the vectors of `embed` when it is called, once.

        Those of a text or two are made meanwhile, where the machine has a second processor.
        """
        rows, readable = self._read(texts)
        finish = self._kernel.begin(rows)
        return lambda: _fill_unreadable(readable, finish())

    def _read(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """The rows of the texts that the model can read, and which of the texts these are."""
        rows = [self._tokenizer.encode(text) for text in texts]
        readable = [self._tokenizer.is_readable(row) for row in rows]
        return list(compress(rows, readable)), readable


def _fill_unreadable(readable: Sequence[bool], vectors: Iterable[bytes]) -> list[bytes]:
    """The vectors of the readable texts, with zero vectors for the others in between."""
    remaining = iter(vectors)
    return [next(remaining) if is_readable else bytes(4 * DIMENSION) for is_readable in readable]


def load(kernel: str | None = None, *, threads: int | None = None, tasks: bool = False) -> Model:
    """The model, ready to embed; `kernel` names one of `kernels()` instead of the best.

    With `tasks` it reads a text as a task: its vector lies near the vectors that the plain model gives to
    what helps with the task. Texts to be found are always embedded by the plain model.

    When few texts are embedded by a compiled kernel, and a processor is free, a second thread takes part;
    with `threads` 1 it never does.

    Raises `ModelDamaged` when the weights cannot be these, by size and opening bytes.
    """
    tokenizer = Tokenizer(load_vocabulary(), POSITIONS)
    return Model(tokenizer, open_kernel(kernel or kernels()[0], threads, tasks=tasks))


def kernels() -> tuple[str, ...]:
    """The kernels this machine can run, the fastest first."""
    runnable = {"numpy", *levels(find_library())}
    return tuple(name for name in PREFERRED if name in runnable)


def verify() -> None:
    """Raises `ModelDamaged` unless every byte of the model is as published."""
    for path, expected in DIGESTS.items():
        try:
            with path.open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelDamaged(f"{path.name} cannot be read: {error.strerror}") from error
        if digest != expected:
            raise ModelDamaged(f"{path.name} has the digest {digest}, expected {expected}")


def load_vocabulary() -> Vocabulary:
    """The word pieces; raises `ModelDamaged` when their files cannot be read or do not belong together."""
    try:
        return Vocabulary(VOCABULARY.read_bytes(), TABLE.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelDamaged(f"{VOCABULARY.name} and {TABLE.name} cannot be read: {error}") from error


def open_kernel(name: str, threads: int | None = None, *, tasks: bool = False) -> Kernel:
    """The kernel of this name, with the weights mapped into memory."""
    weights = map_task_weights() if tasks else map_weights()
    library = find_library()
    if library and name in levels(library):
        most = processors()
        return NativeKernel(library, name, weights, min(threads or most, most))
    if name != "numpy":
        raise KernelUnavailable(f"kernel {name!r} cannot run here, only {', '.join(kernels())}")
    # Imported here, so that the C kernel needs no numpy.
    from memorywire_minilm.portable import PortableKernel

    return PortableKernel(memoryview(weights))


def map_weights() -> mmap:
    """The weights file in memory, shared with other processes until written to."""
    try:
        with WEIGHTS.open("rb") as file:
            weights = mmap(file.fileno(), 0, access=ACCESS_COPY)
    except (OSError, ValueError) as error:
        raise ModelDamaged(f"{WEIGHTS.name} cannot be read: {error}") from error
    if len(weights) != file_size() or weights[: len(HEADER)] != HEADER:
        raise ModelDamaged(f"{WEIGHTS.name} is not a weights file of this version")
    return weights


def map_task_weights() -> mmap:
    """As `map_weights`, with the last layers of the encoder of tasks; the other pages stay shared."""
    weights, start = map_weights(), task_offset()
    try:
        layers = TASKS.read_bytes()
    except OSError as error:
        raise ModelDamaged(f"{TASKS.name} cannot be read: {error}") from error
    if len(layers) != file_size() - start:
        raise ModelDamaged(f"{TASKS.name} does not belong to {WEIGHTS.name}")
    weights[start:] = layers
    return weights

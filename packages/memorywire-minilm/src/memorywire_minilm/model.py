"""Loads the model and embeds texts with the fastest kernel that this machine can run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import file_digest
from importlib.util import find_spec
from itertools import compress
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import Protocol

from memorywire_minilm.layout import HEADER, HIDDEN, POSITIONS, TOKEN, Encoding, file_size, task_offset
from memorywire_minilm.native import NativeKernel, find_library, levels, processors
from memorywire_minilm.tokenizer import Tokenizer
from memorywire_minilm.vocabulary import Vocabulary

MODEL = "all-MiniLM-L6-v2"
REVISION = "int8-1"
DIMENSION = 384

# The matrix products of numpy and of onnxruntime are faster than plain C.
PREFERRED = ("avx512-vnni", "avx2", "neon-i8mm", "neon-dotprod", "neon", "onnx", "numpy", "c")

DATA = Path(__file__).parent / "data"
WEIGHTS = DATA / "weights.bin"
VOCABULARY = DATA / "vocab.txt"
TABLE = DATA / "vocab.bin"
TASKS = DATA / "tasks.bin"
HEAD = DATA / "tokens.bin"
DIGESTS = {
    WEIGHTS: "f7391fa2f6e45ae351ed86a893414c8088bb2055f6a58c0eaa3b4a732ea88eae",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    TABLE: "5729391a7fcb34b718c6f84cfc73232ca940fa28d05a532fe91ef2a6fab47166",
    HEAD: "eca928d5ed18a07592e134b52489fa84c7185cecd0e295554882431075b79995",
    TASKS: "8b111e5d8c2148e19756982a3b421204ca9eb04fa21b0b2b89c1bf4c1b0ef461",
}


class ModelDamaged(Exception):
    """A model file is missing or differs from the published one."""


class KernelUnavailable(Exception):
    """The requested kernel is unknown, or this machine cannot run it."""


class Kernel(Protocol):
    """Embeds rows of token ids."""

    @property
    def name(self) -> str:
        """The name of the kernel in `kernels`."""

    def embed(self, rows: Sequence[Sequence[int]]) -> list[Encoding]:
        """Return the vector of each row, and the directions of its tokens."""

    def begin(self, rows: Sequence[Sequence[int]]) -> Callable[[], list[Encoding]]:
        """Start embedding; return a function that returns the result of `embed`, to be called once."""


class Reading(bytes):
    """The vector of a text, 384 float32 of length one, with the directions of its tokens.

    `tokens` has `TOKEN` signed bytes for each token. It is empty for a text that the model mostly cannot
    read, and if tokens were not requested.
    """

    tokens: bytes
    text: str

    @classmethod
    def of(cls, text: str, vector: bytes, tokens: bytes) -> Reading:
        reading = cls(vector)
        reading.tokens, reading.text = tokens, text
        return reading

    @property
    def words(self) -> list[str]:
        """The word of each token, in lower case."""
        return load_tokenizer().words(self.text)[: len(self.tokens) // TOKEN]


class Model:
    """Embeds texts; safe to share between threads."""

    def __init__(self, tokenizer: Tokenizer, kernel: Kernel) -> None:
        self._tokenizer = tokenizer
        self._kernel = kernel

    @property
    def kernel(self) -> str:
        """The name of the kernel in use."""
        return self._kernel.name

    def embed(self, texts: Sequence[str]) -> list[Reading]:
        """Return a vector for each text: 384 float32 of length one, little-endian.

        A vector depends only on the first 256 tokens of its text, and is bit-identical with every kernel.
        A text that the model mostly cannot read, such as emoji or another script, gets a zero vector, whose
        cosine with any vector is zero.
        """
        rows = [self._tokenizer.encode(text) for text in texts]
        readable = [*map(self._tokenizer.is_readable, rows)]
        return _read(texts, readable, self._kernel.embed([*compress(rows, readable)]))

    def begin(self, texts: Sequence[str]) -> Callable[[], list[Reading]]:
        """Start embedding; return a function that returns the result of `embed`, to be called once.

        One or two texts are embedded in the background if the machine has a second processor.
        """
        rows = [self._tokenizer.encode(text) for text in texts]
        readable = [*map(self._tokenizer.is_readable, rows)]
        finish = self._kernel.begin([*compress(rows, readable)])
        return lambda: _read(texts, readable, finish())


def _read(texts: Sequence[str], readable: Sequence[bool], encodings: Iterable[Encoding]) -> list[Reading]:
    """Return a Reading for each text, with a zero vector for unreadable ones."""
    remaining, unread = iter(encodings), Encoding(bytes(4 * DIMENSION), b"")
    return [
        Reading.of(text, *(next(remaining) if is_readable else unread))
        for text, is_readable in zip(texts, readable, strict=True)
    ]


def load(
    kernel: str | None = None, *, threads: int | None = None, tasks: bool = False, tokens: bool = True
) -> Model:
    """Load the model; `kernel` names one of `kernels()` instead of the fastest.

    With `tasks` it embeds texts as tasks: the vector of a task is close to the plain model's vectors of texts
    that help with it. Embed the texts to be found with the plain model. Tasks have no tokens, and neither
    have other texts without `tokens`.

    A compiled kernel uses a second thread for a few texts if a processor is free; never with `threads` 1.

    Raises `ModelDamaged` if the weights file has the wrong size or header.
    """
    name, has_tokens = kernel or kernels()[0], tokens and not tasks
    return Model(load_tokenizer(), open_kernel(name, threads, tasks=tasks, tokens=has_tokens))


@cache
def load_tokenizer() -> Tokenizer:
    """Return the tokenizer, shared by all models. Raises like `load_vocabulary`."""
    return Tokenizer(load_vocabulary(), POSITIONS)


def kernels() -> tuple[str, ...]:
    """Return the kernels that this machine can run, fastest first."""
    runnable = {"numpy", *levels(find_library())}
    if find_spec("onnxruntime") is not None:
        runnable.add("onnx")
    return tuple(name for name in PREFERRED if name in runnable)


def verify() -> None:
    """Raise `ModelDamaged` unless every file of the model has its published digest."""
    for path, expected in DIGESTS.items():
        try:
            with path.open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelDamaged(f"{path.name} cannot be read: {error.strerror}") from error
        if digest != expected:
            raise ModelDamaged(f"{path.name} has the digest {digest}, expected {expected}")


def load_vocabulary() -> Vocabulary:
    """Load the word pieces. Raises `ModelDamaged` if their files cannot be read or do not match."""
    try:
        return Vocabulary(VOCABULARY.read_bytes(), TABLE.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelDamaged(f"{VOCABULARY.name} and {TABLE.name} cannot be read: {error}") from error


def open_kernel(name: str, threads: int | None = None, *, tasks: bool = False, tokens: bool = True) -> Kernel:
    """Open the kernel with this name, its weights mapped into memory. Raises KernelUnavailable."""
    weights = map_task_weights() if tasks else map_weights()
    head = read_head() if tokens else None
    library = find_library()
    if library and name in levels(library):
        most = processors()
        return NativeKernel(library, name, weights, head, min(threads or most, most))
    if name not in kernels():
        raise KernelUnavailable(f"kernel {name!r} cannot run here, only {', '.join(kernels())}")
    # Imported here, so that the C kernel needs no numpy.
    from memorywire_minilm.portable import PortableKernel

    if name == "onnx":
        from memorywire_minilm.onnx import open_product

        return PortableKernel(memoryview(weights), head, name, open_product)
    return PortableKernel(memoryview(weights), head)


def read_head() -> bytes:
    """Return the float32 matrix that maps the state of a token to its direction, a row for each input."""
    try:
        head = HEAD.read_bytes()
    except OSError as error:
        raise ModelDamaged(f"{HEAD.name} cannot be read: {error}") from error
    if len(head) != 4 * HIDDEN * TOKEN:
        raise ModelDamaged(f"{HEAD.name} is not a token head of this version")
    return head


def map_weights() -> mmap:
    """Map the weights file into memory, shared with other processes until written to."""
    try:
        with WEIGHTS.open("rb") as file:
            weights = mmap(file.fileno(), 0, access=ACCESS_COPY)
    except (OSError, ValueError) as error:
        raise ModelDamaged(f"{WEIGHTS.name} cannot be read: {error}") from error
    if len(weights) != file_size() or weights[: len(HEADER)] != HEADER:
        raise ModelDamaged(f"{WEIGHTS.name} is not a weights file of this version")
    return weights


def map_task_weights() -> mmap:
    """Like `map_weights`, with the last layers of the task encoder; the other pages stay shared."""
    weights, start = map_weights(), task_offset()
    try:
        layers = TASKS.read_bytes()
    except OSError as error:
        raise ModelDamaged(f"{TASKS.name} cannot be read: {error}") from error
    if len(layers) != file_size() - start:
        raise ModelDamaged(f"{TASKS.name} does not belong to {WEIGHTS.name}")
    weights[start:] = layers
    return weights

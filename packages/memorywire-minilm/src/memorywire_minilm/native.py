"""The encoder in C, if this installation includes it."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from ctypes import CDLL, addressof, c_char, c_char_p, c_int, c_void_p
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from mmap import PAGESIZE, mmap
from pathlib import Path

from memorywire_minilm.layout import HEADER, HIDDEN, TOKEN, Encoding, layers_offset

# Rows per pass over the weights. Such a small batch is usually a query that a caller waits for, so a second
# thread may help. `embed` splits longer lists.
TOGETHER = 2

VECTOR = 4 * HIDDEN  # bytes

LARGE_PAGE = 1 << 21
LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class NativeKernel:
    """Embeds rows of token ids in C, without holding the GIL."""

    def __init__(self, library: CDLL, name: str, weights: mmap, head: bytes | None, threads: int) -> None:
        """`weights` is a complete weights file, mapped writable. Without a `head`, texts have no
        tokens.
        """
        self.name = name
        self._level = levels(library).index(name)
        self._threads = threads
        self._table = c_char.from_buffer(weights, len(HEADER))
        self._layers = in_large_pages(weights) or c_char.from_buffer(weights, layers_offset())
        self._weights = (addressof(self._table), addressof(self._layers))
        self._head = None if head is None else array("f", head)
        self._embed, self._begin = library.minilm_embed, library.minilm_begin
        self._embed.argtypes = (c_void_p,) * 4 + (c_int,) * 3 + (c_void_p,) * 3
        self._begin.argtypes, self._begin.restype = (c_void_p,) * 4 + (c_int,) * 3, c_void_p
        self._finish = library.minilm_finish
        self._finish.argtypes, self._finish.restype = (c_void_p,) * 4, None

    def embed(self, rows: Sequence[Sequence[int]]) -> list[Encoding]:
        """Return the vector of each row, and the directions of its tokens."""
        return [encoding for part in self._parts(rows) for encoding in part.encodings()]

    def begin(self, rows: Sequence[Sequence[int]]) -> Callable[[], list[Encoding]]:
        """Start embedding a few rows in a second thread; return a function that returns the result."""
        if not 0 < len(rows) <= TOGETHER or self._threads < 2:
            return partial(self.embed, rows)
        output = _Output(rows, self._head)
        given = (*self._weights, *output.inputs, len(rows), self._level, self._threads)
        job = self._begin(*given)
        return partial(self.embed, rows) if job is None else _Begun(self._finish, job, output)

    def _parts(self, rows: Sequence[Sequence[int]]) -> Iterator[_Output]:
        threads = self._threads if len(rows) <= TOGETHER else 1
        for first in range(0, len(rows), TOGETHER):
            output = _Output(rows[first : first + TOGETHER], self._head)
            given = (*self._weights, *output.inputs, output.count, self._level, threads)
            done = self._embed(*given, *output.targets)
            if done < 0:
                raise ValueError("a row must have 1 to 256 tokens of the vocabulary")
            if not done:
                raise MemoryError(f"no memory to embed {len(output.ids)} tokens")
            yield output


class _Output:
    """The input and output buffers of one call; without a `head` only vectors are returned."""

    def __init__(self, rows: Sequence[Sequence[int]], head: array[float] | None) -> None:
        self.count = len(rows)
        self.ids, self._starts = _in_a_row(rows)
        self._head = head
        self._vectors = array("f", bytes(VECTOR * len(rows)))
        self._tokens = array("b", bytes(0 if head is None else TOKEN * len(self.ids)))

    @property
    def inputs(self) -> tuple[int, int]:
        return _address(self.ids), _address(self._starts)

    @property
    def targets(self) -> tuple[int, int | None, int | None]:
        vectors = _address(self._vectors)
        if self._head is None:
            return vectors, None, None
        return vectors, _address(self._head), _address(self._tokens)

    def encodings(self) -> list[Encoding]:
        """Return the encodings, without the tokens [CLS] and [SEP]."""
        vectors, tokens, starts = self._vectors.tobytes(), self._tokens.tobytes(), self._starts
        return [
            Encoding(
                vectors[VECTOR * text : VECTOR * (text + 1)],
                tokens[TOKEN * (starts[text] + 1) : TOKEN * (starts[text + 1] - 1)],
            )
            for text in range(self.count)
        ]


class _Begun:
    """Rows that a second thread is embedding; the job must be finished even if no caller waits for it."""

    def __init__(self, finish: Callable[..., None], job: int, output: _Output) -> None:
        self._finish = finish
        self._job: int | None = job
        self._output = output  # keeps the buffers alive while the thread uses them

    def __call__(self) -> list[Encoding]:
        """Wait for the job and return the encodings; to be called once."""
        job, self._job = self._job, None
        vectors, head, tokens = self._output.targets
        self._finish(job, vectors, head, tokens)
        return self._output.encodings()

    def __del__(self) -> None:
        if self._job is not None:
            self()


def _in_a_row(rows: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Return the concatenated ids, and the offsets of the rows with the end of the last one."""
    ids, places = array("i"), array("i", [0])
    for row in rows:
        ids.extend(row)
        places.append(len(ids))
    return ids, places


def _address(numbers: array[int] | array[float]) -> int:
    return numbers.buffer_info()[0]


def find_library() -> CDLL | None:
    """Load the compiled kernel; None if it was not built or cannot run here."""
    if sys.byteorder != "little":
        return None
    folder = Path(__file__).parent
    for suffix in EXTENSION_SUFFIXES:
        path = folder / f"_kernel{suffix}"
        if path.exists():
            return CDLL(str(path))
    return None


def levels(library: CDLL | None) -> tuple[str, ...]:
    """Return the names of the kernels in `library` that this processor can run, in order of level."""
    if library is None:
        return ()
    name_of = library.minilm_level_name
    name_of.argtypes, name_of.restype = (c_int,), c_char_p
    return tuple(name_of(level).decode() for level in range(library.minilm_level() + 1))


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def in_large_pages(weights: mmap) -> c_char | None:
    """Copy the layers to huge pages, which need few TLB entries; None if the system has no huge pages.

    A pass over all layers takes a quarter less time when they are not in the processor's cache.
    """
    if sys.platform != "linux" or not LARGE_PAGES.exists() or "[never]" in LARGE_PAGES.read_text():
        return None
    from mmap import MADV_DONTNEED, MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_PRIVATE

    start, end = layers_offset(), len(weights)
    memory = mmap(-1, end - start + LARGE_PAGE, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    memory.madvise(MADV_HUGEPAGE)
    skipped = -addressof(c_char.from_buffer(memory)) % LARGE_PAGE
    with memoryview(weights) as whole:
        memory[skipped : skipped + end - start] = whole[start:end]
    # Release the original pages; they can be read from the file again.
    unused = -(-start // PAGESIZE) * PAGESIZE
    weights.madvise(MADV_DONTNEED, unused, end - unused)
    return c_char.from_buffer(memory, skipped)

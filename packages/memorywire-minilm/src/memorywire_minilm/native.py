"""The encoder in C, when this installation has it."""

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

# So many rows share a walk through the weights; a single such batch is a query that a caller waits for, so a
# second thread may help. Longer lists are split by the caller.
TOGETHER = 2

VECTOR = 4 * HIDDEN  # bytes

LARGE_PAGE = 1 << 21
LARGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class NativeKernel:
    """Embeds rows of token ids in C, leaving other threads of Python free to run."""

    def __init__(self, library: CDLL, name: str, weights: mmap, head: bytes | None, threads: int) -> None:
        """`weights` is a whole weights file, mapped so that it may be written to. Without a `head` texts
        have no tokens.
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
        """The vector of each row, and the directions of its tokens."""
        return [encoding for part in self._parts(rows) for encoding in part.encodings()]

    def begin(self, rows: Sequence[Sequence[int]]) -> Callable[[], list[Encoding]]:
        """What is to come: of few rows a second thread makes what it can until they are asked for."""
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
    """The rows of one call, and the memory for what it makes of them; without a `head` only vectors."""

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
        """Without the marks that open and close each text."""
        vectors, tokens, starts = self._vectors.tobytes(), self._tokens.tobytes(), self._starts
        return [
            Encoding(
                vectors[VECTOR * text : VECTOR * (text + 1)],
                tokens[TOKEN * (starts[text] + 1) : TOKEN * (starts[text + 1] - 1)],
            )
            for text in range(self.count)
        ]


class _Begun:
    """Rows that a second thread is at work on; it must be finished, even if no caller waits."""

    def __init__(self, finish: Callable[..., None], job: int, output: _Output) -> None:
        self._finish = finish
        self._job: int | None = job
        self._output = output  # its rows are read while it is at work

    def __call__(self) -> list[Encoding]:
        """The vectors and tokens; to be called once."""
        job, self._job = self._job, None
        vectors, head, tokens = self._output.targets
        self._finish(job, vectors, head, tokens)
        return self._output.encodings()

    def __del__(self) -> None:
        if self._job is not None:
            self()


def _in_a_row(rows: Sequence[Sequence[int]]) -> tuple[array[int], array[int]]:
    """All ids, one row after the other, and where each row starts and the last one ends."""
    ids, places = array("i"), array("i", [0])
    for row in rows:
        ids.extend(row)
        places.append(len(ids))
    return ids, places


def _address(numbers: array[int] | array[float]) -> int:
    return numbers.buffer_info()[0]


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
    """The names of the kernels in `library` that this processor can run, in the order of its levels."""
    if library is None:
        return ()
    name_of = library.minilm_level_name
    name_of.argtypes, name_of.restype = (c_int,), c_char_p
    return tuple(name_of(level).decode() for level in range(library.minilm_level() + 1))


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def in_large_pages(weights: mmap) -> c_char | None:
    """The layers copied to where the processor finds them with few entries of its page table.

    A walk through all of them takes a quarter less time when they are not in its cache. None where
    the system has no such pages.
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
    # The pages they were read from can be read again.
    unused = -(-start // PAGESIZE) * PAGESIZE
    weights.madvise(MADV_DONTNEED, unused, end - unused)
    return c_char.from_buffer(memory, skipped)

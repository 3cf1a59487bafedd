"""The C entry points of the embedder refuse arguments that would lead outside their arrays."""

import shutil
import subprocess
from array import array
from ctypes import CDLL, c_char, c_char_p, c_int, c_void_p, create_string_buffer
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[2] / "packages" / "memorywire-minilm" / "kernel" / "kernel.c"
WORDS = 30522


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> CDLL:
    """The kernel as it stands in the repository."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    target = tmp_path_factory.mktemp("kernel") / "kernel.so"
    flags = ["-O0", "-Wno-psabi", "-pthread", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(KERNEL), "-o", str(target), "-lm"], check=True)
    return CDLL(str(target))


CASES: dict[str, tuple[list[int], list[int], int, int]] = {
    "no text": ([101], [0, 1], 0, 0),
    "fewer than no texts": ([101], [0, 1], -1, 0),
    "more texts than any caller has": ([101], [0, 1], 1 << 30, 0),
    "a text without a token": ([101], [0, 0], 1, 0),
    "a text of more tokens than there are positions": ([101] * 257, [0, 257], 1, 0),
    "texts that run backwards": ([101] * 4, [0, 3, 1], 2, 0),
    "a first text that begins later": ([101] * 4, [1, 3], 1, 0),
    "a token below the table": ([-1], [0, 1], 1, 0),
    "a token above the table": ([WORDS], [0, 1], 1, 0),
    "an unknown level": ([101], [0, 1], 1, 99),
    "a level below the first": ([101], [0, 1], 1, -1),
}


@pytest.mark.parametrize("case", CASES)
def test_arguments_that_are_out_of_bounds_are_refused(library: CDLL, case: str) -> None:
    ids, starts, texts, level = CASES[case]
    numbers, places = array("i", ids), array("i", starts)
    weights = create_string_buffer(64)
    vectors = (c_char * (4 * 384 * 4))()
    given = (weights, weights, numbers.buffer_info()[0], places.buffer_info()[0])
    pointers = (c_char_p, c_char_p, c_void_p, c_void_p)
    library.minilm_embed.argtypes = (*pointers, c_int, c_int, c_int, c_void_p, c_void_p, c_void_p)
    library.minilm_begin.argtypes = (c_char_p, c_char_p, c_void_p, c_void_p, c_int, c_int, c_int)
    library.minilm_begin.restype = c_void_p
    assert library.minilm_embed(*given, texts, level, 1, vectors, None, None) == -1
    assert library.minilm_begin(*given, texts, level, 2) is None


def test_missing_arrays_are_refused(library: CDLL) -> None:
    places = array("i", [0, 1])
    library.minilm_embed.argtypes = (c_void_p,) * 4 + (c_int,) * 3 + (c_void_p,) * 3
    assert library.minilm_embed(None, None, None, places.buffer_info()[0], 1, 0, 1, None, None, None) == -1
    library.minilm_finish.argtypes, library.minilm_finish.restype = (c_void_p,) * 4, None
    library.minilm_finish(None, None, None, None)

"""Vectors as the file keeps them: the same bits, whoever made them narrow."""

import struct
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire.index.vectors import to_float16, to_float32
from memorywire.model.space import Space
from memorywire.stores.sqlite.rows import _to_float16

_numbers = st.lists(st.floats(-1.0, 1.0, width=32), min_size=1, max_size=20)


@given(_numbers)
def test_arrays_and_plain_python_round_alike(numbers: list[float]) -> None:
    vector = struct.pack(f"<{len(numbers)}f", *numbers)
    assert struct.pack(f"<{len(numbers)}e", *numbers) == to_float16(vector)


@given(_numbers)
def test_what_was_made_wide_is_narrowed_to_the_same_again(numbers: list[float]) -> None:
    halves = to_float16(struct.pack(f"<{len(numbers)}f", *numbers))
    assert to_float16(to_float32(np.frombuffer(halves, "<u2")).tobytes()) == halves


def test_a_process_without_arrays_keeps_the_same_bits() -> None:
    numbers = [0.1, -0.37, 6e-8, 1.0]
    script = (
        "import struct, sys\n"
        "from memorywire.model.space import Space\n"
        "from memorywire.stores.sqlite.rows import _to_float16\n"
        f"vector = struct.pack('<4f', *{numbers})\n"
        "print(_to_float16(vector, Space(model='m', revision='r', dimension=4)).hex())\n"
        "assert 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    space = Space(model="m", revision="r", dimension=4)
    kept = _to_float16(struct.pack("<4f", *numbers), space)
    assert kept is not None
    assert done.stdout.strip() == kept.hex()


def test_a_vector_is_kept_while_another_thread_loads_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    vector, space = struct.pack("<2f", 0.6, 0.8), Space(model="m", revision="r", dimension=2)
    expected = _to_float16(vector, space)
    monkeypatch.setitem(sys.modules, "numpy", ModuleType("numpy"))  # as it is before its code has run
    assert _to_float16(vector, space) == expected

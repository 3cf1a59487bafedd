"""Vectors of one byte a component choose the contenders; no true winner is ever missed by them."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from memorywire.index.arrays import Selection
from memorywire.index.vectors import QuantizedVectors, to_float32
from memorywire.model.space import Space
from memorywire.stores.memory import MemoryStore
from memorywire_testing.samples import a_change, a_query, a_record, a_scope, beginning, ids
from tests.sqlite.desk import opened, run

Matrix = NDArray[np.float32]

ALL = Selection.of_all(0)


def _unit(values: NDArray[Any]) -> Matrix:
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return (values / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _scattered(count: int, seed: int) -> Matrix:
    return _unit(np.random.default_rng(seed).normal(size=(count, 384)))


def _crowded(count: int, seed: int) -> Matrix:
    """As embedders make them: in clusters, around a common direction, with a few outstanding components."""
    dice = np.random.default_rng(seed)
    centres = dice.normal(size=(max(2, count // 50), 384)) + 0.3 * np.random.default_rng(7).normal(size=384)
    centres[:, :4] *= 6
    return _unit(centres[dice.integers(0, len(centres), count)] + 0.4 * dice.normal(size=(count, 384)))


def _rows(codes: QuantizedVectors, kept: Matrix) -> Matrix:
    halves = kept.astype("<f2").view("<u2")
    codes.extend(halves)
    return to_float32(halves)


@pytest.mark.parametrize("made", [_scattered, _crowded])
def test_no_cosine_is_further_off_than_promised(made: Callable[[int, int], Matrix]) -> None:
    codes = QuantizedVectors(384)
    kept = _rows(codes, made(20_000, 1))
    for asked in made(40, 2):
        near, error = codes.approximate_cosines(asked, ALL)
        assert np.abs(near - kept @ asked).max() <= error < 0.01


@pytest.mark.parametrize("made", [_scattered, _crowded])
def test_the_ten_nearest_are_among_those_within_the_promised_error(
    made: Callable[[int, int], Matrix],
) -> None:
    codes = QuantizedVectors(384)
    kept = _rows(codes, made(20_000, 3))
    for asked in made(40, 4):
        near, error = codes.approximate_cosines(asked, ALL)
        best = np.argsort(-(kept @ asked), kind="stable")[:10]
        edge = np.sort(near)[-10]
        assert (near[best] >= edge - 2 * error).all()


def test_some_rows_are_as_near_as_they_are_among_all() -> None:
    codes = QuantizedVectors(384)
    _rows(codes, _scattered(500, 5))
    [asked] = _scattered(1, 6)
    some = np.array([3, 40, 41, 499], np.int32)
    few = Selection.of_rows(some, 500)
    assert (codes.approximate_cosines(asked, few)[0] == codes.approximate_cosines(asked, ALL)[0][some]).all()


def test_rows_that_come_one_by_one_are_as_near_as_rows_that_come_together() -> None:
    kept, [asked] = _crowded(600, 8), _scattered(1, 9)
    together, one_by_one = QuantizedVectors(384), QuantizedVectors(384)
    _rows(together, kept)
    for row in kept[:400]:
        _rows(one_by_one, row[None])
    one_by_one.clear(np.array([399]))
    for row in kept[400:]:
        _rows(one_by_one, row[None])
    together.clear(np.array([399]))
    (near, error), (same, same_error) = (
        codes.approximate_cosines(asked, ALL) for codes in (together, one_by_one)
    )
    assert len(near) == 600
    assert (near == same).all()
    assert error == same_error


def test_without_the_fast_kernel_the_products_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = QuantizedVectors(384)
    _rows(codes, _crowded(9_000, 5))
    [asked] = _crowded(1, 6)
    fast, error = codes.approximate_cosines(asked, ALL)
    monkeypatch.setitem(sys.modules, "simsimd", None)
    slow, same_error = codes.approximate_cosines(asked, ALL)
    assert error == same_error
    assert (fast == slow).all()


def test_a_missing_vector_is_near_to_nothing() -> None:
    codes = QuantizedVectors(384)
    _rows(codes, np.zeros((3, 384), np.float32))
    [asked] = _scattered(1, 6)
    near, _ = codes.approximate_cosines(asked, ALL)
    assert (near == 0).all()


def test_every_number_of_16_bits_is_made_wide_exactly() -> None:
    every = np.arange(2**16, dtype=np.uint16)
    assert np.array_equal(to_float32(every), every.view(np.float16).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("made", [_scattered, _crowded])
def test_a_search_by_vector_finds_exactly_the_nearest(
    tmp_path: Path, made: Callable[[int, int], Matrix]
) -> None:
    space = Space(model="test", revision="1", dimension=384)
    scope = a_scope()
    records = [
        a_record(replace(scope, user="u" if number % 7 == 0 else "v"), f"n{number}", id=f"m{number:04}")
        for number in range(600)
    ]
    puts = [beginning(r, v.tobytes()) for r, v in zip(records, made(len(records), 8), strict=True)]

    async def main() -> None:
        oracle = MemoryStore(space)
        async with opened(tmp_path / "m.db", space=space) as tested:
            for one in (oracle, tested):
                await one.write(a_change(scope, *puts))
            for asked in made(8, 9):
                for seen in (scope, replace(scope, user="u")):
                    query = a_query(seen, "", asked.tobytes())
                    assert ids(await tested.search(query, 10)) == ids(await oracle.search(query, 10))

    run(main())

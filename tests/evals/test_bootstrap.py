"""Intervals are repeatable, paired, and never narrower because questions come in clusters."""

import pytest

from memorywire_evals.compare import difference, interval

HALF = [0.0, 1.0] * 50


def test_the_same_seed_gives_the_same_interval():
    assert interval(HALF, resamples=500) == interval(HALF, resamples=500)
    assert interval(HALF, resamples=500) != interval(HALF, resamples=500, seed=1)


def test_an_interval_is_about_two_standard_errors_to_each_side():
    found = interval(HALF)
    assert found.mean == 0.5
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / 10, rel=0.1)


def test_values_that_do_not_vary_are_certain():
    found = interval([0.25] * 20, resamples=200)
    assert (found.low, found.high) == (0.25, 0.25)


def test_pairing_finds_a_small_gain_that_two_intervals_would_hide():
    noisy = [0.0, 1.0] * 30
    better = [value + 0.01 for value in noisy]
    found = difference(better, noisy, resamples=1000)
    assert found.low == pytest.approx(0.01)
    assert found.p == 0


def test_no_difference_is_not_called_one():
    assert difference(HALF, list(reversed(HALF)), resamples=1000).p > 0.5


def test_clusters_are_drawn_whole():
    values = [1.0] * 40 + [0.0] * 40
    alike = ["x"] * 40 + ["y"] * 40
    found = interval(values, alike, resamples=2000)
    assert (found.low, found.high) == (0.0, 1.0)
    assert interval(values, resamples=2000).low > 0.3


def test_a_few_clusters_that_agree_are_no_certainty():
    noisy = [0.0, 1.0] * 30
    cases = [name for name in "abc" for _ in range(20)]  # each half right
    assert interval(noisy, cases, resamples=2000) == interval(noisy, resamples=2000)
    one_more = [1.0, *noisy[1:20], 1.0, *noisy[21:40], 1.0, *noisy[41:]]  # one question better in each
    found = difference(one_more, noisy, cases, resamples=2000)
    assert found.mean == pytest.approx(0.05)
    assert found.p > 0.05

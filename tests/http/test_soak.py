"""What `tools/load_http.py` concludes about the memory of a server."""

import random

import pytest

from tests.http.tools import tool

soak = tool("soak")
TIMES = [5.0 * number for number in range(60)]


def sizes(percent_an_hour: float, noise: float = 0.0) -> list[tuple[float, float]]:
    dice = random.Random(3)
    return [(at, 200 * (1 + percent_an_hour / 100 * at / 3600) + dice.gauss(0, noise)) for at in TIMES]


def test_a_size_that_stays_grows_by_nothing():
    flat = soak.Flatness(sizes(0))
    assert (flat.growth, flat.uncertainty, flat.holds) == (0, 0, True)


@pytest.mark.parametrize(("growth", "holds"), [(0.5, True), (1.5, False), (40, False), (-3, True)])
def test_growth_is_told_in_percent_an_hour(growth: float, holds: bool):
    found = soak.Flatness(sizes(growth))
    assert found.growth == pytest.approx(growth, rel=0.02)
    assert found.holds is holds
    assert "be sure" not in found.verdict()


def test_noise_is_told_as_uncertainty_and_not_as_growth():
    found = soak.Flatness(sizes(0, noise=2))
    assert abs(found.growth) <= found.uncertainty
    assert "be sure" in found.verdict()


def test_steps_count_as_fewer_samples_than_they_are():
    steps = soak.Flatness([(at, 200.0 + 0.5 * (int(at) // 60 % 2)) for at in TIMES])
    jumps = soak.Flatness([(at, 200.0 + 0.5 * (int(at) // 5 % 2)) for at in TIMES])
    assert steps.uncertainty > 3 * jumps.uncertainty

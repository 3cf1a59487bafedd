"""Zep, which is a service: a contract with its own client, and nothing more is claimed."""

import pytest

from tests.vendors.environments import judged
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


@pytest.mark.parametrize("claim", claims("zep"))
def test_zep(claim: str) -> None:
    assert judged("zep", "zep")[claim] is None

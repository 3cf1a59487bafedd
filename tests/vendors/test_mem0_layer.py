"""Keys and conversations on mem0, for real: it reads what was said, and what it finds is ours to keep."""

import pytest

from tests.vendors.environments import judged
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


@pytest.mark.parametrize("claim", claims("mem0_layer"))
def test_mem0(claim: str) -> None:
    assert judged("mem0", "mem0_layer")[claim] is None

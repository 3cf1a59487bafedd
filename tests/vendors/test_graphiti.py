"""Graphiti, for real: the whole kit, and its traps."""

from pathlib import Path

import pytest

from tests.vendors.environments import examined, judged, keeps_every_promise
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


def test_graphiti_keeps_every_promise(tmp_path: Path) -> None:
    keeps_every_promise(examined("graphiti", f"graphiti://{tmp_path}"))


@pytest.mark.parametrize("claim", claims("graphiti"))
def test_graphiti(claim: str) -> None:
    assert judged("graphiti", "graphiti")[claim] is None

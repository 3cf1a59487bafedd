"""MemOS, for real: the whole kit, and its traps."""

from pathlib import Path

import pytest

from tests.vendors.environments import examined, judged, keeps_every_promise
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


def test_memos_keeps_every_promise(tmp_path: Path) -> None:
    keeps_every_promise(examined("memos", f"memos://{tmp_path}"))


@pytest.mark.parametrize("claim", claims("memos"))
def test_memos(claim: str) -> None:
    assert judged("memos", "memos")[claim] is None

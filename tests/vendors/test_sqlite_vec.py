"""sqlite-vec, for real: the whole kit, and what its room promises beside it."""

from pathlib import Path

import pytest

from tests.vendors.environments import examined, judged, keeps_every_promise
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products


def test_a_file_keeps_every_promise(tmp_path: Path) -> None:
    keeps_every_promise(examined("sqlite-vec", f"sqlite-vec://{tmp_path}/memory.db"))


def test_memory_keeps_every_promise() -> None:
    keeps_every_promise(examined("sqlite-vec", "sqlite-vec://"))


@pytest.mark.parametrize("claim", claims("sqlite_vec"))
def test_sqlite_vec(claim: str) -> None:
    assert judged("sqlite-vec", "sqlite_vec")[claim] is None

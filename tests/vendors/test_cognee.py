"""Cognee, for real: the whole kit, and its traps."""

from pathlib import Path

import pytest

from tests.vendors.environments import examined, judged, keeps_every_promise, needs_everything
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products

pytestmark = needs_everything("cognee")


@pytest.mark.timeout(7200)  # it takes a third of a second for every memory
def test_cognee_keeps_every_promise(tmp_path: Path) -> None:
    keeps_every_promise(examined("cognee", f"cognee://{tmp_path}"))


@pytest.mark.parametrize("claim", claims("cognee"))
def test_cognee(claim: str) -> None:
    assert judged("cognee", "cognee")[claim] is None

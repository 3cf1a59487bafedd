"""Chroma, for real: the whole kit, and its traps."""

from pathlib import Path

import pytest

from tests.vendors.environments import examined, judged, keeps_every_promise, needs_everything
from tests.vendors.inside.judge import claims

pytestmark = pytest.mark.products

pytestmark = needs_everything("chroma")


def test_a_folder_keeps_every_promise(tmp_path: Path) -> None:
    keeps_every_promise(examined("chroma", f"chroma://{tmp_path}"))


@pytest.mark.parametrize("claim", claims("chroma"))
def test_chroma(claim: str) -> None:
    assert judged("chroma", "chroma")[claim] is None

"""Mem9, which cannot be had here: a contract with what its source says, and nothing more is claimed."""

import asyncio
from pathlib import Path

import pytest

from tests.vendors.inside import mem9
from tests.vendors.inside.judge import claims


@pytest.mark.parametrize("claim", claims("mem9"))
def test_mem9(claim: str, tmp_path: Path) -> None:
    asyncio.run(getattr(mem9, claim)(tmp_path))

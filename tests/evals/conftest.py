"""The tiny sets, as files."""

from pathlib import Path

import pytest

from tests.evals import tiny


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tiny.write(tmp_path / "data")

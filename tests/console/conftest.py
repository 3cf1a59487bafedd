"""One browser for all browser tests of a process, one served console for each module that only looks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.console.stage import Stage, browsing, staged


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.fixture
def stage() -> Iterator[Stage]:
    with staged() as served:
        yield served

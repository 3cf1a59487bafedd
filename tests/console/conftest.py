"""A browser for all modules here: an open one keeps a loop running, and tests elsewhere begin their own."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.console.stage import Stage, browsing, staged


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with browsing() as opened:
        yield opened


@pytest.fixture
def stage() -> Iterator[Stage]:
    with staged() as served:
        yield served

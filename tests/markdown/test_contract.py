"""Every shipped check that a store of words has to pass, on a folder of Markdown."""

import asyncio
from pathlib import Path

import pytest

from memorywire.stores.registry import open_store
from memorywire_adapters.markdown import MarkdownStore
from memorywire_testing.checks import CHECKS, Check
from memorywire_testing.samples import SPACE
from tests.markdown.files import with_store

APPLICABLE = [check for check in CHECKS if check.requires <= MarkdownStore.features]


@pytest.mark.parametrize("check", APPLICABLE, ids=lambda check: check.name)
def test_the_store_honours_the_contract(check: Check, tmp_path: Path) -> None:
    with_store(tmp_path, check.run)


def test_most_checks_apply() -> None:
    assert len(APPLICABLE) >= 130


def test_a_folder_that_is_made_is_for_its_owner_alone_and_one_that_is_there_stays_as_it_is(
    tmp_path: Path,
) -> None:
    theirs = tmp_path / "vault"
    theirs.mkdir(0o755)

    for folder in (theirs, tmp_path / "made"):
        asyncio.run(_opened_and_closed(folder))
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o700
    assert theirs.stat().st_mode & 0o777 == 0o755


async def _opened_and_closed(folder: Path) -> None:
    store = await open_store(f"markdown://{folder}", space=SPACE)
    await store.close()

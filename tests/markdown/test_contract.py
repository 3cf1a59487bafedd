"""Every shipped check that a store of words has to pass, on a folder of Markdown."""

from pathlib import Path

import pytest

from memorywire.conformance.checks import CHECKS, Check
from memorywire.stores.markdown import MarkdownStore
from tests.markdown.files import with_store

APPLICABLE = [check for check in CHECKS if check.requires <= MarkdownStore.features]


@pytest.mark.parametrize("check", APPLICABLE, ids=lambda check: check.name)
def test_the_store_honours_the_contract(check: Check, tmp_path: Path) -> None:
    with_store(tmp_path, check.run)


def test_most_checks_apply() -> None:
    assert len(APPLICABLE) >= 130

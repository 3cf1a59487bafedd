"""The OpenWOP host keeps its rules on a database, too: every claim about it, over HTTP."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.openwop.claims import CLAIMS
from tests.openwop.rules import Rule
from tests.openwop.stage import Stage, hosting
from tests.postgres.conftest import schema_of
from tests.postgres.desk import Server


@pytest.fixture(scope="module")
def stage(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder: Path = tmp_path_factory.mktemp("host")
    for url in schema_of(server, f"h{os.urandom(6).hex()}"):
        with hosting(folder, store=url) as running:
            yield running


@pytest.mark.parametrize("rule", list(Rule), ids=lambda rule: rule.name.lower())
def test_the_host_keeps_every_rule(rule: Rule, stage: Stage) -> None:
    CLAIMS[rule](stage)

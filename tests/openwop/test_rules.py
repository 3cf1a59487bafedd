"""Every rule of the OpenWOP host is kept, and every claim about one would show that it is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorywire.facades.openwop.rules import ALL, Rule
from tests.openwop.claims import CLAIMS
from tests.openwop.stage import Stage, hosting

EACH = pytest.mark.parametrize("rule", list(Rule), ids=lambda rule: rule.name.lower())


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with hosting(tmp_path_factory.mktemp("openwop")) as running:
        yield running


@EACH
def test_the_host_keeps_every_rule(rule: Rule, stage: Stage) -> None:
    CLAIMS[rule](stage)


@EACH
def test_a_host_without_a_rule_is_found_out(rule: Rule, tmp_path: Path) -> None:
    with hosting(tmp_path, rules=ALL - {rule}) as lax, pytest.raises(AssertionError):
        CLAIMS[rule](lax)

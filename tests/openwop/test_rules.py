"""Every rule of the OpenWOP host is kept, and every claim about one would show that it is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.model.change import Change
from memorywire.search.embed import open_embedder
from memorywire.stores.memory import MemoryStore
from tests.gates.source import ROOT
from tests.openwop.claims import CLAIMS, what_is_forgotten_for_good_is_gone_for_everybody
from tests.openwop.rules import Rule
from tests.openwop.stage import Stage, hosting

PAGE = ROOT / "docs" / "explain" / "openwop-rules.md"

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
    with hosting(tmp_path, without=rule) as lax, pytest.raises(AssertionError):
        CLAIMS[rule](lax)


class Elephant(MemoryStore):
    """Says that it erases, and does not."""

    async def write(self, change: Change) -> int:
        return await super().write(replace(change, erase=()))


def test_what_is_forgotten_for_good_is_gone_and_a_store_that_keeps_it_is_found_out(
    stage: Stage, tmp_path: Path
) -> None:
    what_is_forgotten_for_good_is_gone_for_everybody(stage)
    elephant = Elephant(open_embedder("minilm").space)
    with hosting(tmp_path, store=elephant) as lax, pytest.raises(AssertionError):
        what_is_forgotten_for_good_is_gone_for_everybody(lax)


def test_the_page_names_every_rule_with_the_claim_that_shows_it() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    for rule in Rule:
        (row,) = [row for row in rows if f"`{rule.name}`" in row]
        assert rule.value in row
        assert f"`{CLAIMS[rule].__name__}`" in row
    assert any(f"`{what_is_forgotten_for_good_is_gone_for_everybody.__name__}`" in row for row in rows)

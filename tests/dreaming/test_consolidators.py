"""The settings choose which installed package consolidates."""

from pathlib import Path

import pytest

from memorywire.app.consolidators import find_consolidator
from memorywire.model.errors import InvalidRequest
from tests.cli.shell import Inside

MODULE = """
from memorywire.model.consolidation import Result, RunResult

class Counter:
    async def dream(self, scope, context, settings, *, probes=None, dry_run=False):
        return RunResult(result=Result.CALM, memories=4321, model={"state": "off", "why": "acme has none"})

    async def load_run(self, scope, run, context):
        return {"at": 0, "reason": f"acme made {run}", "steps": [], "ended": [], "began": []}

CONSOLIDATOR = Counter()
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a second consolidator."""
    (tmp_path / "acme_memory.py").write_text(MODULE)
    described = tmp_path / "acme_memory-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-memory\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[memorywire.consolidators]\nacme = acme_memory:CONSOLIDATOR\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("acme")
def test_the_command_uses_the_consolidator_of_the_settings(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shell = Inside(home)
    shell.remember("Ana drinks green tea")
    assert shell("dream", "--json").json["memories"] == 1
    (home / "memorywire.toml").write_text('[dream]\nconsolidator = "acme"\n')
    assert shell("dream", "--json").json["memories"] == 4321
    assert shell("dream", "show", "r1", "--json").json["reason"] == "acme made r1"


def test_a_name_that_no_package_provides_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest) as caught:
        find_consolidator("nobody")
    problem = caught.value.problem()
    assert (problem["field"], "memorywire" in problem["fix"]) == ("dream", True)

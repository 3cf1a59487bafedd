"""How memory is put in order is settled by a file, the environment and the command line."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire.app import load_settings
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import MemoryType
from memorywire_server.commands.serve import override_background
from tests.cli.shell import Shell

TABLE = """
[dream]
keep = {episodic = 30, emotional = 0}
most = {semantic = 100}
pins = ["contract"]
changes = 7
ratio = 1
seconds = 9.5
model = "openai+https://host/v1?model=m"
tokens = 1000
price = 2
cost = 0.5
promote = 5
window = 70
night = "03:30"
consolidator = "acme"
"""


def loaded(folder: Path, table: str, **env: str) -> ConsolidationSettings:
    file = folder / "memorywire.toml"
    file.write_text(table, encoding="utf-8")
    return load_settings(env={"MEMORYWIRE_HOME": str(folder), **env}).consolidation


def test_a_table_of_the_file_says_all_of_it(tmp_path: Path) -> None:
    sleep = loaded(tmp_path, TABLE, MEMORYWIRE_DREAM_KEY="k")
    assert sleep.retention.days == {MemoryType.EPISODIC: 30}
    assert sleep.retention.most[MemoryType.SEMANTIC] == 100
    assert (
        sleep.retention.most[MemoryType.EPISODIC]
        == ConsolidationSettings().retention.most[MemoryType.EPISODIC]
    )
    assert sleep.retention.pins == {"pinned", "contract"}
    assert (sleep.limits.changes, sleep.limits.ratio, sleep.limits.seconds) == (7, 1.0, 9.5)
    assert (sleep.spending.tokens, sleep.spending.price, sleep.spending.cost) == (1000, 2.0, 0.5)
    assert (sleep.model, sleep.key) == ("openai+https://host/v1?model=m", "k")
    assert (sleep.promote, sleep.window, sleep.night, sleep.consolidator) == (5.0, 70, 210, "acme")


def test_without_a_table_it_is_as_usual_and_the_environment_may_name_a_model(tmp_path: Path) -> None:
    assert loaded(tmp_path, "") == ConsolidationSettings()
    url = "anthropic+https://host/v1?model=n"
    assert loaded(tmp_path, TABLE, MEMORYWIRE_DREAM_MODEL=url).model == url


def test_both_kinds_of_work_can_be_switched_off(tmp_path: Path) -> None:
    sleep = loaded(tmp_path, '[dream]\npromote = "off"\nnight = "off"\n')
    assert (sleep.promote, sleep.night) == (None, None)


@pytest.mark.parametrize(
    "line",
    [
        "forever = true",
        "keep = {rumour = 3}",
        "keep = 3",
        "most = {semantic = -1}",
        "changes = 0",
        "ratio = 1.5",
        "seconds = 0",
        'pins = "contract"',
        "tokens = 1.5",
        "price = -1",
        "promote = 0.01",
        "window = 1001",
        "window = 2.5",
        'night = "25:00"',
        "model = 3",
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(tmp_path: Path, line: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        loaded(tmp_path, f"[dream]\n{line}\n")
    assert caught.value.field == "dream"
    assert caught.value.fix


def test_options_come_before_the_file_and_pins_protect(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for number, tag in enumerate(("contract", "other", "other")):
        shell("remember", f"We met client {number} on a boat", "--type", "episodic", "--tag", tag)
    (tmp_path / "memorywire.toml").write_text("[dream]\nmost = {episodic = 1}\n", encoding="utf-8")
    by_file = shell("dream", "--dry-run", "--json").json
    assert [step["pass"] for step in by_file["steps"]] == ["cap", "cap"]
    assert shell("dream", "--dry-run", "--most", "episodic=0", "--json").json["steps"] == []
    pinned = shell("dream", "--dry-run", "--pin", "other", "--json").json
    contract, *others = shell("list", "--json").json["items"]
    assert [step["ids"] for step in pinned["steps"]] == [[contract["id"]]]
    assert len(others) == 2
    one = shell("dream", "--dry-run", "--max-changes", "1", "--json").json
    assert (len(one["steps"]), one["left"]) == (1, 1)


def test_a_command_says_that_no_model_is_asked_and_what_is_wrong_with_an_option(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.remember("Ana lives in Graz")
    assert "summaries and procedures: off, no model is configured" in shell("dream").out
    assert shell("dream", "--keep", "rumour=3").code == 2
    wrong = shell("dream", "--model", "magic")
    assert "unknown model" in wrong.err
    assert "openai+https" in wrong.err
    assert shell("serve", "--night", "25:00").code == 2
    assert shell("serve", "--promote", "0").code == 2


def test_what_is_typed_about_the_background_goes_before_what_is_set() -> None:
    usual = ConsolidationSettings(promote=60.0, night=180)
    assert override_background(usual, promote=None, night=None) == usual
    assert override_background(usual, promote=5.0, night="off") == replace(usual, promote=5.0, night=None)
    assert override_background(usual, window=20) == replace(usual, window=20)

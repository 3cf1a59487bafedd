"""Rules and ledgers travel with the memories: rules give way to ours, ledgers stay evidence of elsewhere."""

from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.journal.audit import examine, verify_export
from memorywire.journal.journal import Journal
from memorywire.journal.sqlite.files import backup
from memorywire.migrate.bundle_lines import read_lines
from memorywire.migrate.evidence import verify_ledgers
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.oversight import SetRules
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline.context import Context
from memorywire.pipeline.rules import set_rules
from tests.bundle.story import export_to, imported, lived, on, resealed

RULE: dict[str, Any] = {
    "name": "hold chatter",
    "operation": ["remember"],
    "source": ["chat*"],
    "verdict": "hold",
}


def test_rules_travel_and_hold_where_nobody_gave_any(tmp_path: Path) -> None:
    one = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await set_rules(SetRules(rules=(RULE,)), context)
        await export_to(one, context)

    async def after(memory: Memory, context: Context) -> None:
        assert (await memory.remember("said freely", source="chat 1")).status == "committed"
        assert (await imported(one, context))["rules"] == "imported"
        assert (await memory.remember("said in a chat", source="chat 1")).status == "staged"
        assert (await imported(one, context))["rules"] == "already"
        assert len(await context.require_governance().journal.list_editions(DEFAULT_TENANT)) == 1

    async def with_rules_of_its_own(memory: Memory, context: Context) -> None:
        await set_rules(SetRules(rules=(RULE | {"verdict": "allow"},)), context)
        assert (await imported(one, context))["rules"] == "kept ours"
        assert (await memory.remember("said in a chat", source="chat 1")).status == "committed"

    async def unseen(memory: Memory, context: Context) -> None:
        assert (await imported(one, context, dry_run=True))["rules"] == "imported"
        assert await context.require_governance().journal.find_edition(DEFAULT_TENANT) is None

    on("sqlite://", before)
    on("sqlite://", after)
    on("sqlite://", with_rules_of_its_own)
    on("sqlite://", unseen)


def _with_ledger(folder: Path) -> Path:
    path = folder / "one.jsonl"

    async def story(memory: Memory, context: Context) -> None:
        await lived(memory)
        await export_to(path, context, ledger=True)

    on(f"sqlite:///{folder}/source.db", story)
    return path


async def _own(context: Context) -> Any:
    """What the verifier says of the ledger of this house."""
    journal = context.require_governance().journal
    assert isinstance(journal, Journal)
    return (await journal.audit(lambda db: examine(db, journal.signer))).report


def test_a_ledger_comes_along_proven_and_stays_apart_from_ours(tmp_path: Path) -> None:
    path, again = _with_ledger(tmp_path), tmp_path / "again.jsonl"

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(path, context)
        [ledger] = answer["ledgers"]
        assert ledger["entries"] == ledger["sealed"] > 12
        [kept] = (tmp_path / "target.db-ledgers").iterdir()
        assert kept.name == f"{ledger['sha256']}.jsonl"
        assert verify_export(kept.read_text(encoding="utf-8").splitlines()).ok
        own = await _own(context)
        assert own.ok
        assert own.origin != ledger["origin"]
        await imported(path, context)
        seen = await context.require_governance().journal.find_entries(DEFAULT_TENANT, answer["batch"])
        assert [one["details"]["ledger"] for one in seen if one["kind"] == "evidence"] == [ledger]
        await export_to(again, context, ledger=True)

    on(f"sqlite:///{tmp_path}/target.db", story)
    backup(tmp_path / "target.db", tmp_path / "copy.db")
    assert len(list((tmp_path / "copy.db-ledgers").iterdir())) == 1
    [first] = verify_ledgers(path)
    ours, theirs = verify_ledgers(again)
    assert theirs == first
    assert ours.origin != theirs.origin
    assert {line["of"] for line in read_lines(again, "ledger")} == {1, 2}


def test_a_ledger_that_was_altered_is_refused_unless_it_is_left_out(tmp_path: Path) -> None:
    path = _with_ledger(tmp_path)

    def alter(lines: list[dict[str, Any]]) -> None:
        last = [line for line in lines if line["kind"] == "ledger"][-1]
        last["line"] = last["line"].replace("forget", "recall")

    resealed(path, alter)

    async def story(memory: Memory, context: Context) -> None:
        with pytest.raises(InvalidRequest, match="is not valid: entry") as caught:
            await imported(path, context)
        assert "--without-ledger" in str(caught.value.fix)
        assert (await memory.list()).total == 0
        assert (await imported(path, context, ledger=False))["ledgers"] == []
        assert (await memory.list()).total > 0

    on(f"sqlite:///{tmp_path}/target.db", story)


def test_a_ledger_needs_a_disk_and_speaks_of_everybody(tmp_path: Path) -> None:
    path = _with_ledger(tmp_path)

    async def in_memory(memory: Memory, context: Context) -> None:
        with pytest.raises(CapabilityUnsupported, match="signs nothing"):
            await export_to(tmp_path / "x.jsonl", context, ledger=True)
        answer = await imported(path, context)
        assert (len(answer["ledgers"]), "cannot save" in answer["losses"][0]) == (1, True)

    on("sqlite://", in_memory)

"""An import goes through the corridor: conflicts are settled as asked, and a batch can be taken back."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorywire import Memory
from memorywire.journal.acts import Wanted
from memorywire.migrate.run_import import ImportRequest, import_memories
from memorywire.migrate.undo import undo_import
from memorywire.model.errors import NotFound
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline.context import Context
from tests.bundle.story import bundle_of, export_to, imported, on, resealed, unsigned
from tests.cli.shell import COMMAND, Shell

STORES = ("memory://", "sqlite://")
NAMED = "a-memory"


def _one(path: Path, content: str, id: str = NAMED) -> None:
    """A bundle of one memory."""

    async def story(memory: Memory, context: Context) -> None:
        await memory.remember(content, id=id, metadata={"theirs": 1, "both": "theirs"}, tags=["new"])
        await export_to(path, context)

    on("memory://", story)


def _onto(path: Path, url: str, mode: str) -> tuple[dict[str, object], list[object], dict[str, object]]:
    """What an import does to a memory whose id is taken: the answer, all contents, the metadata there."""

    async def story(
        memory: Memory, context: Context
    ) -> tuple[dict[str, object], list[object], dict[str, object]]:
        await memory.remember("ours", id=NAMED, metadata={"ours": 1, "both": "ours"})
        answer = await imported(path, context, on_conflict=mode)
        contents = [record.content for record in await memory.list()]
        return answer, contents, dict((await memory.get(NAMED)).metadata)

    return on(url, story)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A bundle of one memory, whose id will be taken."""
    path = tmp_path / "theirs.jsonl"
    _one(path, "theirs")
    return path


@pytest.mark.parametrize("url", STORES)
def test_skip_leaves_what_is_there(theirs: Path, url: str) -> None:
    answer, contents, _ = _onto(theirs, url, "skip")
    assert contents == ["ours"]
    assert (answer["conflicts"], answer["changes"]) == (1, 0)


@pytest.mark.parametrize("url", STORES)
def test_overwrite_makes_a_new_version_of_it(theirs: Path, url: str) -> None:
    _, contents, metadata = _onto(theirs, url, "overwrite")
    assert contents == ["theirs"]
    assert metadata == {"theirs": 1, "both": "theirs"}


@pytest.mark.parametrize("url", STORES)
def test_new_id_keeps_both(theirs: Path, url: str) -> None:
    _, contents, _ = _onto(theirs, url, "new-id")
    assert sorted(map(str, contents)) == ["ours", "theirs"]


@pytest.mark.parametrize("url", STORES)
def test_merge_makes_one_of_both(theirs: Path, url: str) -> None:
    _, contents, metadata = _onto(theirs, url, "merge")
    assert contents == ["ours"]  # said later
    assert metadata == {"theirs": 1, "both": "ours", "ours": 1}


@pytest.mark.parametrize("mode", ["skip", "overwrite", "new-id", "merge"])
def test_importing_again_changes_nothing(theirs: Path, mode: str) -> None:
    async def story(memory: Memory, context: Context) -> None:
        await memory.remember("ours", id=NAMED)
        await imported(theirs, context, on_conflict=mode)
        before = await memory.history(NAMED)
        assert (await imported(theirs, context, on_conflict=mode))["changes"] == 0
        assert await memory.history(NAMED) == before

    on("sqlite://", story)


def test_a_memory_can_be_given_to_another_agent_of_the_same_store(tmp_path: Path) -> None:
    path, url = tmp_path / "one.jsonl", f"sqlite:///{tmp_path}/memory.db"
    bundle_of(path, url)

    async def story(memory: Memory, context: Context) -> int:
        await imported(path, context, remap=("agent=agent:heir",), on_conflict="new-id")
        again = await imported(path, context, remap=("agent=agent:heir",), on_conflict="new-id")
        assert again["changes"] == 0
        return (await memory.list()).total

    async def count(memory: Memory, context: Context) -> int:
        return (await memory.list()).total

    assert on(url, story, agent="heir") == on(url, count) > 0


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://")

    async def story(memory: Memory, context: Context) -> None:
        said = await imported(path, context, dry_run=True)
        assert (await memory.list()).total == 0
        done = await imported(path, context)
        assert said["changes"] == done["changes"] > 0
        assert (await memory.list()).total > 0

    on("sqlite://", story)


def test_an_import_says_how_far_it_is(tmp_path: Path) -> None:
    path, heard = tmp_path / "one.jsonl", []
    bundle_of(path, "memory://", facts=300)

    async def story(memory: Memory, context: Context) -> None:
        wish = ImportRequest(path=path, agent="agent")
        await import_memories(wish, context, lambda done, total: heard.append((done, total)))

    on("sqlite://", story)
    assert len(heard) > 2
    assert heard == sorted(heard)
    assert heard[-1][0] == heard[-1][1] > 300


def test_an_import_is_taken_back_as_one(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    bundle_of(path, "sqlite://")

    async def story(memory: Memory, context: Context) -> None:
        mine = await memory.remember("this was here before")
        batch = (await imported(path, context))["batch"]
        assert (await memory.list()).total > 1
        back = await undo_import(batch, context, DEFAULT_TENANT)
        assert [record.id for record in await memory.list()] == [mine.id]
        for change in back.change_ids:
            await memory.undo(change)
        assert (await memory.list()).total == back.ended + 1

    on("sqlite://", story)


def test_taking_back_restores_what_was_written_over_and_spares_what_moved_since(theirs: Path) -> None:
    async def story(memory: Memory, context: Context) -> None:
        await memory.remember("ours", id=NAMED)
        batch = (await imported(theirs, context, on_conflict="overwrite"))["batch"]
        await undo_import(batch, context, DEFAULT_TENANT)
        assert (await memory.get(NAMED)).content == "ours"
        await memory.remember("said since", id=NAMED, if_version=3)
        await undo_import(batch, context, DEFAULT_TENANT)
        assert (await memory.get(NAMED)).content == "said since"
        with pytest.raises(NotFound):
            await undo_import("nobody's", context, DEFAULT_TENANT)

    on("sqlite://", story)


def test_a_secret_does_not_come_in(theirs: Path) -> None:
    async def told(memory: Memory, context: Context) -> None:
        await memory.remember("the password is in the safe", id=NAMED)
        await export_to(theirs, context)

    on("memory://", told)
    secret = "AKIAIOSFODNN7EXAMPLQ"
    resealed(theirs, lambda lines: _said(lines, "in the safe", secret))

    async def story(memory: Memory, context: Context) -> None:
        answer = await imported(theirs, context)
        assert answer["redacted"] == 1
        assert secret not in str((await memory.get(NAMED)).content)

    on("sqlite://", story, policy="balanced")


def _said(lines: list[dict[str, Any]], old: str, new: str) -> None:
    for put in (put for line in lines for put in line.get("put", ())):
        put["record"]["content"] = put["record"]["content"].replace(old, new)


def test_what_policy_holds_waits_for_a_person_and_only_once(theirs: Path) -> None:
    async def story(memory: Memory, context: Context) -> None:
        for _ in range(2):
            answer = await imported(theirs, context)
            assert (answer["held"], answer["changes"]) == (1, 0)
        assert (
            len(await context.require_governance().journal.list_proposals(Wanted(tenant=DEFAULT_TENANT))) == 1
        )
        assert (await memory.list()).total == 0

    on("sqlite://", story, policy="strict")


def test_proposals_travel_with_the_memory(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        await memory.remember("this has to wait", approval_required=True)
        await export_to(one, context)

    async def after(memory: Memory, context: Context) -> None:
        assert (await imported(one, context))["proposals"] == 1
        await export_to(other, context)
        assert (await imported(one, context))["proposals"] == 0

    on("sqlite://", before)
    on("sqlite://", after)
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("dry_run", [False, True])
def test_what_was_approved_there_and_ended_since_stops_nothing_here(tmp_path: Path, dry_run: bool) -> None:
    path = tmp_path / "one.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        for id in ("forgotten", "replaced"):
            held = await memory.remember(f"{id} soon", id=id, source="web:forum")
            await memory.decide(str(held.proposal_id), "approve")
        await memory.forget("forgotten")
        await memory.remember("from a person", id="newer", source="user", supersedes=["replaced"])
        await export_to(path, context)

    async def after(memory: Memory, context: Context) -> None:
        answer = await imported(path, context, dry_run=dry_run)
        assert (answer["ended"], answer["conflicts"], answer["problems"]) == (2, 1, [])
        assert [record.id for record in await memory.list()] == ([] if dry_run else ["newer"])

    on("sqlite://", before, policy="balanced")
    on("sqlite://", after, policy="balanced")


def test_a_proposal_that_was_planned_anew_travels_like_any_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"

    async def before(memory: Memory, context: Context) -> None:
        held = await memory.remember("this has to wait", approval_required=True)
        await memory.decide(str(held.proposal_id), "reject")
        await memory.decide(str(held.proposal_id), "reopen")
        await export_to(one, context)

    async def after(memory: Memory, context: Context) -> None:
        assert (await imported(one, context))["proposals"] == 1
        await export_to(other, context)
        [waiting] = (await memory.proposals()).items
        await memory.decide(waiting.id, "approve")
        assert [record.content for record in await memory.list()] == ["this has to wait"]

    on("sqlite://", before)
    on("sqlite://", after)
    assert one.read_bytes() == other.read_bytes()


def test_what_waited_for_one_tenant_waits_for_the_one_it_is_brought_to(tmp_path: Path) -> None:
    shell, path = Shell(tmp_path / "home"), str(tmp_path / "one.jsonl")
    assert shell("remember", "acme waits", "--source", "web:forum", "--tenant", "acme").code == 0
    assert shell("export", path, "--tenant", "acme").code == 0
    target = ("--store", f"sqlite:///{tmp_path}/target.db")
    assert shell("import", path, "--tenant", "globex", *target).code == 0
    there = {
        name: shell("review", "list", "--json", "--tenant", name, *target).json["items"]
        for name in ("acme", "globex")
    }
    assert (len(there["acme"]), len(there["globex"])) == (0, 1)
    assert shell("review", "approve", "--all", "--yes", "--tenant", "globex", *target).code == 0
    assert "acme waits" in shell("list", "--tenant", "globex", *target).out
    assert "acme waits" not in shell("list", "--tenant", "acme", *target).out


@pytest.mark.parametrize("verb", ["import", "migrate"])
def test_what_is_killed_is_finished_by_starting_it_again(tmp_path: Path, verb: str) -> None:
    shell, path = Shell(tmp_path / "home"), tmp_path / "one.jsonl"
    lines = "".join(f"fact number {number}\n" for number in range(400))
    assert shell("import-lines", "-", stdin=lines.encode()).code == 0
    assert shell("export", str(path), "--with-vectors").code == 0
    target = f"sqlite:///{tmp_path}/target.db"
    source = f"sqlite:///{shell.home}/memory.db"
    words = (
        ["import", str(path), "--trusted", "--store", target]
        if verb == "import"
        else ["migrate", source, target]
    )
    half = subprocess.Popen([*COMMAND, *words], env=shell.environment(), stdout=subprocess.DEVNULL)
    _wait_for_changes(tmp_path / "target.db")
    os.kill(half.pid, signal.SIGKILL)
    half.wait()
    done = shell(*words, "--json")
    assert done.code == 0, done.err
    assert done.json["changes"] + done.json["already"] == 400
    assert shell("export", str(tmp_path / "two.jsonl"), "--with-vectors", "--store", target).code == 0
    assert unsigned(tmp_path / "two.jsonl") == unsigned(path)
    checked = shell("audit", "verify", "--store", target)
    assert checked.code == 0, checked.out + checked.err


def _wait_for_changes(path: Path) -> None:
    """Until the import has written something."""
    while True:
        with suppress(apsw.Error):
            db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            if db.execute("SELECT count(*) FROM change").get:
                return
        time.sleep(0.02)

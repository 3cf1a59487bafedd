"""Governed memory under mixed load, and what must be true of its file whenever it ends.

Writers remember, merge, approve, forget and recall until they are killed; afterwards memories, ledger,
proposals and search index must tell one story.
"""

import asyncio
import hashlib
import json
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from memorywire.app import Container, Governance, open_container
from memorywire.app.dispatch import dispatch
from memorywire.journal import ledger
from memorywire.journal.audit import examine
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.state import compare
from memorywire.journal.verify import verify
from memorywire.model.change import Base, Put
from memorywire.model.clock import system_clock
from memorywire.model.errors import MemorywireError
from memorywire.model.proposal import Decide, Reach, Verb
from memorywire.model.record import DEFAULT_TENANT
from memorywire.pipeline.decide import decide
from memorywire.stores.sqlite.connection import Connect, connect
from memorywire.stores.sqlite.rows import VERSION, build_version_row, read_position, read_record
from memorywire_testing.samples import SPACE
from tests.sqlite.crowd import ENDLESS, Damage, heard, killed_at_the_end, preload, start
from tests.sqlite.desk import opened

AGENT = "torture"
AT_ONCE = 2
DEEDS = (1, 90)  # so many are acknowledged before the kill
Say = Callable[[str], None]
Open = Callable[[Path, Connect], Any]
Texts = Sequence[str]
Embed = Callable[[Texts], Awaitable[list[bytes]]]


preload(__name__)


class Signature:
    """Embeds by a hash, so that a vector in a file can be checked against the words beside it."""

    space = SPACE

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [vector_of(text) for text in texts]

    async def close(self) -> None:
        """Holds nothing."""


def vector_of(text: str) -> bytes:
    seed = hashlib.blake2b(text.encode(), digest_size=SPACE.dimension).digest()
    axes = np.frombuffer(seed, "u1").astype("<f4") + 1
    return (axes / np.linalg.norm(axes)).astype("<f4").tobytes()


@asynccontextmanager
async def a_house(path: Path, how: Connect = connect) -> AsyncIterator[Container]:
    """A governed house on this file, as the clients open one."""
    async with opened(path, connect=how, retry_policy=ENDLESS) as store:
        container = await open_container(
            stores=[store],
            embedder=Signature(),
            embedder_key=None,
            clock=system_clock,
            governance=Governance(caller="person:torture"),
        )
        try:
            yield container
        finally:
            await container.close()


async def live(container: Container, name: str, say: Say) -> None:
    """One round of everything: each deed is said once it was acknowledged."""
    first = await _remember(container, f"{name} says one thing", say)
    second = await _remember(container, f"{name} says another thing", say)
    merge = {"canonical": first["id"], "duplicates": [second["id"]], "strategy": "merge_content"}
    say(f"change {(await ask(container, 'merge', **merge))['change_id']}")
    held = await ask(
        container, "remember", type="semantic", content=f"{name} asks first", approval_required=True
    )
    say(f"staged {held['proposal_id']}")
    approval = Decide(reach=Reach(), proposal_ids=(held["proposal_id"],), verb=Verb.APPROVE)
    done = await decide(approval, container.context)
    say(f"approved {held['proposal_id']}")
    say(f"change {done.change_id}")
    found = await ask(container, "recall", query=f"what does {name} say?")
    say(f"recalled {found['recall_id']}")
    for id, hard in ((held["id"], False), (first["id"], True)):
        gone = await ask(container, "forget", ids=[id], hard_delete=hard)
        say(f"change {gone['change_id']}")


async def _remember(container: Container, content: str, say: Say) -> dict[str, Any]:
    kept = await ask(container, "remember", type="semantic", content=content)
    say(f"change {kept['change_id']}")
    return kept


async def ask(container: Container, operation: str, **fields: object) -> dict[str, Any]:
    from memorywire.wire.codec import encode

    payload = {"agent_id": AGENT, **fields}
    answer: dict[str, Any] = encode(await dispatch(operation, payload, container, tenant=DEFAULT_TENANT))
    return answer


def live_for_ever(path: Path, writer: str, how: Connect, pipe: Connection) -> None:
    """Rounds without end, several at once; says what was acknowledged, and what went wrong."""

    async def one(container: Container, stripe: int) -> None:
        number = stripe
        while True:
            try:
                await live(container, f"{writer}n{number}", pipe.send)
            except MemorywireError as error:
                pipe.send(f"error {error}")
            number += AT_ONCE

    async def main() -> None:
        async with a_house(path, how) as container:
            await asyncio.gather(*(one(container, stripe) for stripe in range(AT_ONCE)))

    asyncio.run(main())


def kill_trial(path: Path, trial: int, writers: int, dice: random.Random, how: Connect = connect) -> set[str]:
    """Let writers live, kill them all in the middle of it, and give what they had acknowledged."""
    started = [start(live_for_ever, path, f"t{trial}w{writer}", how) for writer in range(writers)]
    processes, pipes = [process for process, _ in started], [pipe for _, pipe in started]
    with killed_at_the_end(processes):
        said = listened(pipes, dice.randrange(*DEEDS))
        processes[0].join(dice.uniform(0, 0.02))
    return said | {deed for pipe in pipes for deed in heard(pipe)}


def listened(pipes: Sequence[Connection], deeds: int) -> set[str]:
    """The first so many deeds: a busy machine takes longer for them, and is not killed any earlier."""
    said, open_ = set[str](), list(pipes)
    while len(said) < deeds and open_:
        for pipe in wait(open_):
            assert isinstance(pipe, Connection)
            try:
                said.add(pipe.recv())
            except EOFError:
                open_.remove(pipe)
    return said


def recovered(path: Path) -> None:
    """Open and close the file once, as the next process would: what the dead left behind is taken over."""

    async def main() -> None:
        async with a_house(path):
            pass

    asyncio.run(main())


def damage(path: Path, acknowledged: set[str], *, signed: bool = True) -> Damage:
    """Compare the file with what it promised; `signed` also with the checkpoints beside it."""
    db = apsw.Connection(os.fspath(path))
    try:
        db.execute("PRAGMA synchronous = OFF")  # nothing of this is kept
        return _compared(db, path, acknowledged, signed)
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        return Damage(problems=(str(error),))
    finally:
        db.close()


def _compared(db: apsw.Connection, path: Path, acknowledged: set[str], signed: bool) -> Damage:
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    if problems != ["ok"]:
        return Damage(problems=tuple(problems))
    report = (
        examine(SqliteSession(db), Signer.beside(path)).report
        if signed
        else verify(ledger.read_entries(SqliteSession(db)), (), ())
    )
    faults = [] if report.fault is None else [f"{report.fault.place}: {report.fault.reason}"]
    faults += [str(difference) for difference in compare(SqliteSession(db)).differences]
    wrong = sorted(said for said in acknowledged if said.startswith("error"))
    return Damage(
        lost=tuple(sorted(acknowledged - _kept(db) - set(wrong))),
        torn=tuple(sorted({*_torn_changes(db), *_torn_proposals(db), *_torn_recalls(db)})),
        unindexed=_unindexed(db),
        problems=(*faults, *wrong),
    )


def _kept(db: apsw.Connection) -> set[str]:
    """Everything the file vouches for, in the words of whoever was told so."""
    ask = {
        "change": "SELECT id FROM change",
        "staged": "SELECT id FROM proposal",
        "approved": "SELECT id FROM proposal WHERE state = 'approved'",
        "recalled": "SELECT id FROM recalled",
    }
    return {f"{word} {id}" for word, sql in ask.items() for (id,) in db.execute(sql)}


def _torn_changes(db: apsw.Connection) -> set[str]:
    """Changes of which the ledger and the memories do not tell the same."""
    told = {
        row.said["subject"]: row.said
        for row in ledger.read_entries(SqliteSession(db))
        if row.said["kind"] == "committed"
    }
    known: dict[str, int] = dict(db.execute("SELECT id, seq FROM change").fetchall())
    return set(told.keys() ^ known.keys()) | {
        id for id, said in told.items() if id in known and not _agrees(db, known[id], said)
    }


def _agrees(db: apsw.Connection, sequence: int, said: dict[str, Any]) -> bool:
    begun = {(one["id"], one["version"]) for one in said.get("commitments", ())}
    details = said.get("details", {})
    ended = {(id, number) for id, number, _ in details.get("ended", ())}
    erased = details.get("erased", ())
    found_begun = set(db.execute("SELECT id, number FROM version WHERE began = ?", (sequence,)))
    sql = "SELECT id, number FROM version WHERE ended = ? AND reason NOT IN ('replaced', 'erased')"
    left = "SELECT count(*) FROM version WHERE content IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
    return (
        begun == found_begun
        and set(db.execute(sql, (sequence,))) == ended - _erased_later(db, ended)
        and not db.execute(left, (json.dumps(erased),)).get
    )


def _erased_later(db: apsw.Connection, ended: set[tuple[str, int]]) -> set[tuple[str, int]]:
    """What ended here and was erased afterwards says only the latter."""
    sql = "SELECT reason FROM version WHERE id = ? AND number = ?"
    return {one for one in ended if db.execute(sql, one).get == "erased"}


def _torn_proposals(db: apsw.Connection) -> set[str]:
    """An approved proposal has its change, an approval its entry; what waits, or was erased, has none."""
    rows = {
        row.said["subject"]
        for row in ledger.read_entries(SqliteSession(db))
        if row.said["kind"] == "approved"
    }
    changes = {id for (id,) in db.execute("SELECT id FROM change")}
    torn = set()
    for id, state, body in db.execute("SELECT id, state, body FROM proposal"):
        decision = json.loads(body).get("decision") or {}
        whole = decision.get("change_id") in changes if state == "approved" else not decision
        if not whole or (id in rows) != (state == "approved"):
            torn.add(id)
    return torn


def _torn_recalls(db: apsw.Connection) -> set[str]:
    told = {
        row.said["subject"]
        for row in ledger.read_entries(SqliteSession(db))
        if row.said["kind"] == "recalled"
    }
    return told ^ {id for (id,) in db.execute("SELECT id FROM recalled")}


def _unindexed(db: apsw.Connection) -> int:
    """Versions whose text index or vector is not that of their words."""
    bad = db.execute("SELECT count(*) FROM version WHERE began NOT IN (SELECT seq FROM change)").get
    columns = ("terms", "vector", "length", "digest")
    sql = f"SELECT {', '.join(columns)}, position FROM version WHERE content IS NOT NULL ORDER BY position"
    words = "SELECT * FROM record WHERE content IS NOT NULL ORDER BY position"
    for (*found, _), row in zip(db.execute(sql).fetchall(), db.execute(words).fetchall(), strict=True):
        record = read_record(row)
        put = Put(record=record, base=Base.NOTHING, vector=vector_of(record.meaning))
        right = dict(zip(VERSION, build_version_row(put, SPACE), strict=True))
        bad += found != [right[name] for name in columns]
    return int(bad)


def wrong_vectors(path: Path, *, other: bool) -> list[str]:
    """The versions whose vector is not that of their words, in this space or in the `other` one."""
    db = apsw.Connection(os.fspath(path))
    try:
        vectors = dict(db.execute("SELECT position, vector FROM version WHERE content IS NOT NULL"))
        rows = db.execute("SELECT * FROM record WHERE content IS NOT NULL").fetchall()
    finally:
        db.close()
    wrong = []
    for row in rows:
        record = read_record(row)
        words = f"other {record.meaning}" if other else record.meaning
        right = build_version_row(Put(record=record, base=Base.NOTHING, vector=vector_of(words)), SPACE)[
            VERSION.index("vector")
        ]
        if vectors[read_position(row)] != right:
            wrong.append(f"{record.id} v{record.version}")
    return wrong

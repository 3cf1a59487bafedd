"""Users of whom everything was erased: a mark takes the place of their id in every row that stays.

The ledger never holds the id of a user, only the mark (`ledger_person` says whose it is).

Every function works inside the caller's transaction.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from memorywire.journal import ledger, rowstate
from memorywire.journal.entries import Draft
from memorywire.journal.ledger import Person
from memorywire.journal.rowstate import RowKey
from memorywire.model.record import Json, Scope
from memorywire.stores.sqlite.file import owe_scrub
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_people.sql")

# A shorter id is part of too many words that have nothing to do with the user.
_TELLING = 4


def owners(db: apsw.Connection, erased: Iterable[tuple[Scope, str]]) -> set[tuple[Person, str]]:
    """The users whose memories these are, each with the agent that erased them."""
    named: set[tuple[Person, str]] = set()
    ids: dict[tuple[str, str], list[str]] = {}
    for scope, id in erased:
        if scope.user is not None:
            named.add(((scope.tenant, scope.user), scope.agent))
        else:
            ids.setdefault((scope.tenant, scope.agent), []).append(id)
    for (tenant, agent), several in ids.items():
        users = _owners(db, tenant, several)
        named |= {((tenant, user), agent) for user in users}
    return named


def _owners(db: apsw.Connection, tenant: str, ids: Sequence[str]) -> set[str]:
    wanted = {"tenant": tenant, "ids": json.dumps(ids)}
    queries = ["owners_registered"]
    if _sees_memories(db, tenant):
        queries.append("owners_of_memories")
    return {user for query in queries for (user,) in db.execute(QUERIES[query], wanted)}


def knows_memories(db: apsw.Connection, tenant: str) -> bool:
    """Whether this database says which memories of the tenant there are.

    The journal of one store elsewhere does not: an erased memory may not have been the last of its user.
    """
    return bool(db.execute(QUERIES["is_registering"], {"tenant": tenant}).get) or _sees_memories(db, tenant)


def is_left(db: apsw.Connection, person: Person, agent: str = "") -> bool:
    """Whether anything that this user said, or that waits to be written of them, is still kept here."""
    tenant, user = person
    named = {"tenant": tenant, "user": user}
    if _sees_memories(db, tenant):
        if agent and db.execute(QUERIES["left_live"], named | {"agent": agent}).get:
            return True
        if db.execute(QUERIES["left_memories"], named).get:
            return True
    quoted = json.dumps(user, ensure_ascii=False)
    return bool(db.execute(QUERIES["left_elsewhere"], named | {"quoted": quoted}).get)


def rename(db: apsw.Connection, person: Person) -> list[RowKey]:
    """Put the mark of the user in the place of their id, everywhere but in `ledger_person`.

    Gives the rows that were changed and of which the ledger holds digests.
    """
    tenant, user = person
    named = {"tenant": tenant, "user": user, "mark": ledger.mark_for(db, person)}
    if _sees_memories(db, tenant):
        for query in ("rename_versions", "rename_changes"):
            db.execute(QUERIES[query], named)
    changed = [key for table in ("ruled", "registered") for key in _keys(db, table, named)]
    for table in ("recalls", "ruled", "registered", "ingests", "reads"):
        db.execute(QUERIES[f"rename_{table}"], named)
    if len(user) >= _TELLING:
        db.execute(QUERIES["drop_mentions"], named)
        _rewrite_runs(db, named)
    proposals = db.execute(QUERIES["proposals_of"], named).fetchall()
    for id, body in proposals:
        db.execute(QUERIES["rename_proposal"], {**named, "id": id, "body": _rewritten(body, named)})
    owe_scrub(db)
    return [*changed, *rowstate.proposals(str(id) for id, _ in proposals)]


def _keys(db: apsw.Connection, table: str, named: dict[str, str]) -> list[RowKey]:
    kind = {"ruled": "ruled", "registered": "register"}[table]
    return [(kind, tuple(key)) for key in db.execute(QUERIES[f"{table}_of"], named).fetchall()]


def forget(db: apsw.Connection, person: Person, drafts: Sequence[Draft]) -> bool:
    """Rename the user everywhere and write it down; False, and nothing is done, while something is left.

    A user whom no row names leaves no entry.
    """
    if is_left(db, person):
        return False
    tenant, user = person
    if db.execute(QUERIES["is_named"], {"tenant": tenant, "user": user}).get:
        rowstate.append(db, drafts, rename(db, person))
        remove(db, person)
    return True


def remove(db: apsw.Connection, person: Person) -> None:
    """Forget whose mark it is: nothing in the database names the user any more."""
    tenant, user = person
    db.execute(QUERIES["remove_person"], {"tenant": tenant, "user": user})


def _rewrite_runs(db: apsw.Connection, named: dict[str, str]) -> None:
    for id, body in db.execute(QUERIES["runs_naming"], named).fetchall():
        db.execute(QUERIES["rewrite_run"], {"id": id, "body": _rewritten(body, named)})
    for run, sequence, payload in db.execute(QUERIES["run_events_naming"], named).fetchall():
        place = {"run": run, "sequence": sequence}
        db.execute(QUERIES["rewrite_run_event"], place | {"payload": _rewritten(payload, named)})


def _rewritten(text: Any, named: dict[str, str]) -> str:
    """The JSON of an object with the mark wherever the id stood; the names of its fields stay."""
    fields = json.loads(text)
    rewritten = {name: _without(value, named["user"], named["mark"]) for name, value in fields.items()}
    return json.dumps(rewritten, ensure_ascii=False, separators=(",", ":"))


def _without(value: Json, user: str, mark: str) -> Json:
    if isinstance(value, str):
        if value == user:
            return mark
        return value.replace(user, mark) if len(user) >= _TELLING else value
    if isinstance(value, list):
        return [_without(item, user, mark) for item in value]
    if isinstance(value, dict):
        return {
            name.replace(user, mark) if len(user) >= _TELLING else name: _without(item, user, mark)
            for name, item in value.items()
        }
    return value


def _sees_memories(db: apsw.Connection, tenant: str) -> bool:
    """Whether the memories are in the same database; if so, those of the tenant can be seen from here."""
    if not db.execute(QUERIES["has_memories"]).get:
        return False
    db.execute(QUERIES["speak_for"], {"tenant": tenant}).fetchone()
    return True

"""Users of whom everything was erased: a mark takes the place of their id in every row that stays.

The ledger never holds the id of a user, only the mark (`ledger_person` says whose it is).

Every function works inside the caller's transaction.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from memorywire.journal import ledger, row_digests
from memorywire.journal.backend import Session
from memorywire.journal.entries import Draft
from memorywire.journal.ledger import Person
from memorywire.journal.row_digests import RowKey
from memorywire.model.record import Json, Scope

# A shorter id is part of too many words that have nothing to do with the user.
_TELLING = 4


def find_owners(db: Session, erased: Iterable[tuple[Scope, str]]) -> set[tuple[Person, str]]:
    """The users whose memories these are, each with the agent that erased them."""
    owners: set[tuple[Person, str]] = set()
    ids: dict[tuple[str, str], list[str]] = {}
    for scope, id in erased:
        if scope.user is not None:
            owners.add(((scope.tenant, scope.user), scope.agent))
        else:
            ids.setdefault((scope.tenant, scope.agent), []).append(id)
    for (tenant, agent), several in ids.items():
        users = _find_users(db, tenant, several)
        owners |= {((tenant, user), agent) for user in users}
    return owners


def _find_users(db: Session, tenant: str, ids: Sequence[str]) -> set[str]:
    bindings = {"tenant": tenant, "ids": json.dumps(ids)}
    statements = ["registered_owners"]
    if _sees_memories(db, tenant):
        statements.append("memory_owners")
    return {user for statement in statements for (user,) in db.rows(statement, bindings)}


def has_memories(db: Session, tenant: str) -> bool:
    """Whether this database says which memories of the tenant there are.

    The journal of one store elsewhere does not: an erased memory may not have been the last of its user.
    """
    return bool(db.value("has_register", {"tenant": tenant})) or _sees_memories(db, tenant)


def has_content(db: Session, person: Person, agent: str = "") -> bool:
    """Whether anything that this user said, or that waits to be written of them, is still kept here."""
    tenant, user = person
    bindings = {"tenant": tenant, "user": user}
    if _sees_memories(db, tenant):
        if agent and db.value("has_live_memories", bindings | {"agent": agent}):
            return True
        if db.value("has_contents", bindings):
            return True
    quoted = json.dumps(user, ensure_ascii=False)
    return bool(db.value("has_pending_rows", bindings | {"quoted": quoted}))


def rename(db: Session, person: Person) -> list[RowKey]:
    """Put the mark of the user in the place of their id, everywhere but in `ledger_person`.

    Gives the rows that were changed and of which the ledger holds digests.
    """
    tenant, user = person
    bindings = {"tenant": tenant, "user": user, "mark": ledger.find_mark(db, person)}
    if _sees_memories(db, tenant):
        for statement in ("rename_versions", "rename_changes"):
            db.execute(statement, bindings)
    changed: list[RowKey] = [
        (kind, tuple(key))
        for kind in ("ruled", "register")
        for key in db.rows(f"{kind}_keys_of_person", bindings)
    ]
    for table in ("recalls", "ruled", "register", "ingests", "reads"):
        db.execute(f"rename_{table}", bindings)
    if len(user) >= _TELLING:
        db.execute("drop_queries_with_person", bindings)
        _rewrite_runs(db, bindings)
    proposals = db.rows("proposals_of_person", bindings)
    for id, body in proposals:
        db.execute("rename_proposal", {**bindings, "id": id, "body": _rewrite(body, bindings)})
    db.schedule_scrub()
    return [*changed, *(key for id, _ in proposals for key in row_digests.proposal_keys(str(id)))]


def forget(db: Session, person: Person, drafts: Sequence[Draft]) -> bool:
    """Rename the user everywhere and write it down; False, and nothing is done, while something is left.

    A user whom no row names leaves no entry.
    """
    if has_content(db, person):
        return False
    tenant, user = person
    if db.value("is_person_in_rows", {"tenant": tenant, "user": user}):
        row_digests.append(db, drafts, rename(db, person))
        remove(db, person)
    return True


def remove(db: Session, person: Person) -> None:
    """Forget whose mark it is: nothing in the database names the user any more."""
    tenant, user = person
    db.execute("delete_person", {"tenant": tenant, "user": user})


def _rewrite_runs(db: Session, bindings: dict[str, str]) -> None:
    for id, body in db.rows("runs_with_person", bindings):
        db.execute("rewrite_run", {"id": id, "body": _rewrite(body, bindings)})
    for run, sequence, payload in db.rows("run_events_with_person", bindings):
        place = {"run": run, "sequence": sequence}
        db.execute("rewrite_run_event", place | {"payload": _rewrite(payload, bindings)})


def _rewrite(text: Any, bindings: dict[str, str]) -> str:
    """The JSON of an object with the mark wherever the id stood; the names of its fields stay."""
    fields = {
        name: _replace_user(value, bindings["user"], bindings["mark"])
        for name, value in json.loads(text).items()
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _replace_user(value: Json, user: str, mark: str) -> Json:
    if isinstance(value, str):
        if value == user:
            return mark
        return value.replace(user, mark) if len(user) >= _TELLING else value
    if isinstance(value, list):
        return [_replace_user(item, user, mark) for item in value]
    if isinstance(value, dict):
        return {
            name.replace(user, mark) if len(user) >= _TELLING else name: _replace_user(item, user, mark)
            for name, item in value.items()
        }
    return value


def _sees_memories(db: Session, tenant: str) -> bool:
    """Whether the memories are in the same database; if so, those of the tenant can be seen from here."""
    if not db.value("has_memories"):
        return False
    db.see_tenant(tenant)
    return True

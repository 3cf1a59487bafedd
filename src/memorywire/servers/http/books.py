"""The books as routes: the ledger, its proof, its signature, and what stores still have to write."""

import asyncio
from functools import partial

import apsw
from starlette.requests import Request
from starlette.responses import Response

from memorywire.engine.tools import unsupported
from memorywire.governance.patterns import names
from memorywire.journal import ledger
from memorywire.journal.audit import Examination, examine
from memorywire.journal.ledger import Filters, Row
from memorywire.journal.notary import Notary
from memorywire.journal.operators import Right
from memorywire.journal.sealing import exposure, seal
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.proposal import Debt
from memorywire.model.record import Json
from memorywire.servers.callers import Caller
from memorywire.servers.http.answers import as_json
from memorywire.servers.http.door import Door
from memorywire.servers.http.handlers import Endpoint, caller_of
from memorywire.servers.http.requests import query_pairs

_MOST = 1_000
_PAGE = 100
_NUMBERS = frozenset({"since", "until", "before", "limit"})
AUDIT_FIELDS = ("agent_id", "user_id", "operation", "kind", "actor", "memory", *sorted(_NUMBERS))


def audit_endpoint(door: Door) -> Endpoint:
    async def audit(request: Request) -> Response:
        """Entries of the ledger, newest first."""
        caller = caller_of(request)
        caller.require(Right.REVIEW)
        asked = _asked(query_pairs(request))
        caller.require_agent(asked, optional=True)
        before, limit = asked.pop("before", None), asked.pop("limit", _PAGE)
        named = {"agent": asked.pop("agent_id", None), "user": asked.pop("user_id", None)}
        filters = Filters(tenant=caller.tenant, **named, **asked)
        await door.journal.settle()
        found = await door.finish(
            door.journal.file.read(partial(ledger.log, filters=filters, before=before, limit=limit))
        )
        return as_json({"entries": [_entry(row) for row in found], **_further(found, limit)})

    return audit


def verify_endpoint(door: Door) -> Endpoint:
    async def verify(request: Request) -> Response:
        """Whether no entry was changed, removed, added or moved."""
        caller_of(request).require(Right.MANAGE, everywhere=True)
        _no_query(request)
        work = partial(_examined, notary=_notary(door))
        return as_json(_verdict(await door.finish(door.journal.file.read(work))))

    return verify


def checkpoint_endpoint(door: Door) -> Endpoint:
    async def checkpoint(request: Request) -> Response:
        """The newest signature; what is not signed yet is signed first."""
        caller_of(request).require(Right.MANAGE, everywhere=True)
        _no_query(request)
        notary = _notary(door)
        note = await door.finish(seal(door.journal.file, notary))
        if note is None:
            raise NotFound("the ledger is empty", fix="remember something first")
        key = await asyncio.to_thread(notary.verifier)
        return as_json({"checkpoint": note, "key": str(key)})

    return checkpoint


def debts_endpoint(door: Door) -> Endpoint:
    async def debts(request: Request) -> Response:
        """What stores have still to write, oldest first."""
        caller = caller_of(request)
        caller.require(Right.REVIEW)
        _no_query(request)
        found = await door.finish(door.journal.debts())
        mine = [debt for debt in found if _concerns(debt, caller)]
        return as_json({"debts": [debt.summary() for debt in mine]})

    return debts


async def standing(door: Door) -> dict[str, float]:
    """Figures of the books, for whoever watches over them."""
    now = door.house.tools.clock()

    def read(db: apsw.Connection) -> dict[str, float]:
        entries, _ = ledger.head(db)
        return {"ledger_entries": entries, "ledger_unsigned": exposure(db)[0]}

    debts = await door.journal.debts()
    oldest = min((debt.at for debt in debts), default=now)
    return {
        **await door.journal.file.read(read),
        "debts": len(debts),
        "oldest_debt_seconds": (now - oldest) / 1000,
    }


def _asked(pairs: list[tuple[str, str]]) -> dict[str, Json]:
    asked: dict[str, Json] = {}
    for name, text in pairs:
        if name not in AUDIT_FIELDS or name in asked:
            raise InvalidRequest(f"{name} is not a field here, or given twice", field=name)
        asked[name] = _number(name, text) if name in _NUMBERS else text
    return asked


def _number(name: str, text: str) -> int:
    lowest, most = (1, _MOST) if name == "limit" else (0, 2**53)
    if not (text.isascii() and text.isdecimal() and len(text) < 17 and lowest <= int(text) <= most):
        raise InvalidRequest(f"{name} must be an integer from {lowest} to {most}", field=name)
    return int(text)


def _no_query(request: Request) -> None:
    for name, _ in query_pairs(request):
        raise InvalidRequest(f"{name} is not a field here", field=name)


def _notary(door: Door) -> Notary:
    if door.journal.notary is None:
        raise unsupported("audit", "this journal lives in memory and signs nothing")
    return door.journal.notary


def _examined(db: apsw.Connection, notary: Notary) -> Examination:
    return examine(db, notary)


def _verdict(found: Examination) -> dict[str, Json]:
    report, fault = found.report, found.report.fault
    verdict: dict[str, Json] = {
        "ok": report.ok,
        "entries": report.entries,
        "sealed": report.sealed,
        "exposed": report.exposed,
        "checkpoints": report.checkpoints,
        "root": report.root.hex(),
    }
    if fault is not None:
        verdict["fault"] = {"entry": fault.entry, "reason": fault.reason}
    return verdict


def _entry(row: Row) -> dict[str, Json]:
    """As the wire names things: `agent_id` and `user_id`; the tenant is the caller's own."""
    said = dict(row.said)
    said["agent_id"] = said.pop("agent")
    if "user" in said:
        said["user_id"] = said.pop("user")
    del said["tenant"]
    return said


def _further(found: list[Row], limit: int) -> dict[str, Json]:
    return {"next": found[-1].seq} if len(found) == limit and found[-1].seq > 1 else {}


def _concerns(debt: Debt, caller: Caller) -> bool:
    scope = debt.change.scope
    return scope.tenant == caller.tenant and names(caller.agents, scope.agent)

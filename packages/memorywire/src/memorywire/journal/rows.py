"""Values of the journal as rows, and rows as values."""

import json
from typing import Any

from msgspec.structs import replace

from memorywire.journal.contract import Edition, Wanted
from memorywire.model.change import Change
from memorywire.model.codec import dumps, loads
from memorywire.model.proposal import Debt, Proposal, RecallNote, Risk, State
from memorywire.model.record import Scope
from memorywire.stores.sqlite.rows import Bindings, scope_row
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries.sql")


def proposal_row(proposal: Proposal) -> Bindings:
    """The row of a proposal; request and plan have columns of their own, so that an erase can clear them."""
    plan = replace(proposal, secrets=(), instructions=(), similar=(), decision=None)
    rest = replace(proposal, request=None, change=None, features=None)
    puts = proposal.change.put if proposal.change is not None else ()
    return scope_row(proposal.scope) | {
        "id": proposal.id,
        "state": proposal.state.value,
        "revision": proposal.revision,
        "batch": proposal.batch,
        "key": proposal.key,
        "digest": puts[0].record.digest if len(puts) == 1 else None,
        "risk": list(Risk).index(proposal.risk),
        "expires_at": proposal.expires_at,
        "body": dumps(rest),
        "plan": dumps(plan) if proposal.request is not None else None,
    }


def proposal_from(row: tuple[str, str | None, str, int]) -> Proposal:
    """The proposal in a row; its state and revision are those of the row, which an erase may have changed."""
    body, plan, state, revision = row
    proposal = replace(loads(Proposal, body), state=State(state), revision=revision)
    if plan is None:
        return proposal
    planned = loads(Proposal, plan)
    return replace(proposal, request=planned.request, change=planned.change, features=planned.features)


def wanted_row(wanted: Wanted) -> Bindings:
    return {
        "tenant": wanted.tenant,
        "agent": wanted.agent,
        "user": wanted.user,
        "batch": wanted.batch,
        "rule": wanted.rule,
        "text": wanted.text,
        "states": json.dumps([state.value for state in wanted.states or State]),
        "after": wanted.after,
        "limit": wanted.limit,
    }


def debt_row(debt: Debt) -> Bindings:
    return {
        "store": debt.store,
        "change": debt.change.id,
        "at": debt.at,
        "tries": debt.tries,
        "due_at": debt.due_at,
        "error": debt.error,
        "body": dumps(debt.change),
    }


def debt_from(row: tuple[str, int, int, int, str | None, str, int]) -> Debt:
    store, at, tries, due_at, error, body, position = row
    return Debt(
        store=store,
        change=loads(Change, body),
        at=at,
        tries=tries,
        due_at=due_at,
        error=error,
        position=position,
    )


def edition_row(edition: Edition) -> Bindings:
    return {
        "tenant": edition.tenant,
        "number": edition.number,
        "at": edition.at,
        "by": edition.by,
        "rules": json.dumps(edition.rules, ensure_ascii=False),
    }


def edition_from(row: tuple[int, int, str, str, str]) -> Edition:
    number, at, by, rules, tenant = row
    return Edition(tenant=tenant, number=number, at=at, by=by, rules=tuple(json.loads(rules)))


def recall_row(note: RecallNote) -> Bindings:
    return scope_row(note.scope) | {
        "id": note.id,
        "at": note.at,
        "caller": note.caller,
        "verdict": note.verdict,
        "count": len(note.hits),
        "query": note.query,
        "hits": json.dumps(note.hits, ensure_ascii=False),
        "details": json.dumps(note.details, ensure_ascii=False) if note.details is not None else None,
    }


def recall_from(row: tuple[Any, ...]) -> RecallNote:
    id, tenant, agent, user, at, caller, query, verdict, hits, details = row
    return RecallNote(
        id=id,
        at=at,
        scope=Scope(tenant=tenant, agent=agent, user=user),
        caller=caller,
        query=query or "",
        verdict=verdict,
        hits=tuple((hit[0], hit[1], hit[2]) for hit in json.loads(hits)),
        details=None if details is None else json.loads(details),
    )

"""Erase a user: all data of the user, for one agent or the whole tenant.

The ledger lists every memory a user ever had: current, ended and proposed ones. They are erased in each
agent's store by a hard delete. When no data of the user is left, the journal replaces the user's id in all
remaining rows by a salted digest, and drops the salt.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from memorywire.journal import ledger
from memorywire.model.answers import Forgotten
from memorywire.model.oversight import AgentErased, Erase, Erased
from memorywire.model.record import Scope
from memorywire.model.requests import Forget
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import forget
from memorywire.stores.contract import RemovesUsers, SupportsReplicas

_BATCH = 1_000


async def erase(request: Erase, context: Context) -> Erased:
    """Erase all memories of a user; without an agent, those of every agent of the tenant."""
    agents = await _erase_in_agents(request, context)
    waiting = sum(len(one.waiting_ids) for one in agents)
    return Erased(
        user_id=request.user_id,
        erased=sum(len(one.erased_ids) for one in agents),
        waiting=waiting,
        id_removed=not (request.dry_run or waiting) and await _remove_id(request, context),
        agents=tuple(agents),
        dry_run=request.dry_run,
    )


async def _erase_in_agents(request: Erase, context: Context) -> list[AgentErased]:
    agents = []
    for agent, ids in (await _find_memories(request, context)).items():
        scope = Scope(tenant=request.tenant, agent=agent, user=request.user_id)
        receipts = await _erase_in_agent(request, scope, ids, context)
        if receipts:
            agents.append(_summarize(agent, receipts))
    return agents


async def _remove_id(request: Erase, context: Context) -> bool:
    """Remove the user's id from the remaining rows; False while another agent has data of the user."""
    if request.agent_id is not None:
        others = replace(request, agent_id=None, dry_run=True)
        if await _erase_in_agents(others, context):
            return False
    governance = context.require_governance()
    person = (request.tenant, request.user_id)
    return await governance.journal.forget_person(
        person, actor=governance.caller, at=context.clock()
    ) and await _remove_from_replicas(*person, context)


async def _remove_from_replicas(tenant: str, user: str, context: Context) -> bool:
    """Remove the id from all replicas but the first; False if one of them does not support that."""
    store = context.store
    if not isinstance(store, SupportsReplicas):
        return True
    others = [store.replica(name) for name in store.replica_names[1:]]
    able = [one for one in others if isinstance(one, RemovesUsers)]
    for one in able:
        await one.remove_user(tenant, user, f"erased:{context.mint()}")
    return len(able) == len(others)


async def _find_memories(request: Erase, context: Context) -> Mapping[str, list[str]]:
    """Return the ids of all memories of the user in the ledger, by agent."""
    filters = ledger.Filters(tenant=request.tenant, agent=request.agent_id, user=request.user_id)
    journal = context.require_governance().journal
    rows = await journal.audit(lambda db: ledger.filter_entries(db, filters))
    by_agent: dict[str, dict[str, None]] = {}
    for entry in (row.said for row in rows):
        ids = [one["id"] for one in entry.get("commitments", ())]
        ids += entry.get("details", {}).get("memories", ())
        by_agent.setdefault(entry["agent"], {}).update(dict.fromkeys(ids))
    return {agent: list(ids) for agent, ids in sorted(by_agent.items())}


async def _erase_in_agent(
    request: Erase, scope: Scope, ids: Sequence[str], context: Context
) -> list[Forgotten]:
    """Erase in batches; returns the receipts of batches in which something was, or would be, erased."""
    serving = await context.serving(scope)
    receipts = []
    for start in range(0, len(ids), _BATCH):
        batch = tuple(ids[start : start + _BATCH])
        one = Forget(scope=scope, ids=batch, hard_delete=True, reason=request.reason, dry_run=request.dry_run)
        receipt = await forget(one, serving)
        if receipt.forgotten_ids or receipt.would_forget_ids:
            receipts.append(receipt)
    return receipts


def _summarize(agent: str, receipts: Sequence[Forgotten]) -> AgentErased:
    held = [one for one in receipts if one.pending_approval]
    return AgentErased(
        agent_id=agent,
        erased_ids=tuple(id for one in receipts for id in one.forgotten_ids),
        waiting_ids=tuple(id for one in held for id in one.would_forget_ids or ()),
        proposal_ids=tuple(one.proposal_id for one in held if one.proposal_id is not None),
        outcomes=tuple(outcome for one in receipts for outcome in one.stores),
    )

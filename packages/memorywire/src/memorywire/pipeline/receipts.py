"""The receipts of a remember: for a new memory, for a duplicate, and for a request that was sent before."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict

from memorywire.model.answers import Outcome, Remembered, Status
from memorywire.model.change import Footprint, Version
from memorywire.model.errors import IdempotencyConflict, Refused
from memorywire.model.proposal import WAITING, Proposal
from memorywire.model.record import Scope
from memorywire.model.requests import Remember
from memorywire.model.values import maker
from memorywire.pipeline.commit import Submitted, committed, staged
from memorywire.pipeline.context import Context


def receipt(done: Submitted, id: str, version: int, at: int) -> Remembered:
    """The receipt of what was just submitted.

    A request that waits already keeps the id it waits under: that is the id that will exist.
    """
    if done.held is not None and done.held.put:
        record = done.held.put[0].record
        id, version, at = record.id, record.version, done.held.at
    return maker(Remembered)(
        id=id,
        version=version,
        stored_at=at,
        status=done.status,
        stores=done.stores,
        outcomes=done.outcomes,
        change_id=done.change_id,
        pending_approval=done.staged,
        approval_url=done.approval_url,
        proposal_id=done.proposal_id,
        rule=done.rule,
        degraded=done.degraded,
    )


def known(context: Context, id: str, version: int, at: int, change_id: str | None) -> Remembered:
    """The receipt of a duplicate: the memory was there already."""
    return Remembered(
        id=id,
        version=version,
        stored_at=at,
        status=Status.DUPLICATE,
        stores=context.names,
        outcomes=tuple(Outcome(store=name) for name in context.names),
        change_id=change_id,
    )


def stored_key(request: Remember) -> str | None:
    """The idempotency key as it is kept: a user's keys are apart from those of the agent's other users.

    Stores know one key for each agent. A key that another user has used must neither conflict nor replay.
    """
    key, user = request.idempotency_key, request.scope.user
    if key is None or user is None:
        return key
    digest = hashlib.blake2b(f"{len(user)}:{user}{key}".encode(errors="surrogatepass"), digest_size=20)
    return f"user:{digest.hexdigest()}"


async def replayed(request: Remember, context: Context) -> Remembered | None:
    """The receipt of the same request sent before under its idempotency key; None for a new key.

    A user's key may have been kept as it was given, by an earlier release: then it counts for that user.
    """
    historian = context.historian("idempotency_key")
    agent = Scope(agent=request.scope.agent, tenant=request.scope.tenant)
    keys = dict.fromkeys(key for key in (stored_key(request), request.idempotency_key) if key is not None)
    user = request.scope.user
    for key in keys:
        earlier = await historian.committed(agent, key)
        if earlier is not None and user in (None, earlier.change.scope.user):
            return await _receipt_again(earlier, request, agent, context)
        held = await _held(request, key, agent, context)
        if held is not None:
            return held
    return None


async def _receipt_again(earlier: Footprint, request: Remember, agent: Scope, context: Context) -> Remembered:
    """The receipt of a change that was committed under the key of this request."""
    historian = context.historian("idempotency_key")
    _refuse_another(earlier.change.fingerprint, request)
    if earlier.change.about is not None:
        chain = await historian.history(agent, earlier.change.about)
        return _found_again(earlier, chain, context)
    written = earlier.began[0]
    memories = len({version.id for version in (*earlier.began, *earlier.ended)})
    done = committed(earlier.change.id, memories, context)
    return receipt(done, written.id, written.number, earlier.change.at)


async def _held(request: Remember, key: str, agent: Scope, context: Context) -> Remembered | None:
    """The receipt of a request that is still held; raises Refused once a person has said no."""
    if context.office is None:
        return None
    proposal = await context.office.journal.keyed(agent, key)
    if proposal is None or request.scope.user not in (None, proposal.scope.user):
        return None
    if proposal.change is not None:
        _refuse_another(proposal.change.fingerprint, request)
    if proposal.state not in WAITING:
        raise Refused(
            f"this was held, and the proposal is {proposal.state}: {_said(proposal)}",
            field="idempotency_key",
            fix="use a new key to ask again",
        )
    return _still_held(proposal, context)


def _still_held(proposal: Proposal, context: Context) -> Remembered | None:
    change = proposal.change
    if change is None or not change.put:
        return None
    record = change.put[0].record
    return receipt(staged(proposal, context), record.id, record.version, change.at)


def _said(proposal: Proposal) -> str:
    decision = proposal.decision
    return "nobody decided in time" if decision is None else decision.reason or f"decided by {decision.by}"


def _refuse_another(earlier: str | None, request: Remember) -> None:
    if earlier is None:
        raise IdempotencyConflict(
            "what this key wrote or found was erased since; nobody can tell if this is the same request",
            field="idempotency_key",
            fix="use a new key to write it again",
        )
    if earlier != fingerprint(request):
        raise IdempotencyConflict(
            "this idempotency_key was used for another request",
            field="idempotency_key",
            fix="use a new key for a new request",
        )


def _found_again(earlier: Footprint, chain: Sequence[Version], context: Context) -> Remembered:
    """The receipt of a duplicate, with its twin as it was when the key was first used."""
    twin = [version for version in chain if version.began <= earlier.sequence][-1]
    named = earlier.change.id if earlier.ended else None
    return known(context, twin.id, twin.number, twin.began_at, named)


def fingerprint(request: Remember) -> str | None:
    """A digest that is equal for equal requests; None without a key, because then nothing is compared."""
    if request.idempotency_key is None:
        return None
    return hashlib.blake2b(json.dumps(asdict(request), sort_keys=True).encode(), digest_size=16).hexdigest()

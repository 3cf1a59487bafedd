"""The journal contract as checks that run against any journal backend.

Each check gets a journal and the store that shares its database, and uses a separate tenant.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from msgspec.structs import replace

from memorywire.journal.acts import Act, Edition, Wanted, Words
from memorywire.journal.audit import examine
from memorywire.journal.definitions import Definitions, hash_definition
from memorywire.journal.entries import Entry, contents_of
from memorywire.journal.ingest_queue import IngestQueue
from memorywire.journal.journal import Journal
from memorywire.journal.ledger import Filters
from memorywire.journal.operators import Operator, Operators, Registry, Role
from memorywire.journal.runs import Run, RunEvent, RunRead, Runs, RunStatus
from memorywire.journal.webhooks import Letter, Webhook, Webhooks
from memorywire.model import definition
from memorywire.model.errors import Conflict, NotFound
from memorywire.model.layer import Conversation, Event, EventState, Fact
from memorywire.model.proposal import Decision, OutboxEntry, Proposal, RecallNote, State
from memorywire.model.record import Scope
from memorywire.model.requests import Forget
from memorywire.stores.contract import Store
from memorywire_testing.expect import find_checks, holds, must_refuse, present, refused, same
from memorywire_testing.samples import NOW, a_change, a_name, a_record, a_scope, beginning, ending, records

JournalCheck: TypeAlias = Callable[[Journal, Store], Awaitable[None]]

_ODD = 'a "quoted" text, a NUL \x00 and a \x01, ünïcödé'


def _scope(user: str | None = None) -> Scope:
    return a_scope(user, tenant=a_name("tenant"))


def _entry(scope: Scope, kind: str = "committed", **fields: object) -> Entry:
    entry = Entry(at=NOW, operation="remember", scope=scope, actor="ana", kind=kind)
    return replace(entry, **fields)


def _proposal(scope: Scope, content: str = "the kettle is blue") -> Proposal:
    record = a_record(scope, content)
    return Proposal(
        id=a_name("proposal"),
        at=NOW,
        scope=scope,
        caller="agent",
        operation="remember",
        rule="untrusted",
        why="it is not trusted",
        request=Forget(scope=scope, ids=(record.id,), reason="tidy"),
        change=a_change(scope, beginning(record)),
    )


def _decide(proposal: Proposal) -> Proposal:
    decision = Decision(by="ben", at=NOW)
    return replace(proposal, state=State.APPROVED, decision=decision, revision=proposal.revision + 1)


async def entries_are_numbered_without_gaps(journal: Journal, store: Store) -> None:
    scope = _scope()
    first = await journal.read_last_sequence()
    for _ in range(3):
        await journal.write(Act(entries=(_entry(scope), _entry(scope))))
    numbers = [row.seq for row in await journal.filter_entries(Filters(tenant=scope.tenant))]
    same(numbers, list(range(first + 6, first, -1)))
    holds((await journal.audit(lambda db: examine(db, journal.signer))).ok, "the ledger does not verify")


async def entries_are_found_by_what_they_name(journal: Journal, store: Store) -> None:
    scope, subject = _scope("ana"), a_name("change")
    change = a_change(scope, beginning(a_record(scope)))
    entry = _entry(scope, subject=subject, contents=contents_of(change), details={"text": _ODD})
    await journal.write(Act(entries=(entry, _entry(replace(scope, user=None), "refused"))))
    memory = change.put[0].record.id
    for filters in (Filters(user="ana"), Filters(kind="committed"), Filters(memory=memory)):
        found = await journal.filter_entries(replace(filters, tenant=scope.tenant))
        same([row.said.get("subject") for row in found], [subject])
    [about] = await journal.find_entries(scope.tenant, subject)
    same((about["details"], about["user"]), ({"text": _ODD}, "ana"))
    same(await journal.filter_entries(Filters(tenant=scope.tenant, until=NOW)), [])
    events, _ = await journal.find_events(0, tenant=scope.tenant, limit=10)
    same([event.kind for event in events], ["committed", "refused"])
    holds(scope.tenant in await journal.list_tenants(), "the tenant is not listed")


async def a_change_and_its_act_are_one_transaction(journal: Journal, store: Store) -> None:
    scope = _scope()
    proposal, record = _proposal(scope), a_record(scope)
    await journal.write(Act(proposals=(proposal,)))
    change = a_change(scope, beginning(record))
    await journal.write(Act(proposals=(_decide(proposal),), entries=(_entry(scope),)), change)
    same(await store.get(scope, [record.id]), [record])
    late = a_change(scope, beginning(a_record(scope, "other words")))
    with refused(Conflict):
        await journal.write(Act(proposals=(_decide(proposal),), entries=(_entry(scope),)), late)
    same(await store.get(scope, [late.put[0].record.id]), [])
    same(len(await journal.filter_entries(Filters(tenant=scope.tenant))), 1)


async def an_error_concerns_its_change_alone(journal: Journal, store: Store) -> None:
    scope = _scope()
    kept = records(scope, 3)
    taken = replace(kept[0], content="other words")
    changes = [a_change(scope, beginning(record)) for record in (*kept, taken)]
    acts = [Act(entries=(_entry(scope, subject=change.id),)) for change in changes]
    acts[1] = replace(acts[1], ruled=((scope, "trusted", changes[1].id),))
    results = await journal.commit(acts[:1], changes[:1])
    results += await journal.commit(acts[1:], changes[1:])
    same([type(result) for result in results], [int, int, int, Conflict])
    same(await store.get(scope, [record.id for record in kept]), kept)
    rows = await journal.filter_entries(Filters(tenant=scope.tenant))
    same({row.said["subject"] for row in rows}, {change.id for change in changes[:3]})
    same(await journal.list_ruled(scope.tenant, "trusted"), [(scope, changes[1].id)])


async def a_proposal_is_read_as_it_was_written(journal: Journal, _: Store) -> None:
    scope = _scope("ana")
    proposals = [_proposal(scope, f"{_ODD} {number}") for number in range(3)]
    for proposal in proposals:
        await journal.write(Act(proposals=(proposal,)))
    same(await journal.find_proposal(scope.tenant, proposals[0].id), proposals[0])
    same(await journal.list_proposals(Wanted(tenant=scope.tenant, limit=2)), proposals[:2])
    same(await journal.list_proposals(Wanted(tenant=scope.tenant, after=proposals[1].id)), proposals[2:])
    same(await journal.list_proposals(Wanted(tenant=scope.tenant, text="ünïcödé 1")), [proposals[1]])
    same(await journal.count_proposals(Wanted(tenant=scope.tenant, rule="untrusted")), 3)
    same(dict(await journal.count_waiting(scope.tenant)), {scope.agent: 3})
    decided = _decide(proposals[0])
    await journal.write(Act(proposals=(decided,)))
    same(
        await journal.list_proposals(Wanted(tenant=scope.tenant, states=frozenset({State.APPROVED}))),
        [decided],
    )
    worst = await journal.list_proposals(Wanted(tenant=scope.tenant, by_risk=True, limit=1))
    same([one.id for one in worst], [proposals[2].id])


async def the_outbox_keeps_its_order_until_it_is_acknowledged(journal: Journal, _: Store) -> None:
    scope, name = _scope(), a_name("store")
    changes = [a_change(scope, beginning(record)) for record in records(scope, 3)]
    await journal.write(Act(outbox=tuple(OutboxEntry(store=name, change=one, at=NOW) for one in changes)))
    same([entry.change.id for entry in await journal.list_outbox(name)], [change.id for change in changes])
    holds(name in await journal.find_lagging(NOW + 1), "a store with an old entry does not lag")
    holds(name not in await journal.find_lagging(NOW), "a store with a new entry lags")
    first = ((name, changes[0].id),)
    await journal.write(Act(acknowledged=first, if_pending=True))
    same(
        [entry.change.id for entry in await journal.list_outbox(name)], [change.id for change in changes[1:]]
    )
    with refused(Conflict):
        await journal.write(Act(acknowledged=first, if_pending=True, entries=(_entry(scope),)))
    same(await journal.filter_entries(Filters(tenant=scope.tenant)), [])
    [entry] = await journal.list_outbox(name, limit=1)
    await journal.write(Act(outbox=(replace(entry, tries=1, error=_ODD),)))
    same((await journal.list_outbox(name))[0], replace(entry, tries=1, error=_ODD))


async def an_edition_of_the_rules_is_taken_once(journal: Journal, _: Store) -> None:
    tenant = a_name("tenant")
    editions = [
        Edition(number=number, at=NOW, by="ana", rules=({"text": _ODD},), tenant=tenant) for number in (1, 2)
    ]
    for edition in editions:
        await journal.write(Act(edition=edition))
    same(await journal.find_edition(tenant), editions[1])
    same(await journal.list_editions(tenant), editions[::-1])
    await must_refuse(journal.write(Act(edition=replace(editions[1], by="ben"))), Conflict)


async def the_register_follows_changes_in_any_order(journal: Journal, _: Store) -> None:
    scope = _scope("ana")
    record = a_record(scope)
    await journal.write(Act(registered=a_change(scope, beginning(replace(record, version=2)))))
    await journal.write(Act(registered=a_change(scope, beginning(record))))
    known = (await journal.find_registered(scope.tenant, [record.id, "unknown"]))[record.id]
    same((known.version, known.live, known.scope), (2, True, scope))
    await journal.write(Act(registered=replace(a_change(scope), erase=(record.id,))))
    holds(
        not (await journal.find_registered(scope.tenant, [record.id]))[record.id].live,
        "an erased memory is live",
    )


async def rejected_words_are_known_until_they_are_accepted(journal: Journal, _: Store) -> None:
    words = Words(tenant=a_name("tenant"), digest=a_name("digest").encode(), proposal=a_name("proposal"))
    before = await journal.read_rejected_position()
    await journal.write(Act(rejected=(words,)))
    holds(await journal.read_rejected_position() != before, "a rejection leaves the mark as it was")
    holds(words.digest in await journal.list_rejected_digests(), "a rejected digest is missing")
    await journal.write(Act(accepted=(words,)))
    holds(words.digest not in await journal.list_rejected_digests(), "an accepted digest is still there")
    same(await journal.read_words_key(), await journal.read_words_key())


async def a_recall_is_in_the_log_and_in_the_ledger(journal: Journal, _: Store) -> None:
    scope = _scope("ana")
    notes = [
        RecallNote(
            id=a_name("recall"),
            at=NOW + number,
            scope=scope,
            caller="ana",
            query=_ODD,
            verdict="allow",
            hits=((f"memory {number}", 1, 0.5),),
            details={"text": _ODD},
        )
        for number in range(3)
    ]
    for note in notes:
        journal.note_recall(note)
    same(await journal.find_recall(scope.tenant, notes[0].id), notes[0])
    same(await journal.list_recalls(scope.tenant, memory="memory 1", limit=10), [notes[1]])
    same(await journal.count_recalled(scope.tenant, NOW), [(NOW + 1, 1), (NOW + 2, 1)])
    same(len(await journal.filter_entries(Filters(tenant=scope.tenant, kind="recalled"))), 3)
    await journal.drop_queries(NOW + 1)
    dropped = present(
        await journal.find_recall(scope.tenant, notes[0].id), "a recall whose query was dropped"
    )
    same((dropped.query, dropped.hits), ("", notes[0].hits))


async def an_erase_takes_proposals_and_the_id_of_the_user(journal: Journal, store: Store) -> None:
    scope = _scope("a person with a long name")
    record = a_record(scope)
    change = a_change(scope, beginning(record))
    await journal.write(Act(entries=(_entry(scope, contents=contents_of(change)),)), change)
    proposal = replace(_proposal(scope), change=a_change(scope, ending(record)))
    await journal.write(Act(proposals=(proposal,)))
    same(await journal.find_proposed(scope, [record.id]), frozenset({record.id}))
    holds(
        not await journal.forget_person((scope.tenant, str(scope.user)), actor="ana", at=NOW),
        "content is left",
    )
    erasing = replace(a_change(scope), erase=(record.id,))
    act = Act(entries=(_entry(scope, "erased", operation="forget"),), erased=((scope, record.id),))
    await journal.write(act, erasing)
    same(await store.get(scope, [record.id]), [])
    left = present(await journal.find_proposal(scope.tenant, proposal.id), "a proposal after an erase")
    same((left.change, left.request), (None, None))
    same(await journal.filter_entries(Filters(tenant=scope.tenant, user=scope.user)), [])
    holds((await journal.audit(lambda db: examine(db, journal.signer))).ok, "the ledger does not verify")


async def an_operator_is_recognised_until_it_is_revoked(journal: Journal, _: Store) -> None:
    operators, name = Operators(journal), a_name("operator").replace(" ", "-")
    registry = Registry(journal=journal, clock=lambda: NOW, actor="ana")
    operator = Operator(name=name, role=Role.READER, made_at=NOW, tenants=("*",))
    issued = await registry.add(operator)
    holds(await operators.has_any(), "there is an operator, and none is said to be there")
    same(present(await operators.recognise(issued.secret, NOW), "the operator of a token")[0], operator)
    rotated = await registry.rotate(name, overlap_ms=10)
    same(await operators.recognise(issued.secret, NOW + 10), None)
    await operators.note_use(rotated.token.id, NOW)
    holds(await registry.revoke(name), "a revocation did nothing")
    holds(not await registry.revoke(name), "a second revocation did something")
    same(await operators.recognise(rotated.secret, NOW), None)
    await must_refuse(registry.add(operator), Conflict)


async def a_webhook_is_leased_by_one_process(journal: Journal, _: Store) -> None:
    webhooks, id = Webhooks(journal), a_name("webhook")
    webhook = Webhook(id=id, url="https://a.example", secret=_ODD, tenant="t", made_at=NOW, position=1)
    await webhooks.add(webhook, actor="ana")
    holds(webhook in await webhooks.list_all(), "a webhook is not as it was added")
    holds(await webhooks.lease(webhook, NOW), "the first lease failed")
    holds(not await webhooks.lease(webhook, NOW + 1), "a webhook was leased twice")
    await webhooks.fail(id, tries=1, due_at=NOW, error=_ODD)
    await webhooks.bury(id, Letter(event=2, at=NOW, error=_ODD))
    same(await webhooks.list_dead_letters(id), [Letter(event=2, at=NOW, error=_ODD)])
    [stored] = [one for one in await webhooks.list_all() if one.id == id]
    same((stored.position, stored.tries, stored.buried), (2, 0, 1))
    await webhooks.remove(id, tenant="t", actor="ana", at=NOW)
    await must_refuse(webhooks.remove(id, tenant="t", actor="ana", at=NOW), NotFound)


async def a_conversation_waits_until_it_is_read(journal: Journal, _: Store) -> None:
    queue, scope = IngestQueue(journal), _scope("ana")
    event = Event(
        id=a_name("event"),
        scope=scope,
        at=NOW,
        state=EventState.PENDING,
        due_at=NOW,
        caller="ana",
        conversation=Conversation(turns=()),
    )
    await queue.add(event, _entry(scope, "accepted"))
    same(await queue.find(scope.tenant, event.id), event)
    same(present(await queue.lease(NOW, NOW + 10), "an event that is due").id, event.id)
    same(await queue.lease(NOW, NOW + 10), None)
    await queue.set_facts(event.id, [Fact(text=_ODD)])
    same(present(await queue.find(scope.tenant, event.id), "an event").found, (Fact(text=_ODD),))
    done = replace(event, state=EventState.DONE, memories=("m",))
    await queue.end(done, drop_before=NOW)
    ended = present(await queue.find(scope.tenant, event.id), "an event that ended")
    same((ended.state, ended.memories, ended.conversation), (EventState.DONE, ("m",), None))


async def a_definition_serves_the_agents_that_are_bound_to_it(journal: Journal, _: Store) -> None:
    definitions, tenant = Definitions(journal), a_name("tenant")
    tenancy = {"kind": "shared_key_with_prefix", "pattern": "t-{tenant_id}-"}
    document = {"name": "local", "url": "sqlite:///tmp/x.db", "tenancy": tenancy}
    made = definition.definition_of(document)
    edition = definition.Edition(
        definition=made, digest=hash_definition(made), tenant=tenant, number=0, made_at=NOW, made_by="ana"
    )
    entry = _entry(Scope(tenant=tenant, agent="a"), "defined", operation="backend")
    await definitions.add(edition, entry)
    await definitions.add(edition, entry)
    [stored] = await definitions.list_editions(tenant)
    same((stored.number, stored.definition), (1, made))
    await definitions.bind(stored, "a", NOW, "ana", entry)
    same((await definitions.find(tenant, "local")).agents, ("a",))
    await must_refuse(definitions.retire(await definitions.find(tenant, "local"), NOW, entry), Conflict)
    await definitions.unbind(tenant, "a", entry)
    await must_refuse(definitions.unbind(tenant, "a", entry), NotFound)


async def a_run_is_repeated_with_its_events_and_reads(journal: Journal, _: Store) -> None:
    runs, scope = Runs(journal), _scope("ana")
    run = Run(id=a_name("run"), tenant=scope.tenant, caller="ana", workflow="w", at=NOW, moments={"m": "c"})
    event = RunEvent(id=a_name("event"), run=run.id, at=NOW, type="run.started", payload={"text": _ODD})
    await runs.begin(run, event)
    same(await runs.find(scope.tenant, run.id), run)
    holds(run in await runs.list_open(NOW + 1), "a run that began is not open")
    reads = [RunRead(scope=scope, id="m", version=1)]
    await runs.add_reads(run.id, reads)
    ended = replace(run, status=RunStatus.COMPLETED, ended_at=NOW)
    await runs.end(ended, replace(event, id=a_name("event")))
    await must_refuse(runs.end(ended, replace(event, id=a_name("event"))), Conflict)
    again = replace(ended, id=a_name("run"), parent=run.id)
    await runs.repeat(again, ended, lambda: a_name("event"))
    same([one.sequence for one in await runs.list_events(again.id)], [1, 2])
    same(await runs.list_reads(again), reads)


async def the_status_counts_what_waits(journal: Journal, _: Store) -> None:
    scope, name = _scope(), a_name("store")
    before = await journal.read_status()
    change = a_change(scope, beginning(a_record(scope)))
    act = Act(
        entries=(_entry(scope),),
        proposals=(_proposal(scope),),
        outbox=(OutboxEntry(store=name, change=change, at=NOW),),
    )
    await journal.write(act)
    after = await journal.read_status()
    same((after.entries, after.proposals.count), (before.entries + 1, before.proposals.count + 1))
    same((after.outbox[name].count, after.outbox[name].since), (1, NOW))


async def a_signature_covers_every_entry(journal: Journal, _: Store) -> None:
    scope = _scope()
    if journal.signer is None:
        return
    for count in (1, 2):
        await journal.write(Act(entries=tuple(_entry(scope) for _ in range(count))))
        present(await journal.sign(), "a signature")
        report = (await journal.audit(lambda db: examine(db, journal.signer))).report
        same((report.fault, report.exposed), (None, 0))


JOURNAL_CHECKS: tuple[JournalCheck, ...] = tuple(find_checks(sys.modules[__name__]))

"""The inbox: pending proposals, highest risk first, with everything needed to decide."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.proposal import (
    WAITING,
    Annotate,
    Inbox,
    Proposal,
    Queue,
    Reach,
    Reviewed,
    State,
    Verb,
)
from memorywire.model.record import Json
from memorywire.pipeline.review import annotate
from memorywire.pipeline.review import inbox as list_proposals
from memorywire.wire import strict
from memorywire.wire.codec import encode
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, show_text, whole
from memorywire_server.console.sessions import PATH, Note
from memorywire_server.http.endpoint import permit

FILTERS = {"agent": "agent_id", "rule": "held_by", "q": "text", "batch": "batch", "queue": "queue"}
"""The parameters of a URL that filter the inbox, and the request fields for them."""

QUEUES = {"": "All", "mine": "Mine", "nobody": "Unassigned", "snoozed": "Snoozed"}
"""The queues of the inbox; any other value is the name of a reviewer."""

SNOOZES = {"4 hours": DAY_MS // 6, "1 day": DAY_MS, "3 days": 3 * DAY_MS, "1 week": 7 * DAY_MS}

MOST = 1_000
"""The most proposals that can be decided at once."""

_PAGE = 50
_LOOK = 100
_SAMPLE = 12


async def count_pending(page: Page) -> int:
    """Count the pending proposals that the viewer may see, without the filters of the page."""
    if page.limited:
        return sum(one["waiting"] for one in (await page.call("agents"))["items"])
    total: int = (await find_proposals(page, {}, limit=1, of_all=True))["total"]
    return total


async def inbox(page: Page) -> Response:
    """Show a page of the queue and the selected proposal: the one in the URL, else the first.

    A proposal decided meanwhile is still shown: replacing it could lead to a wrong decision.
    """
    place = await page.console.service.feed.now()
    proposals = await find_proposals(page, page.query, limit=_PAGE)
    ids = [item["id"] for item in proposals["items"]]
    selected = None
    if "at" in page.query:
        with suppress(NotFound):
            selected = await load_proposal(page, page.query["at"])
    if selected is None and ids:
        selected = await load_proposal(page, ids[0])
    at = None if selected is None else selected["proposal"]["id"]
    neighbours = []  # to show after a decision: the next one, or at the end the previous one
    if at in ids:
        index = ids.index(at)
        neighbours = [*ids[index + 1 : index + 2], *ids[:index][-1:]]
    return await page.show(
        "inbox.html",
        found=proposals,
        filters=filters(page.query),
        at=at,
        shown=selected,
        next=neighbours[0] if neighbours else None,
        may_decide=page.may(Right.REVIEW),
        queues=QUEUES,
        snoozes=list(SNOOZES),
        stream=page.link("/events", after=place),
    )


async def proposal(page: Page) -> Response:
    """Show a pending or decided proposal; receipts link here."""
    document = await load_proposal(page, page.query.get("id", ""))
    values: dict[str, Any] = {
        "shown": document,
        "may_decide": page.may(Right.REVIEW),
        "snoozes": list(SNOOZES),
    }
    return await page.show("proposal.html", **values, next=None)


async def raw(page: Page) -> Response:
    """Show a proposal as JSON."""
    return show_text(await page.call("proposal", agent_id=page.agent, proposal_id=page.query.get("id", "")))


async def everything(page: Page) -> Response:
    """Show the number and a sample of the proposals that a filter matches, before deciding all at once."""
    place = await page.console.service.feed.now()
    proposals = await find_proposals(page, page.query, limit=_LOOK)
    stale = await find_proposals(page, page.query, limit=1, states=[State.STALE])
    agents = list(dict.fromkeys(item["agent_id"] for item in proposals["items"]))
    if len(agents) == 1 and len(proposals["items"]) < proposals["total"]:  # others may be of other agents
        same = await find_proposals(page, {**page.query, "agent": agents[0]}, limit=1)
        agents += [] if same["total"] == proposals["total"] else [""]
    return await page.show(
        "everything.html",
        found=proposals,
        filters=filters(page.query),
        sample=proposals["items"][:_SAMPLE],
        agents=agents,
        stale=stale["total"],
        most=MOST,
        place=place,
    )


def filters(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields[name] for name in FILTERS if fields.get(name)}


async def find_proposals(
    page: Page,
    fields: Mapping[str, str],
    *,
    limit: int,
    states: Sequence[State] = (),
    of_all: bool = False,
) -> dict[str, Json]:
    """Find proposals by filter, with reviewers' notes; without a queue, those that are not snoozed.

    `of_all` ignores the agent in the URL.
    """
    agent = None if of_all else fields.get("agent") or page.agent
    permit("proposals", {} if agent is None else {"agent_id": agent}, page.caller)
    queue = fields.get("queue") or ""
    assignee = {"": None, "snoozed": None, "mine": page.caller.name, "nobody": ""}.get(queue, queue)
    request = Inbox(
        reach=Reach(tenant=page.caller.tenant, agent=agent),
        states=frozenset(states) or WAITING,
        batch=fields.get("batch") or None,
        held_by=fields.get("rule") or None,
        text=fields.get("q") or None,
        by_risk=True,
        after=fields.get("after") or None,
        limit=limit,
    )
    part = Queue(assignee=assignee, at=page.now, snoozed=queue == "snoozed")
    service = page.console.service
    found = await service.finish(list_proposals(request, service.as_caller(page.caller).context, part))
    document: dict[str, Json] = encode(found)
    items = [
        one | _list_notes(proposal) for one, proposal in zip(document["items"], found.items, strict=True)
    ]
    return {**document, "items": items}


def _list_notes(proposal: Proposal) -> dict[str, Json]:
    """Return the reviewers' notes on a proposal, which are not part of the wire format."""
    notes = {"assignee": proposal.assignee, "until": proposal.snoozed_until, "number": proposal.notes}
    comments = [{"by": one.by, "at": one.at, "text": one.text} for one in proposal.comments]
    return {"notes": {**notes, "comments": comments}}


async def load_proposal(page: Page, id: str) -> dict[str, Json]:
    """Load a proposal with the values that the templates use."""
    if not id:
        raise NotFound("no proposal was named", field="id")
    scope = {} if page.agent is None else {"agent_id": page.agent}
    reviewed = await page.ask(Reviewed, "proposal", **scope, proposal_id=id)
    answer: dict[str, Json] = encode(reviewed)
    answer["proposal"] |= _list_notes(reviewed.proposal)
    first: dict[str, Json] = {}  # the first source and trust among the changed memories
    for change in (*answer["diff"]["added"], *answer["diff"]["removed"]):
        first = {**change["fields"], **first}
    request = answer.get("request", {})
    return {
        **answer,
        "request": request,
        "source": request.get("source") or first.get("source"),
        "trust": first.get("trust"),
        "raw": page.link("/proposal/raw", id=id, agent=page.agent),
    }


INBOX = PageGroup(
    views=(
        View(path="/inbox", look=inbox, of_agent=True),
        View(path="/inbox/all", look=everything, of_agent=True),
        View(path="/proposal", look=proposal, of_agent=True),
        View(path="/proposal/raw", look=raw),
    ),
    section=Section(path="/inbox", title="Inbox", right=Right.REVIEW, count=count_pending),
)


_PAST = {
    Verb.APPROVE: "Approved",
    Verb.EDIT: "Edited and approved",
    Verb.REJECT: "Rejected",
    Verb.MERGE: "Merged",
    Verb.SUPERSEDE: "Approved and replaced the other",
    Verb.FORGET_SIMILAR: "Approved and forgot the other",
    Verb.REOPEN: "Reopened",
}
_INBOX = f"{PATH}/inbox"


async def decide(page: Page, form: Form) -> Response:
    """Decide one proposal; `seen` identifies what the page showed."""
    verb, id = _read_verb(form), form.text("id")
    fields: dict[str, Json] = {"seen": form.get("seen"), "target": form.get("target")}
    if verb is Verb.EDIT:
        agent = form.get("agent") or page.agent
        document = await page.call("proposal", proposal_id=id, agent_id=agent)
        before, text = document.get("request", {}).get("content"), form.text("content")
        # JSON content stays JSON.
        fields["edit"] = {"content": text if isinstance(before, str) else strict.parse(text)}
    return await _decide(page, form, [id], verb, **fields)


async def decide_several(page: Page, form: Form) -> Response:
    """Decide the selected proposals, all of them or none."""
    ids = list(dict.fromkeys(form.many("id")))
    if not ids:
        raise InvalidRequest("nothing is selected", field="id", fix="select some, or open one")
    return await _decide(page, form, ids, _read_verb(form))


async def decide_all(page: Page, form: Form) -> Response:
    """Decide all matching proposals, unless they have changed since the page was shown."""
    fields = {name: form.get(name) or "" for name in FILTERS}
    proposals = await find_proposals(page, fields, limit=MOST)
    ids = {one["id"] for one in proposals["items"]}
    # Proposals that were held, planned again or decided after that entry.
    since = whole(form.text("place"), "place", "the place is a number")
    events = await page.console.service.feed.since(since, tenant=page.caller.tenant)
    is_same = str(proposals["total"]) == form.text("total")
    if not is_same or any(event.subject in ids for event in events):
        raise Conflict("the matching proposals have changed", fix="review them again")
    verb = _read_verb(form)
    selected = [one["id"] for one in proposals["items"] if verb is Verb.REJECT or one["state"] == "pending"]
    return await _decide(page, form, selected, verb)


async def undo_decision(page: Page, form: Form) -> Response:
    """Perform the undo that a note offers, in the session that received the note."""
    back = form.get("back") or _INBOX
    payload = page.console.sessions.take_undo(page.session, form.text("note"))
    if payload is None:
        raise NotFound("there is nothing left to undo", fix="see the activity")
    if "proposal_ids" in payload:
        await page.call("decide", verb=Verb.REOPEN.value, **payload)
        if back.startswith(_INBOX):
            back = page.link("/inbox", at=payload["proposal_ids"][0])
    elif "rules" in payload:
        await page.console.service.call("set_rules", payload, page.caller)
    else:
        receipt = await page.call("undo", **payload)
        if receipt["status"] != "committed":
            return page.go(back, Note(text=f"The undo is {receipt['status']}."))
    return page.go(back, Note(text="Undone."))


async def note(page: Page, form: Form) -> Response:
    """Assign, snooze or comment on proposals, without deciding them."""
    page.caller.require(Right.REVIEW)
    agent = form.get("agent") or page.agent
    page.caller.require_agent({} if agent is None else {"agent_id": agent}, optional=True)
    snooze, assignee = form.get("snooze"), form.get("assignee")
    if form.get("take"):
        assignee = page.caller.name
    elif form.get("release"):
        assignee = ""
    if snooze is not None and snooze != "wake" and snooze not in SNOOZES:
        raise InvalidRequest("no such time", field="snooze", fix=f"use one of: {', '.join(SNOOZES)}")
    until = None if snooze is None else 0 if snooze == "wake" else page.now + SNOOZES[snooze]
    comment = form.get("comment")
    if assignee is None and until is None and comment is None:
        raise InvalidRequest("there is nothing to note", field="comment", fix="write a comment")
    request = Annotate(
        reach=Reach(tenant=page.caller.tenant, agent=agent),
        proposal_ids=tuple(dict.fromkeys(form.many("id"))),
        assignee=assignee,
        snoozed_until=until,
        comment=comment,
    )
    service = page.console.service
    await service.finish(annotate(request, service.as_caller(page.caller).context))
    if comment is not None:
        text = "Your comment is kept."
    elif until is None:
        text = f"Assigned to {assignee}." if assignee else "Assigned to nobody."
    else:
        text = "Back in the inbox." if until == 0 else f"Snoozed for {snooze}."
    address = form.get("next") if until else None
    return page.go(address or form.get("back") or _INBOX, Note(text=text))


def _read_verb(form: Form) -> Verb:
    verb = form.text("verb")
    if verb not in set(Verb):
        raise InvalidRequest("no such verb", field="verb")
    return Verb(verb)


async def _decide(page: Page, form: Form, ids: Sequence[str], verb: Verb, **fields: Json) -> Response:
    word = form.get("confirm")  # a rejection needs no confirmation
    receipt = await page.call(
        "decide",
        agent_id=form.get("agent") or page.agent,
        proposal_ids=list(ids),
        verb=verb.value,
        reason=form.get("reason"),
        confirm=None if word is None or verb is Verb.REJECT else word.strip(),
        **fields,
    )
    count = len(receipt["proposal_ids"])
    text = f"{_PAST[verb]}." if count == 1 else f"{_PAST[verb]}: {count:,}."
    if waiting := receipt.get("waiting", ()):
        needed = [f"{one['approvals']} of {one['reviewers']}" for one in waiting]
        text += f" {needed[0]} people have." if count == 1 else f" {len(waiting):,} wait for others."
    final = verb is Verb.REOPEN or receipt.get("erased", False) or bool(waiting)
    undo = None if final else {"proposal_ids": receipt["proposal_ids"]}
    return page.go(form.get("next") or form.get("back") or _INBOX, Note(text=text, undo=undo))


DECISIONS = PageGroup(
    views=(
        View(path="/decide", do=decide),
        View(path="/decide/several", do=decide_several),
        View(path="/decide/all", do=decide_all),
        View(path="/decide/note", do=note),
        View(path="/undo", do=undo_decision),
    )
)

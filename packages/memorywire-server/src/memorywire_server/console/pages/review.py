"""The inbox: what waits for a person, the worst first, and everything needed to decide it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.proposal import Verb
from memorywire.model.record import Json
from memorywire.wire import strict
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, show_text, whole
from memorywire_server.console.sessions import PATH, Note

FILTERS = {"agent": "agent_id", "rule": "held_by", "q": "text", "batch": "batch"}
"""The fields of an address that narrow the inbox, and what the wire calls them."""

MOST = 1_000
"""So many can be decided at once."""

_PAGE = 50
_LOOK = 100
_SAMPLE = 12


async def count_pending(page: Page) -> int:
    """Count the pending proposals that the viewer may see, without the filters of the page."""
    if page.limited:
        return sum(one["waiting"] for one in (await page.call("agents"))["items"])
    total: int = (await page.call("proposals", limit=1))["total"]
    return total


async def inbox(page: Page) -> Response:
    """A page of the queue, and the proposal under the cursor: the one that the address names, or the first.

    One that was decided meanwhile is still shown: another in its place could lead to a wrong decision.
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
    neighbours = []  # shown after this one is decided: the next, or the one before the last
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
        stream=page.link("/events", after=place),
    )


async def proposal(page: Page) -> Response:
    """One proposal, waiting or decided: where the link of a receipt leads."""
    document = await load_proposal(page, page.query.get("id", ""))
    return await page.show("proposal.html", shown=document, may_decide=page.may(Right.REVIEW), next=None)


async def raw(page: Page) -> Response:
    """Everything a proposal says, as text that no browser takes for anything else."""
    return show_text(await page.call("proposal", agent_id=page.agent, proposal_id=page.query.get("id", "")))


async def everything(page: Page) -> Response:
    """What a filter matches, counted and sampled, before all of it is decided at once."""
    place = await page.console.service.feed.now()
    proposals = await find_proposals(page, page.query, limit=_LOOK)
    stale = await find_proposals(page, page.query, limit=1, states=["stale"])
    agents = list(dict.fromkeys(item["agent_id"] for item in proposals["items"]))
    if len(agents) == 1 and len(proposals["items"]) < proposals["total"]:  # the rest may be of other agents
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


async def suggestions(page: Page) -> Response:
    """Rules that the decisions of people suggest, with those decisions."""
    page.caller.require(Right.MANAGE)
    book = await page.call("rules")
    return await page.show("suggestions.html", suggestions=book["suggestions"])


def filters(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: fields[name] for name in FILTERS if fields.get(name)}


async def find_proposals(
    page: Page, fields: Mapping[str, str], *, limit: int, states: Sequence[str] = ()
) -> dict[str, Json]:
    """Proposals that a filter matches."""
    filter = {name: fields.get(field) for field, name in FILTERS.items()}
    agent = filter.pop("agent_id") or page.agent
    return await page.call(
        "proposals",
        **filter,
        agent_id=agent,
        states=list(states),
        after=fields.get("after"),
        by_risk=True,
        limit=limit,
    )


async def load_proposal(page: Page, id: str) -> dict[str, Json]:
    """A proposal with what a template wants to know of it."""
    if not id:
        raise NotFound("no proposal was named", field="id")
    answer = await page.call("proposal", agent_id=page.agent, proposal_id=id)
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
        View(path="/suggestions", look=suggestions),
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
    """One proposal, as it was shown."""
    verb, id = _read_verb(form), form.text("id")
    fields: dict[str, Json] = {"seen": form.get("seen"), "target": form.get("target")}
    if verb is Verb.EDIT:
        agent = form.get("agent") or page.agent
        document = await page.call("proposal", proposal_id=id, agent_id=agent)
        before, text = document.get("request", {}).get("content"), form.text("content")
        # A structured content stays structured.
        fields["edit"] = {"content": text if isinstance(before, str) else strict.parse(text)}
    return await _decide(page, form, [id], verb, **fields)


async def decide_several(page: Page, form: Form) -> Response:
    """Decide the selected proposals, all of them or none."""
    ids = list(dict.fromkeys(form.many("id")))
    if not ids:
        raise InvalidRequest("nothing is selected", field="id", fix="select some, or open one")
    return await _decide(page, form, ids, _read_verb(form))


async def decide_all(page: Page, form: Form) -> Response:
    """Everything that matches, if it still is what was shown."""
    fields = {name: form.get(name) or "" for name in FILTERS}
    proposals = await find_proposals(page, fields, limit=MOST)
    ids = {one["id"] for one in proposals["items"]}
    # What was held, planned again or decided after that entry of the ledger.
    since = whole(form.text("place"), "place", "the place is a number")
    events = await page.console.service.feed.since(since, tenant=page.caller.tenant)
    is_same = str(proposals["total"]) == form.text("total")
    if not is_same or any(event.subject in ids for event in events):
        raise Conflict("the matching proposals have changed", fix="review them again")
    verb = _read_verb(form)
    selected = [one["id"] for one in proposals["items"] if verb is Verb.REJECT or one["state"] == "pending"]
    return await _decide(page, form, selected, verb)


async def undo_decision(page: Page, form: Form) -> Response:
    """Take back what a note offered to undo, in the session that the note was shown to."""
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


async def activate(page: Page, form: Form) -> Response:
    """A suggestion becomes a rule."""
    await page.call("activate_rule", name=form.text("name"))
    return page.go(page.link("/suggestions"), Note(text=f"The rule {form.text('name')} is active."))


def _read_verb(form: Form) -> Verb:
    verb = form.text("verb")
    if verb not in set(Verb):
        raise InvalidRequest("no such verb", field="verb")
    return Verb(verb)


async def _decide(page: Page, form: Form, ids: Sequence[str], verb: Verb, **fields: Json) -> Response:
    word = form.get("confirm")  # a rejection needs none
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
        View(path="/undo", do=undo_decision),
        View(path="/suggestions/activate", do=activate),
    )
)

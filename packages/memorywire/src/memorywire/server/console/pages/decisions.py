"""What people do with proposals: decide one, several or all that match, and take it back."""

from collections.abc import Sequence

from starlette.responses import Response

from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.record import Json
from memorywire.model.review import Verb
from memorywire.server.console.forms import Form, whole
from memorywire.server.console.page import Page, Room, View
from memorywire.server.console.pages.inbox import FILTERS, MOST, matching
from memorywire.server.console.sessions import PATH, Note
from memorywire.wire import strict

_PAST = {
    Verb.APPROVE: "Approved",
    Verb.EDIT: "Approved with other words",
    Verb.REJECT: "Rejected",
    Verb.MERGE: "Merged",
    Verb.SUPERSEDE: "Approved in place of the other",
    Verb.FORGET_SIMILAR: "Approved, and forgot the other",
    Verb.REOPEN: "Opened again",
}
_INBOX = f"{PATH}/inbox"


async def decide(page: Page, form: Form) -> Response:
    """One proposal, as it was shown."""
    verb = _verb(form)
    fields: dict[str, Json] = {"seen": form.get("seen"), "target": form.get("target")}
    if verb is Verb.EDIT:
        fields["edit"] = await _edit(page, form)
    return await _decided(page, form, [form.text("id")], verb, **fields)


async def decide_several(page: Page, form: Form) -> Response:
    """Those that were ticked, all of them or none."""
    chosen = list(dict.fromkeys(form.many("id")))
    if not chosen:
        raise InvalidRequest("nothing is ticked", field="id", fix="tick some, or open one")
    return await _decided(page, form, chosen, _verb(form))


async def decide_all(page: Page, form: Form) -> Response:
    """Everything that matches, if it still is what was shown."""
    fields = {name: form.get(name) or "" for name in FILTERS}
    found = await matching(page, fields, limit=MOST)
    ids = {one["id"] for one in found["items"]}
    if str(found["total"]) != form.text("total") or ids & await _moved_since(page, form.text("place")):
        raise Conflict("what matches has changed meanwhile", fix="look at it again, and decide then")
    verb = _verb(form)
    chosen = [one["id"] for one in found["items"] if verb is Verb.REJECT or one["state"] == "pending"]
    return await _decided(page, form, chosen, verb)


async def _moved_since(page: Page, place: str) -> set[str]:
    """The ids of all that was held, planned again or decided after that entry of the ledger."""
    since = whole(place, "place", "the place is a number")
    found = await page.shop.door.feed.since(since, tenant=page.caller.tenant)
    return {event.subject for event in found if event.subject is not None}


async def undo(page: Page, form: Form) -> Response:
    """Take back what a note offered to undo, in the session that the note was shown to."""
    back = form.get("back") or _INBOX
    payload = page.shop.sessions.undoing(page.session, form.text("note"))
    if payload is None:
        raise NotFound("there is nothing to take back any more", fix="see the activity")
    if "proposal_ids" in payload:
        await page.call("decide", verb=Verb.REOPEN.value, **payload)
        if back.startswith(_INBOX):
            back = page.link("/inbox", at=payload["proposal_ids"][0])
    else:
        done = await page.call("undo", **payload)
        if done["status"] != "committed":
            return page.go(back, Note(text=f"The undo is {done['status']}."))
    return page.go(back, Note(text="Taken back."))


async def activate(page: Page, form: Form) -> Response:
    """A suggestion becomes a rule."""
    await page.call("activate_rule", name=form.text("name"))
    return page.go(page.link("/suggestions"), Note(text=f"The rule {form.text('name')} is in force."))


def _verb(form: Form) -> Verb:
    said = form.text("verb")
    if said not in set(Verb):
        raise InvalidRequest("no such verb", field="verb")
    return Verb(said)


async def _edit(page: Page, form: Form) -> dict[str, Json]:
    """The other words; a structured content stays structured."""
    agent = form.get("agent") or page.agent
    shown = await page.call("proposal", proposal_id=form.text("id"), agent_id=agent)
    before, text = shown.get("request", {}).get("content"), form.text("content")
    return {"content": text if isinstance(before, str) else strict.parse(text)}


async def _decided(page: Page, form: Form, ids: Sequence[str], verb: Verb, **fields: Json) -> Response:
    done = await page.call(
        "decide",
        agent_id=form.get("agent") or page.agent,
        proposal_ids=list(ids),
        verb=verb.value,
        reason=form.get("reason"),
        confirm=_confirmed(form, verb),
        **fields,
    )
    count = len(done["proposal_ids"])
    text = f"{_PAST[verb]}." if count == 1 else f"{_PAST[verb]}: {count:,}."
    final = verb is Verb.REOPEN or done.get("erased", False)
    undo = None if final else {"proposal_ids": done["proposal_ids"]}
    return page.go(form.get("next") or form.get("back") or _INBOX, Note(text=text, undo=undo))


def _confirmed(form: Form, verb: Verb) -> str | None:
    """The word that was typed; a rejection needs none."""
    word = form.get("confirm")
    return None if word is None or verb is Verb.REJECT else word.strip()


ROOM = Room(
    views=(
        View(path="/decide", do=decide),
        View(path="/decide/several", do=decide_several),
        View(path="/decide/all", do=decide_all),
        View(path="/undo", do=undo),
        View(path="/suggestions/activate", do=activate),
    )
)

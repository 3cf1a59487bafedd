"""One memory: its content, versions, links, uses and expiry."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import ValidationError, convert, to_builtins
from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError, NotFound
from memorywire.model.label import MARK, SLOT_CHARS_MAX, Kind, Label
from memorywire.model.proposal import ERASE
from memorywire.model.record import Json
from memorywire.policy.diff import segments, visible
from memorywire.procedures.draw import svg
from memorywire.procedures.parse import parse
from memorywire_server.console.copies import write_copies
from memorywire_server.console.page import Form, Page, PageGroup, View, show_text
from memorywire_server.console.render import day_ms, gist, plain
from memorywire_server.console.sessions import build_note
from memorywire_server.console.timeline import tell_life
from memorywire_server.http import audit

_RECALLS = 20
_ENTRIES = 60
_LINKS = 12
_CONTENT_FIELDS = (
    *("type", "content", "confidence", "source", "occurred_at", "expires_at", "session_id", "metadata"),
    *("tags", "derived_from"),
)


async def record(page: Page) -> Response:
    chain = await _load_versions(page)
    agent, id, newest = _require_agent(page), page.query["id"], chain[-1].get("record", {})
    recalls = await page.call("recalls", agent_id=agent, memory_id=id, limit=_RECALLS)
    entries = []
    if page.may(Right.REVIEW):
        mentions = {"agent_id": agent, "memory": id, "limit": _ENTRIES}
        entries = (await audit.entries(page.console.service, page.caller, mentions))["entries"]
    said_last = _find_last_record(chain)
    expiry = None
    if "expires_at" in newest:
        lifetime = max(1, newest["expires_at"] - newest["created_at"])
        left = newest["expires_at"] - page.now
        expiry = {"at": newest["expires_at"], "left": left, "share": min(1.0, max(0.0, 1 - left / lifetime))}
    return await page.show(
        "record.html",
        agent=agent,
        id=id,
        moments=tell_life(id, chain, entries),
        queries={one["recall_id"]: one.get("query") for one in recalls["items"]},
        numbers=[one["number"] for one in chain],
        is_cut=len(entries) == _ENTRIES,
        trust=None if said_last is None else _explain_trust(said_last),
        newest=chain[-1],
        said_last=said_last,
        links=[(how, other, await _name(page, agent, other)) for how, other in _list_links(chain)[:_LINKS]],
        pictured=_describe_picture(newest),
        compared=_compare(page, chain),
        recalls=recalls["items"],
        expiry=expiry,
        raw=page.link("/record/raw", id=id, agent=agent),
        copies=await write_copies(page, "get", {"agent_id": agent, "id": id}),
        label=_read_label(said_last),
        kinds=list(Kind),
        slot_chars=SLOT_CHARS_MAX,
    )


async def raw(page: Page) -> Response:
    """Show a version as JSON; without a number, the newest."""
    chain, number = await _load_versions(page), page.query.get("version")
    version = next((one for one in reversed(chain) if number in (None, str(one["number"]))), None)
    if version is None:
        raise NotFound("there is no such version", field="version")
    return show_text(version)


async def picture(page: Page) -> Response:
    """Draw a procedure as a state diagram, with its current state."""
    content = (await _load_versions(page))[-1].get("record", {}).get("content")
    return Response(svg(parse(content)), media_type="image/svg+xml")


async def restore(page: Page, form: Form) -> Response:
    """Write the content of an older version as a new version; the history keeps all versions."""
    agent, id, number = form.text("agent"), form.text("id"), form.text("version")
    chain = (await page.call("history", agent_id=agent, id=id))["versions"]
    older = next((one for one in chain if str(one["number"]) == number and "record" in one), None)
    if older is None:
        raise NotFound("the content of that version was erased", field="version")
    text = f"Version {number} is current again."
    # Restore the content but keep the current expiry, as the older one may have passed.
    expiry = chain[-1].get("record", {}).get("expires_at")
    return await _rewrite(page, agent, {**older["record"], "expires_at": expiry}, chain[-1]["number"], text)


async def correct(page: Page, form: Form) -> Response:
    """Write a corrected content as a new version, with the viewer as its source."""
    agent, id = form.text("agent"), form.text("id")
    current = await page.call("get", agent_id=agent, id=id)
    if str(current["version"]) != form.text("version"):
        raise Conflict("it has changed since you opened it", field="version", fix="read it again and decide")
    right = {**current, "content": form.text("content"), "source": page.caller.name}
    text = "Corrected. The earlier version is below."
    return await _rewrite(page, agent, right, current["version"], text)


async def relabel(page: Page, form: Form) -> Response:
    """Write the label of the form as a new version; the content stays the same.

    A label with `given` is not derived from the text again; the choice `read` has it derived again.
    """
    agent, id = form.text("agent"), form.text("id")
    current = await page.call("get", agent_id=agent, id=id)
    if str(current["version"]) != form.text("version"):
        raise Conflict("it has changed since you opened it", field="version", fix="read it again and decide")
    kind, mark = form.text("kind"), current["metadata"].get(MARK, {})
    if not isinstance(mark, Mapping):
        raise Conflict(f"metadata.{MARK} of this memory is not a label", field="kind")
    label = {} if kind == _READ else {"given": True} if kind == _NONE else _build_label(form, kind)
    label |= {"pinned": True} if mark.get("pinned") is True else {}
    metadata = {name: value for name, value in current["metadata"].items() if name != MARK}
    right = {**current, "metadata": {**metadata, MARK: label} if label else metadata}
    return await _rewrite(page, agent, right, current["version"], "The label was changed.")


_READ, _NONE = "read", "none"


def _build_label(form: Form, kind: str) -> dict[str, Json]:
    slot, until = form.get("slot"), form.get("until")
    if kind not in list(Kind):
        raise InvalidRequest(f"{kind} is not a kind", field="kind")
    if slot is not None and not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", slot):
        raise InvalidRequest("a slot is a name in small letters", field="slot", fix="for example home")
    label = Label(
        kind=Kind(kind),
        subject=form.get("subject"),
        slot=slot,
        value=form.get("value"),
        negative=form.get("polarity") == "negative",
        valid_until=None if until is None else day_ms(until, "until") + DAY_MS - 1,
        given=True,
    )
    fields: dict[str, Json] = to_builtins(label)
    return fields


def _read_label(record: Json) -> Label | None:
    try:
        return convert(record["metadata"][MARK], Label)
    except (TypeError, KeyError, ValidationError):  # erased, no label, or an invalid one
        return None


async def _rewrite(page: Page, agent: str, record: Mapping[str, Json], version: int, text: str) -> Response:
    """Write a new version with these fields, if `version` is still the newest."""
    receipt = await page.call(
        "remember",
        agent_id=agent,
        user_id=record.get("user_id"),
        id=record["id"],
        if_version=version,
        **{name: record.get(name) for name in _CONTENT_FIELDS},
    )
    return page.go(page.link("/record", id=record["id"], agent=agent), build_note(receipt, agent, text))


async def erase_preview(page: Page) -> Response:
    """Show what an erase would remove, before it is confirmed."""
    chain = await _load_versions(page)
    agent, id = _require_agent(page), page.query["id"]
    trial = await page.call("forget", agent_id=agent, ids=[id], hard_delete=True, dry_run=True)
    return await page.show(
        "erase.html",
        agent=agent,
        id=id,
        trial=trial,
        versions=sum("record" in one for one in chain),
        said_last=_find_last_record(chain),
    )


async def forget(page: Page, form: Form) -> Response:
    """Forget a memory, which can be undone, or erase it, which cannot."""
    agent, id = form.text("agent"), form.text("id")
    erases = form.get("erase") is not None
    if erases and (form.get("confirm") or "").strip() != ERASE:
        raise InvalidRequest("an erase cannot be undone", field="confirm", fix=f"type the word {ERASE}")
    receipt = await page.call(
        "forget", agent_id=agent, ids=[id], hard_delete=erases, reason=form.get("reason")
    )
    text = "Erased for good." if erases else "Forgotten."
    address = page.link("/memories" if erases else "/record", id=None if erases else id, agent=agent)
    return page.go(address, build_note(receipt, agent, text, undoable=not erases))


def _require_agent(page: Page) -> str:
    if page.agent is None:
        raise InvalidRequest("choose the agent of this memory", field="agent")
    return page.agent


async def _load_versions(page: Page) -> list[dict[str, Json]]:
    """Load all versions, oldest first; from a store without history, only the current one."""
    id, agent = page.query.get("id"), _require_agent(page)
    if not id:
        raise NotFound("no memory was named", field="id")
    try:
        versions: list[dict[str, Json]] = (await page.call("history", agent_id=agent, id=id))["versions"]
    except NotFound:
        raise
    except MemorywireError:
        current = await page.call("get", agent_id=agent, id=id)
        versions = [{"number": current["version"], "began_at": current["updated_at"], "record": current}]
    return versions


def _list_links(chain: Sequence[Mapping[str, Json]]) -> list[tuple[str, str]]:
    """List other memories that this one came from or went into, as (how, id), without duplicates."""
    links: dict[tuple[str, str], None] = {}
    for one in chain:
        record = one.get("record", {})
        for how in ("supersedes", "merged_from", "derived_from"):
            links |= dict.fromkeys((how.replace("_", " "), id) for id in record.get(how, ()))
        if "into" in one:
            links["went into", one["into"]] = None
    return list(links)


async def _name(page: Page, agent: str, id: str) -> str:
    """Summarise another memory; returns its id if it is gone."""
    with suppress(MemorywireError):
        chain = (await page.call("history", agent_id=agent, id=id))["versions"]
        return gist((_find_last_record(chain) or {"content": id})["content"])
    return id


def _explain_trust(record: Mapping[str, Json]) -> str:
    source, trust = record.get("source"), record["trust"]
    origin = "No source was given" if source is None else f"It came from {source}"
    return f"{origin}. {_TRUST[trust]}"


_TRUST = {
    "trusted": "The policy trusts this source.",
    "standard": "The policy believes this source as usual.",
    "untrusted": "The policy does not trust this source: a prompt marks it, and pins nothing of it.",
}


def _find_last_record(chain: Sequence[Mapping[str, Json]]) -> Json:
    return next((one["record"] for one in reversed(chain) if "record" in one), None)


def _describe_picture(record: Mapping[str, Json]) -> str | None:
    """Return the alternative text for the diagram of a procedure."""
    if record.get("type") != "procedural":
        return None
    try:
        definition = parse(record["content"])
    except InvalidRequest:
        return None  # plain text rather than a state machine
    return f"{definition.name}: {len(definition.states)} states, now {definition.current}"


def _compare(page: Page, chain: Sequence[Mapping[str, Json]]) -> dict[str, Any] | None:
    """Compare two versions word by word; by default the last two."""
    texts = {one["number"]: plain(one["record"]["content"]) for one in chain if "record" in one}
    if len(texts) < 2:
        return None
    numbers = sorted(texts)
    by_text = {str(number): number for number in numbers}
    a = by_text.get(page.query.get("a", ""), numbers[-2])
    b = by_text.get(page.query.get("b", ""), numbers[-1])
    words = segments(visible(texts[a]), visible(texts[b]))
    return {"a": a, "b": b, "numbers": numbers, "words": words}


RECORD = PageGroup(
    views=(
        View(path="/record", look=record),
        View(path="/record/raw", look=raw),
        View(path="/record/picture", look=picture),
        View(path="/record/restore", do=restore),
        View(path="/record/correct", do=correct),
        View(path="/record/label", do=relabel),
        View(path="/record/erase", look=erase_preview),
        View(path="/record/forget", do=forget),
    )
)

"""Policy: the rules in their order, what they would have done, every edition, and what was learned."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.model.text import counted
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, whole
from memorywire_server.console.render import plain
from memorywire_server.console.sessions import Note
from memorywire_server.http.answers import status_of

_EXAMPLE: dict[str, Json] = {
    "name": "web-facts",
    "verdict": "hold",
    "operation": ["remember"],
    "source": ["tool:web*"],
    "note": "what the web says is looked at first",
}
_ABOUT = ("name", "verdict", "enabled", "note", "learned", "reviewers")
_DAYS = 30


async def policy(page: Page) -> Response:
    """Rules as a table shows them: what they are about, apart from their conditions."""
    book = await page.call("rules")
    return await page.show(
        "policy.html",
        book=book,
        given=[_describe_rule(one) for one in book["given"]],
        base=[_describe_rule(one) for one in book["base"]],
        suggestions=[{**one, "row": _describe_rule(one["rule"])} for one in book["suggestions"]],
        editions=[
            {**one, "rows": [_describe_rule(each) for each in one["rules"]]} for one in book["editions"]
        ],
    )


async def rule(page: Page) -> Response:
    """One rule to be edited, or a new one; with `try`, what it would have done."""
    book = await page.call("rules")
    name = page.query.get("name")
    current = next((one for one in book["given"] if one["name"] == name), None)
    if name is not None and current is None:
        raise InvalidRequest("there is no such rule any more", field="name", fix="look at the list again")
    own = {} if page.caller.tenant == DEFAULT_TENANT else {"tenant": [page.caller.tenant]}
    text = plain(current or {**_EXAMPLE, **own})
    return await page.show("rule.html", book=book, text=text, name=name, trial=None, problem=None)


async def save(page: Page, form: Form) -> Response:
    """Save a rule in its place, or only try it; a problem is shown beside what was typed."""
    book = await page.call("rules")
    name, text = form.get("name"), form.get("rule") or ""
    status, trial, problem = 200, None, None
    try:
        draft = _parse_rule(form.text("rule"))
        if form.get("try") is None:
            rules = [draft if one["name"] == name else one for one in book["given"]]
            rules = [draft, *rules] if name is None else rules
            await page.call("set_rules", rules=rules, if_edition=_read_edition(form))
            return page.go(page.link("/policy"), Note(text=f"Rule {draft.get('name', '')} is active."))
        agent = form.get("agent")
        if agent is None:
            raise InvalidRequest("name an agent to try the rule on", field="agent", fix="fill it in")
        answer = await page.call("test_rule", agent_id=agent, rule=draft, days=_DAYS)
        trial = {"agent": agent, **answer}
    except MemorywireError as error:
        status, problem = status_of(error), error.problem()
    return await page.show("rule.html", status, book=book, text=text, name=name, trial=trial, problem=problem)


async def arrange(page: Page, form: Form) -> Response:
    """Move, switch or remove a rule; the whole list is put in force again, as a new edition."""
    rules, name = list((await page.call("rules"))["given"]), form.text("name")
    act = form.text("act")
    place = next((at for at, one in enumerate(rules) if one["name"] == name), None)
    if place is None or act not in _DONE:
        raise InvalidRequest("there is no such rule any more", field="name", fix="look at the list again")
    rule = rules.pop(place)
    if act in ("on", "off"):
        rules.insert(place, {**rule, "enabled": act == "on"})
    elif act != "remove":
        rules.insert(max(0, place - 1) if act == "up" else place + 1, rule)
    await _save_rules(page, form, rules)
    return page.go(page.link("/policy"), Note(text=_DONE[act].format(name)))


async def restore(page: Page, form: Form) -> Response:
    """The rules of an earlier edition, in force again as a new one."""
    number = form.text("number")
    editions = (await page.call("rules"))["editions"]
    edition = next((one for one in editions if str(one["number"]) == number), None)
    if edition is None:
        raise InvalidRequest("there is no such edition", field="number", fix="look at the list again")
    await _save_rules(page, form, edition["rules"])
    return page.go(page.link("/policy"), Note(text=f"The rules of edition {number} are restored."))


async def _save_rules(page: Page, form: Form, rules: list[dict[str, Json]]) -> None:
    # An empty list is a list here, so the service is called directly: `call` leaves out what is empty.
    payload: dict[str, Json] = {"rules": rules, "if_edition": _read_edition(form)}
    await page.console.service.call("set_rules", payload, page.caller)


async def activate(page: Page, form: Form) -> Response:
    await page.call("activate_rule", name=form.text("name"))
    return page.go(page.link("/policy"), Note(text=f"Rule {form.text('name')} is active."))


async def revert(page: Page, form: Form) -> Response:
    """Take back all that a learned rule let pass, and switch it off."""
    receipt = await page.call("revert_rule", name=form.text("name"))
    text = f"{counted(len(receipt['reverted_ids']), 'change was', 'changes were')} undone"
    if receipt["kept_ids"]:
        text += f"; {len(receipt['kept_ids'])} could not be, because the memory has changed"
    return page.go(page.link("/policy"), Note(text=f"{text}. The rule is disabled."))


_DONE = {
    "up": "Rule {} moved up.",
    "down": "Rule {} moved down.",
    "on": "Rule {} is enabled.",
    "off": "Rule {} is disabled.",
    "remove": "Rule {} is removed. Earlier editions still have it.",
}


def _parse_rule(text: str) -> dict[str, Json]:
    try:
        rule = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"the rule is no JSON: {error}", field="rule") from error
    if not isinstance(rule, dict):
        raise InvalidRequest("a rule is an object", field="rule", fix='{"name": ..., "verdict": ...}')
    return rule


def _read_edition(form: Form) -> int:
    return whole(form.text("edition"), "edition", "edition is a number")


def _describe_rule(rule: Mapping[str, Json]) -> dict[str, Any]:
    conditions = {name: value for name, value in rule.items() if name not in _ABOUT}
    return {
        "name": rule["name"],
        "verdict": rule["verdict"],
        "enabled": rule.get("enabled", True),
        "note": rule.get("note", ""),
        "learned": rule.get("learned", False),
        "reviewers": rule.get("reviewers", 1),
        "conditions": [f"{name}: {_describe_value(value)}" for name, value in conditions.items()],
    }


def _describe_value(value: Json) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list():
            return " or ".join("(none)" if one == "" else str(one) for one in value)
        case dict():
            return "; ".join(f"{name} {_describe_value(inner)}" for name, inner in value.items())
    return str(value)


POLICY = PageGroup(
    views=(
        View(path="/policy", look=policy),
        View(path="/policy/rule", look=rule, do=save),
        View(path="/policy/arrange", do=arrange),
        View(path="/policy/restore", do=restore),
        View(path="/policy/activate", do=activate),
        View(path="/policy/revert", do=revert),
    ),
    section=Section(path="/policy", title="Policy", right=Right.MANAGE),
)

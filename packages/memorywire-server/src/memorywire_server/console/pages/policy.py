"""Policy: rules as forms and as text, trials of drafts, earlier editions, and suggested rules."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.model.text import counted
from memorywire.policy.documents import rules_from
from memorywire_server.console.backtest import COUNTS, try_rules
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, whole
from memorywire_server.console.rule_form import FIELDS, GROUPS, VERDICTS, can_fill, describe, fill, read_rule
from memorywire_server.console.rule_text import compare_lines, read_rules, write_rules
from memorywire_server.console.sessions import Note
from memorywire_server.http.answers import status_of

_EXAMPLE: dict[str, Json] = {"name": "", "verdict": "hold", "operation": ["remember"]}
_EVIDENCE = 5
_NO_RULES = "none"


async def policy(page: Page) -> Response:
    """Show the rules as tables, with their conditions in words."""
    book = await page.call("rules")
    return await page.show(
        "policy.html",
        book=book,
        given=[_describe_rule(one) for one in book["given"]],
        base=[_describe_rule(one) for one in book["base"]],
        suggestions=await describe_suggestions(page, book),
        editions=[
            {**one, "rows": [_describe_rule(each) for each in one["rules"]]} for one in book["editions"]
        ],
    )


async def describe_suggestions(page: Page, book: Mapping[str, Json]) -> list[dict[str, Any]]:
    """Return the suggested rules, with the decisions that led to them."""
    return [
        {
            **one,
            "row": _describe_rule(one["rule"]),
            "decisions": await _load_evidence(page, one["evidence"]),
        }
        for one in book["suggestions"]
    ]


async def suggestions(page: Page) -> Response:
    page.caller.require(Right.MANAGE)
    book = await page.call("rules")
    return await page.show("suggestions.html", suggestions=await describe_suggestions(page, book))


async def _load_evidence(page: Page, ids: Sequence[str]) -> list[dict[str, Json]]:
    """Load the newest decisions behind a suggestion; skips those no longer stored."""
    decisions = []
    for id in ids[-_EVIDENCE:]:
        with suppress(MemorywireError):
            decisions.append((await page.call("proposal", proposal_id=id))["proposal"])
    return decisions


async def rule(page: Page) -> Response:
    """Show a rule, or a new one, as a form."""
    book = await page.call("rules")
    name = page.query.get("name")
    current = next((one for one in book["given"] if one["name"] == name), None)
    if name is not None and current is None:
        raise InvalidRequest("this rule no longer exists", field="name", fix="look at the list again")
    if current is not None and not can_fill(current):
        note = Note(text="This rule says more than the form can show: it is edited as text.")
        return page.go(page.link("/policy/text"), note)
    own = {} if page.caller.tenant == DEFAULT_TENANT else {"tenant": [page.caller.tenant]}
    return await _show_rule(page, book, name, current or {**_EXAMPLE, **own})


async def save(page: Page, form: Form) -> Response:
    """Save a rule in place, or only try it; on a problem the page keeps the draft."""
    book, name = await page.call("rules"), form.get("was")
    table: dict[str, Json] = {}
    try:
        table = read_rule(form)
        rules = _place(book["given"], name, table)
        if form.get("act") == "try":
            rules_from([table])
            return await _show_rule(page, book, name, table, form, trial=await _try(page, form, rules))
        await page.call("set_rules", rules=rules, if_edition=_read_edition(form))
        return page.go(page.link("/policy"), _note(book, f"Rule {table['name']} is active."))
    except MemorywireError as error:
        shown = table or {field: form.get(field) for field in ("name", "verdict", "note")}
        return await _show_rule(page, book, name, shown, form, problem=error)


def _place(given: Sequence[Json], name: str | None, table: dict[str, Json]) -> list[Json]:
    """Replace the rule of that name in the list; without a name, add the rule at the front."""
    if name is None:
        return [table, *given]
    return [table if one["name"] == name else one for one in given]


async def _show_rule(
    page: Page,
    book: Json,
    name: str | None,
    table: Mapping[str, Json],
    form: Form | None = None,
    **outcome: Any,
) -> Response:
    return await page.show(
        "rule.html",
        _status(form, outcome),
        book=book,
        name=name,
        shown=fill(table),
        groups=GROUPS,
        used={field.name for field in FIELDS if field.name in table},
        verdicts=VERDICTS,
        text=write_rules([{key: value for key, value in table.items() if value is not None}]),
        **await _describe_trial(page, form, outcome),
    )


def _status(form: Form | None, outcome: Mapping[str, Any]) -> int:
    """Return the HTTP status: an invalid draft that was only tried is not a failed request."""
    problem = outcome.get("problem")
    is_tried = form is not None and form.get("act") == "try"
    return 200 if problem is None or is_tried else status_of(problem)


async def _describe_trial(page: Page, form: Form | None, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for the part of the page that tries a draft."""
    agents = (await page.call("agents"))["items"]
    largest = max(agents, key=lambda one: one["memories"], default={"agent_id": ""})
    sent = Form({}) if form is None else form
    problem = outcome.get("problem")
    return {
        "agents": agents,
        "lasts": COUNTS,
        "on": sent.get("on") or page.query.get("agent") or largest["agent_id"],
        "last": sent.get("last") or str(COUNTS[0]),
        "trial": outcome.get("trial"),
        "is_tried": sent.get("act") == "try",
        "problem": None if problem is None else problem.problem(),
    }


async def _try(page: Page, form: Form, rules: Sequence[Mapping[str, Json]]) -> Any:
    agent = form.get("on")
    if agent is None:
        raise InvalidRequest("name an agent to try the rules on", field="on", fix="choose one")
    count = whole(form.get("last") or str(COUNTS[0]), "last", "last is a number of changes")
    return await try_rules(page, agent, rules, min(count, COUNTS[-1]))


async def text(page: Page) -> Response:
    """Show all rules as TOML, as in policy files."""
    book = await page.call("rules")
    return await _show_text(page, book, write_rules(book["given"]))


async def save_text(page: Page, form: Form) -> Response:
    """Activate the rules of the text, or only compare them with the active ones."""
    book, draft = await page.call("rules"), form.get("rule") or ""
    try:
        rules = read_rules(draft)
        if form.get("act") == "try":
            trial = await _try(page, form, rules)
            return await _show_text(page, book, draft, form, trial=trial, rules=rules)
        if not rules and book["given"] and (form.get("confirm") or "").strip() != _NO_RULES:
            fix = f"type the word {_NO_RULES} if that is meant"
            raise InvalidRequest("this text has no rules, and would remove all", field="confirm", fix=fix)
        await _save_rules(page, form, rules)
        return page.go(
            page.link("/policy"), _note(book, f"{counted(len(rules), 'rule is', 'rules are')} in force.")
        )
    except MemorywireError as error:
        return await _show_text(page, book, draft, form, problem=error)


async def _show_text(
    page: Page, book: Json, draft: str, form: Form | None = None, **outcome: Any
) -> Response:
    rules = outcome.get("rules")
    before = write_rules(book["given"])
    return await page.show(
        "policy_text.html",
        _status(form, outcome),
        book=book,
        draft=draft,
        lines=None if rules is None else compare_lines(before, write_rules(rules)),
        base=write_rules(book["base"]),
        is_empty=not draft.strip() and bool(book["given"]),
        **await _describe_trial(page, form, outcome),
    )


def _note(book: Mapping[str, Json], text: str) -> Note:
    """Build a note whose undo restores the previous rules."""
    return Note(text=text, undo={"rules": book["given"], "if_edition": book["edition"] + 1})


async def arrange(page: Page, form: Form) -> Response:
    """Move, enable, disable or remove a rule; saves the whole list as a new edition."""
    book, name, act = await page.call("rules"), form.text("name"), form.text("act")
    rules = list(book["given"])
    place = next((at for at, one in enumerate(rules) if one["name"] == name), None)
    if place is None or act not in _DONE:
        raise InvalidRequest("this rule no longer exists", field="name", fix="look at the list again")
    rule = rules.pop(place)
    if act in ("on", "off"):
        rules.insert(place, {**rule, "enabled": act == "on"})
    elif act != "remove":
        rules.insert(max(0, place - 1) if act == "up" else place + 1, rule)
    await _save_rules(page, form, rules)
    return page.go(page.link("/policy"), _note(book, _DONE[act].format(name)))


async def restore(page: Page, form: Form) -> Response:
    """Save the rules of an earlier edition as a new one."""
    number = form.text("number")
    book = await page.call("rules")
    edition = next((one for one in book["editions"] if str(one["number"]) == number), None)
    if edition is None:
        raise InvalidRequest("there is no such edition", field="number", fix="look at the list again")
    await _save_rules(page, form, edition["rules"])
    return page.go(page.link("/policy"), _note(book, f"The rules of edition {number} are restored."))


async def _save_rules(page: Page, form: Form, rules: list[dict[str, Json]]) -> None:
    # `call` drops empty values, but an empty list is meant here, so the service is called directly.
    payload: dict[str, Json] = {"rules": rules, "if_edition": _read_edition(form)}
    await page.console.service.call("set_rules", payload, page.caller)


async def activate(page: Page, form: Form) -> Response:
    await page.call("activate_rule", name=form.text("name"))
    return page.go(page.link("/policy"), Note(text=f"Rule {form.text('name')} is active."))


async def revert(page: Page, form: Form) -> Response:
    """Undo all changes that a learned rule allowed, and disable it; the operator must type its name."""
    if (form.get("confirm") or "").strip() != form.text("name").strip():
        raise InvalidRequest("this cannot be undone", field="confirm", fix="type the name of the rule")
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


def _read_edition(form: Form) -> int:
    return whole(form.text("edition"), "edition", "edition is a number")


def _describe_rule(rule: Mapping[str, Json]) -> dict[str, Any]:
    return {
        "name": rule["name"],
        "verdict": rule["verdict"],
        "enabled": rule.get("enabled", True),
        "note": rule.get("note", ""),
        "learned": rule.get("learned", False),
        "reviewers": rule.get("reviewers", 1),
        "conditions": describe(rule),
    }


POLICY = PageGroup(
    views=(
        View(path="/policy", look=policy),
        View(path="/policy/rule", look=rule, do=save),
        View(path="/policy/text", look=text, do=save_text),
        View(path="/policy/arrange", do=arrange),
        View(path="/policy/restore", do=restore),
        View(path="/policy/activate", do=activate),
        View(path="/suggestions", look=suggestions),
        View(path="/policy/revert", do=revert),
    ),
    section=Section(path="/policy", title="Policy", right=Right.MANAGE),
)

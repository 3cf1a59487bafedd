"""Find: a search over pages, actions, agents, people and memories."""

from collections.abc import Sequence

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.record import Json
from memorywire_server.console.page import Page, PageGroup, View
from memorywire_server.console.pages.memories import contains
from memorywire_server.console.render import gist

_MOST = 8
_MOST_AGENTS = 5
_MOST_MEMORIES = 6
_FEWEST_LETTERS = 2

_ACTS = (
    ("Decide all that waits", "/inbox/all", Right.REVIEW, False),
    ("Show what I have taken in the inbox", "/inbox?queue=mine", Right.REVIEW, False),
    ("Show what is snoozed", "/inbox?queue=snoozed", Right.REVIEW, False),
    ("Search the memories of all agents", "/memories?agent=*", Right.READ, False),
    ("Ask a question in the workbench", "/workbench", Right.READ, False),
    ("Open a question set", "/workbench/questions", Right.READ, False),
    ("Add a rule", "/policy/rule", Right.MANAGE, False),
    ("Edit the rules as text", "/policy/text", Right.MANAGE, False),
    ("Run the consolidation now", "/dreams", Right.MANAGE, False),
    ("Verify the ledger", "/activity/verify", Right.MANAGE, True),
    ("Check the stores", "/health/check", Right.MANAGE, True),
    ("Back up the store", "/operations#backups", Right.MANAGE, True),
    ("Add a webhook", "/operations#webhooks", Right.MANAGE, True),
    ("Add an operator or a token", "/operators", Right.MANAGE, True),
)
"""Actions: title, path, required right, and whether the action concerns all tenants."""


async def find(page: Page) -> Response:
    """Show the matches of the words in the URL, the most likely first."""
    words = page.query.get("find", "").strip()
    found = [("Page", section.title, page.link(section.path)) for section in page.sections]
    found += [
        ("Do", title, page.link(path))
        for title, path, right, is_everywhere in _ACTS
        if page.may(right, everywhere=is_everywhere)
    ]
    found = [one for one in found if all(word in one[1].lower() for word in words.lower().split())]
    if words and page.may(Right.READ):
        agents = sorted((await page.call("agents"))["items"], key=lambda one: -one["memories"])
        found += await _find_names(page, words, agents)
        if len(words) >= _FEWEST_LETTERS:
            found += await _find_memories(page, words, [one["agent_id"] for one in agents[:_MOST_AGENTS]])
        meaning = page.link("/memories", q=words, by="meaning")
        found.append(("Search", f"Memories that answer: {words}", meaning))
        found.append(("Ask", f"Ask in the workbench: {words}", page.link("/workbench", q=words)))
    return await page.show("find.html", words=words, found=found)


async def _find_names(
    page: Page, words: str, agents: Sequence[dict[str, Json]]
) -> list[tuple[str, str, str]]:
    """Return agents, and people of the largest agent, whose names contain the words."""
    names: list[tuple[str, str, str]] = [
        ("Agent", one["agent_id"], page.link("/memories", agent=one["agent_id"]))
        for one in agents
        if words.lower() in one["agent_id"].lower()
    ]
    if agents and agents[0]["memories"]:
        agent = agents[0]["agent_id"]
        people = (await page.call("facets", agent_id=agent))["fields"]["user_id"]
        names += [
            ("Person", one["value"], page.link("/profile", agent=agent, user_id=one["value"]))
            for one in people
            if words.lower() in one["value"].lower()
        ]
    return names[:_MOST]


async def _find_memories(page: Page, words: str, agents: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the newest memories of these agents that contain all of the words."""
    filter = {"and": [contains(word) for word in words.split()[:_MOST]]}
    found: list[tuple[str, str, str]] = []
    for agent in agents:
        most = _MOST_MEMORIES - len(found)
        if most:
            page_of = await page.call("list", agent_id=agent, filter=filter, order="newest", limit=most)
            found += [
                ("Memory", gist(one["content"]), page.link("/record", id=one["id"], agent=agent))
                for one in page_of["items"]
            ]
    return found


FIND = PageGroup(views=(View(path="/find", look=find),))

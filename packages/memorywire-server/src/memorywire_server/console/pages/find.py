"""Find: what the console can open, by a few letters: pages, agents, people, a search of memories."""

from starlette.responses import Response

from memorywire.journal.operators import Right
from memorywire.model.record import Json
from memorywire_server.console.page import Page, PageGroup, View

_MOST = 8


async def find(page: Page) -> Response:
    """What the words of the address could mean, the likeliest first."""
    words = page.query.get("find", "").strip()
    places = [("Page", section.title, page.link(section.path)) for section in page.sections]
    if page.may(Right.MANAGE):
        places.append(("Do", "Add a rule", page.link("/policy/rule")))
    if page.may(Right.REVIEW):
        places.append(("Do", "Decide all that waits", page.link("/inbox/all")))
    found = [one for one in places if words.lower() in one[1].lower()]
    if words and page.may(Right.READ):
        found += await _find_names(page, words)
        found.append(
            ("Search", f"Memories that answer: {words}", page.link("/memories", q=words, by="meaning"))
        )
        found.append(("Ask", f"Ask in the workbench: {words}", page.link("/workbench", q=words)))
    return await page.show("find.html", words=words, found=found)


async def _find_names(page: Page, words: str) -> list[tuple[str, str, str]]:
    """Agents, and people of the largest of them, with these letters in their names."""
    agents = (await page.call("agents"))["items"]
    names: list[tuple[str, str, str]] = [
        ("Agent", one["agent_id"], page.link("/memories", agent=one["agent_id"]))
        for one in agents
        if words.lower() in one["agent_id"].lower()
    ]
    largest: dict[str, Json] | None = max(agents, key=lambda one: one["memories"], default=None)
    if largest is not None and largest["memories"]:
        agent = largest["agent_id"]
        people = (await page.call("facets", agent_id=agent))["fields"]["user_id"]
        names += [
            ("Person", one["value"], page.link("/profile", agent=agent, user_id=one["value"]))
            for one in people
            if words.lower() in one["value"].lower()
        ]
    return names[:_MOST]


FIND = PageGroup(views=(View(path="/find", look=find),))

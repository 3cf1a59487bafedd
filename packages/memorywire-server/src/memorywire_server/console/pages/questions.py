"""Question sets: questions with recorded answers, asked again after a change of settings.

A set is stored only in its URL, as ids of recalls; the recall log has the questions and answers.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.responses import Response

from memorywire.model.errors import InvalidRequest
from memorywire.model.oversight import Reasons
from memorywire.model.record import Json
from memorywire_server.console.page import Form, Page, PageGroup, View
from memorywire_server.console.pages.workbench import Ranking, ask_again, build_options, build_then

_MOST = 100
_OFFERED = 50
_SETTINGS = ("k", "fusion", "floor", "recency")
_VERDICTS = ("no_match", "weak", "match")


class Outcome(Struct, frozen=True, kw_only=True):
    """The difference for one question: lost and new memories in its answer, and both verdicts."""

    recall_id: str
    query: str
    before: str
    after: str
    same: int
    total: int
    lost: Sequence[tuple[str, Json]]
    new: Sequence[tuple[str, Json]]
    reordered: bool

    @property
    def changed(self) -> bool:
        return bool(self.lost or self.new or self.reordered or self.before != self.after)

    @property
    def worse(self) -> bool:
        return _VERDICTS.index(self.after) < _VERDICTS.index(self.before)


async def questions(page: Page) -> Response:
    """Ask the set in the URL again; without a set, list questions to build one from."""
    agents = (await page.call("agents"))["items"]
    agent = page.choose(agents)
    ids = list(dict.fromkeys(page.request.query_params.getlist("recall")))
    if len(ids) > _MOST:
        raise InvalidRequest(f"a set has at most {_MOST} questions", field="recall")
    values: dict[str, Any] = {"outcomes": None, "offered": [], "settings": _SETTINGS, "ids": ids}
    if ids:
        values["outcomes"] = [one for id in ids if (one := await _ask(page, id)) is not None]
    elif agent is not None:
        values["offered"] = await _list_questions(page, agent)
    return await page.show("questions.html", agents=agents, agent=agent, **values)


async def start(page: Page, form: Form) -> Response:
    """Ask each question once, and open the set of these recalls."""
    agent, user = form.text("agent"), form.get("user_id")
    lines = [line.strip() for line in form.text("content").splitlines() if line.strip()]
    queries = list(dict.fromkeys(lines))
    if len(queries) > _MOST:
        raise InvalidRequest(f"a set has at most {_MOST} questions", field="content")
    ids = [
        (await page.call("recall", agent_id=agent, user_id=user, query=query))["recall_id"]
        for query in queries
    ]
    fields = [("agent", agent), *(("recall", id) for id in ids)]
    return page.go(f"{page.link('/workbench/questions')}?{urlencode(fields)}")


async def _ask(page: Page, recall_id: str) -> Outcome | None:
    """Ask the question of a recall again and compare; None if the question is not stored."""
    reasons = await page.ask(Reasons, "why", recall_id=recall_id)
    if reasons.query is None:
        return None
    setting = {name: page.query[name] for name in _SETTINGS if name in page.query}
    options = build_options({}, setting)
    now = await ask_again(page, reasons, as_of_then=False, options=options)
    return compare_answers(reasons.query, build_then(reasons), now)


def compare_answers(query: str, before: Ranking, after: Ranking) -> Outcome:
    """Compare two answers: lost memories, new ones, and whether the common ones keep their order."""
    old, new = ({line.id: line.content for line in one.lines} for one in (before, after))
    return Outcome(
        recall_id=before.recall_id,
        query=query,
        before=before.verdict,
        after=after.verdict,
        same=len(old.keys() & new.keys()),
        total=len(old),
        lost=[(id, content) for id, content in old.items() if id not in new],
        new=[(id, content) for id, content in new.items() if id not in old],
        reordered=[id for id in old if id in new] != [id for id in new if id in old],
    )


async def _list_questions(page: Page, agent: str) -> list[dict[str, Json]]:
    """Return the agent's newest recalls with stored questions, each question once."""
    items = (await page.call("recalls", agent_id=agent, limit=_OFFERED))["items"]
    unique = {(one["query"], one.get("user_id")): one for one in reversed(items) if "query" in one}
    return list(reversed(unique.values()))


QUESTIONS = PageGroup(views=(View(path="/workbench/questions", look=questions, do=start),))

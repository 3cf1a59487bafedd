"""What the pages show in tests: the world of the demo, or one in which every text is hostile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from memorywire.journal.webhooks import Letter, Webhook, Webhooks
from memorywire.model.clock import system_clock
from memorywire.model.record import Scope
from memorywire_consolidate.run import ConsolidationRun, dream
from memorywire_server.commands.demo import Calendar, fill_demo
from tests.console.hostile import HOSTILE
from tests.console.stage import Stage, staged

_MOST_TAG = 128
_MOST_SOURCE = 200


@dataclass
class World:
    """A stage with something on it; `names` are the values of the places in PAGES, one set for each round."""

    stage: Stage
    names: list[dict[str, str]]

    def addresses(self, page: str) -> list[str]:
        """The page in every way it can be filled."""
        filled = [
            page.format(**{name: quote(value, safe="") for name, value in each.items()})
            for each in self.names
        ]
        return [f"{self.stage.url}{one}" for one in dict.fromkeys(filled)]


def failing_webhook(stage: Stage, url: str = "https://shop.example/memory-events") -> str:
    """The id of a webhook that gave up one event, and fails on the next."""
    webhooks = Webhooks(stage.server.container.journal)
    webhook = Webhook(id="hook-1", url=url, secret="", tenant="default", made_at=system_clock(), position=0)

    async def fail() -> None:
        await webhooks.add(webhook, actor="person:local")
        await webhooks.bury(webhook.id, Letter(event=1, at=system_clock(), error="HTTP 503"))
        late = system_clock() + 3_000_000
        await webhooks.fail(webhook.id, tries=4, due_at=late, error="Connection refused")

    stage.server.run(fail())
    return webhook.id


@contextmanager
def demo_world() -> Iterator[World]:
    calendar = Calendar(system_clock)
    with staged(clock=calendar) as stage:
        stage.server.run(fill_demo(stage.server.container, calendar))
        waiting = stage.call("proposals", by_risk=True, agent_id="support")["items"]
        recall = stage.call("recall", agent_id="support", query="what does Ana like to drink?")
        modified = next(
            item for item in waiting if item["memories"] and "black tea" in item.get("preview", "")
        )
        shown = {
            "agent": "support",
            "user": "ana",
            "memory": modified["memories"][0],
            "recall": recall["recall_id"],
            "session": "chat-114",
        }
        night = stage.server.client.get("/v0/audit?operation=dream&agent_id=support").json["entries"][0]
        last = {"proposal": modified["id"], "run": night["subject"], "webhook": failing_webhook(stage)}
        yield World(stage, [shown | last])


@contextmanager
def hostile_world() -> Iterator[World]:
    """Each hostile text is a memory, its source, its tag and its metadata, and waits in a proposal, too."""
    with staged() as stage:
        kept = [
            _kept(stage, f"memory-{at}", text, kind="event", slot=f"s{at}") for at, text in enumerate(HOSTILE)
        ]
        _kept(
            stage,
            "mine",
            "I live in <b>Graz</b>.",
            user_id="evil <user>",
            kind="identity",
            slot="home",
            session_id=HOSTILE[0],
        )
        for at, text in enumerate(HOSTILE):
            _kept(stage, f"again-{at}", f"{text} now")
        night = stage.server.run(
            dream(Scope(agent="hostile"), stage.server.container.context, ConsolidationRun())
        )
        assert night.run is not None
        held = [
            stage.hold(f"{text} ({at})", agent="hostile", **_around(text)) for at, text in enumerate(HOSTILE)
        ]
        webhook = failing_webhook(stage, "http://127.0.0.1:9/<script>alert(1)</script>?\"'")
        recall = stage.call("recall", agent_id="hostile", query="<script>alert(1)</script> evil", k=50)
        yield World(
            stage,
            [
                {
                    "agent": "hostile",
                    "user": "evil <user>",
                    "memory": memory,
                    "proposal": proposal,
                    "recall": recall["recall_id"],
                    "run": night.run,
                    "session": HOSTILE[0],
                    "webhook": webhook,
                }
                for memory, proposal in zip(kept, held, strict=True)
            ],
        )


def _kept(stage: Stage, id: str, text: str, **fields: Any) -> str:
    receipt = stage.server.client.remember(text, "hostile", id=id, **_around(text), **fields)
    if receipt["status"] == "staged":
        stage.call("decide", proposal_ids=[receipt["proposal_id"]], verb="approve")
    return str(receipt["id"])


def _around(text: str) -> dict[str, Any]:
    short = text[:60] or "x"
    return {
        "tags": [short[:_MOST_TAG]],
        "source": f"chat:{text}"[:_MOST_SOURCE],
        "metadata": {short: [short, {short: 1}]},
    }

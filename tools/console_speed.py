"""How long the server takes for each page of the console, on many memories and many waiting changes.

`PYTHONPATH=. python tools/console_speed.py --memories 100000 --proposals 1000` fills a store in a temporary
folder, or takes the one that `--folder` holds already, asks for every page many times and prints the median
and the 95th percentile of what the server itself measured, and the same of what the processor worked, the
asking included. Ends with 1 if a page is slower than it may be, by the clock, or with `--by processor` by the
work of the processor, which other programs on the machine change less. `/activity/verify` is no page
but an act, which reads every entry of the ledger and computes its proof anew: it is shown, and may take long.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from load_http import CHUNK, MadeUp
from memorywire.app import Governance, open_container
from memorywire.app.dispatch import dispatch
from memorywire.client.bulk import remember_each
from memorywire.model.clock import system_clock
from memorywire_evals.bench.corpus import facts
from tests.console.pages import PAGES
from tests.console.stage import Stage, staged
from tests.console.world import World

AGENTS = 20
MOST_MS = 100.0
MOST_TYPING_MS = 60.0
TYPING = ("/memories?agent={agent}&q=script", "/find?find=a")
"""Addresses that are asked for while somebody types."""

ACTS = ("/activity/verify",)
"""Addresses that do what somebody pressed a button for, however much there is; no page waits for them."""
TYPES = ("semantic", "episodic", "emotional")
SOURCES = ("chat", "form:profile", "page", "handbook")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--proposals", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--by", choices=("clock", "processor"), default="clock")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.folder or Path(folder)
        place.mkdir(exist_ok=True)
        url = f"sqlite://{place}/memory.db"
        if not (place / "memory.db").exists():
            asyncio.run(_fill(url, options.memories, options.proposals))
        with staged(url) as stage:
            return _measure(_world(stage), options.rounds, options.by)


async def _fill(url: str, memories: int, proposals: int) -> None:
    container = await open_container(
        stores=[url],
        embedder=MadeUp(),
        embedder_key=None,
        clock=system_clock,
        governance=Governance(policy="open"),
    )
    source = facts()
    for start in range(0, memories, CHUNK):
        chunk = islice(source, min(CHUNK, memories - start))
        given = [_payload(start + at, fact.content) for at, fact in enumerate(chunk)]
        async for _ in remember_each(given, container.context, tenant="default"):
            pass
    for at, fact in enumerate(islice(source, proposals)):
        held = _payload(at, fact.content) | {"approval_required": True}
        await dispatch("remember", held, container, tenant="default")
    await container.close()


def _payload(at: int, content: str) -> dict[str, object]:
    return {
        "agent_id": f"agent-{at % AGENTS}",
        "type": TYPES[at % len(TYPES)],
        "content": content,
        "source": SOURCES[at % len(SOURCES)],
        "tags": [f"tag-{at % 7}"],
    }


def _world(stage: Stage) -> World:
    agent = "agent-0"
    memory = stage.call("list", agent_id=agent, limit=1)["items"][0]
    proposal = stage.call("proposals", agent_id=agent, by_risk=True, limit=1)["items"][0]
    recall = stage.call("recall", agent_id=agent, query=memory["content"])
    names = {
        "agent": agent,
        "memory": memory["id"],
        "proposal": proposal["id"],
        "recall": recall["recall_id"],
        "session": "none",
    }
    return World(stage, [names])


def _measure(world: World, rounds: int, by: str) -> int:
    client, lines = world.stage.server.client, world.stage.server.lines
    slow = []
    print("| page | median ms | p95 ms | processor median ms | processor p95 ms | KB |")
    print("|---|---:|---:|---:|---:|---:|")
    for page in PAGES:
        if any(name in page for name in ("{user}", "{run}", "{webhook}")):
            continue  # this store has none of them
        [address] = world.addresses(page)
        path = address.removeprefix(client.url)
        reply = client.send("GET", path)
        assert reply.status == 200, (path, reply.status, reply.body[:300])
        lines.clear()
        worked = []
        for _ in range(rounds):
            began = time.process_time()
            client.send("GET", path)
            worked.append((time.process_time() - began) * 1000)
        times = [json.loads(line)["ms"] for line in lines]
        columns = [one for each in (times, worked) for one in (statistics.median(each), _find_p95(each))]
        figures = " | ".join(f"{one:.1f}" for one in columns)
        print(f"| `{page}`{' (an act)' if page in ACTS else ''} | {figures} | {len(reply.body) / 1000:.0f} |")
        sys.stdout.flush()
        most = MOST_TYPING_MS if page in TYPING else MOST_MS
        if _find_p95(times if by == "clock" else worked) >= most and page not in ACTS:
            slow.append(page)
    if slow:
        limits = f"{MOST_MS:g} ms, or {MOST_TYPING_MS:g} ms while somebody types"
        print(f"slower than {limits}: {', '.join(slow)}", file=sys.stderr)
    return bool(slow)


def _find_p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[18]


if __name__ == "__main__":
    sys.exit(main())

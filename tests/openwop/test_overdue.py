"""What a run had to itself is gone once it ended, however it ended, and a run that nobody ends is ended."""

from pathlib import Path

from memorywire.model.capabilities import host_over
from memorywire.model.change import Footprint
from memorywire.model.clock import DAY_MS as DAY
from memorywire.model.errors import StoreUnavailable
from memorywire.model.record import Scope
from memorywire.search.embed import open_embedder
from memorywire.stores.memory import MemoryStore
from memorywire_openwop.host import Host
from tests.openwop.stage import EXTENSION, good, hosting, refused


def test_what_nobody_ended_is_ended_without_anybody_looking_whoever_began_it(tmp_path: Path) -> None:
    with hosting(tmp_path) as stage:
        mine, theirs = stage.session(), stage.session(client=stage.theirs)
        for run in (mine, theirs):
            run.put(run.memory["scratchpad"], "a note")
        stage.turn_on(7 * DAY + 60_000)
        fresh = stage.session()
        container = stage.server.container
        assert container.journal is not None
        another = Host(container, container.journal, serves=host_over(container.capabilities))
        stage.server.run(another.end_overdue())
        for run in (mine, theirs):
            agent = f"openwop-run:{run.id}:scratchpad"
            assert good(run.client.post("/v0/list", {"agent_id": agent}))["items"] == []
            assert run.events()[-1]["type"] == "run.failed"
        assert good(stage.mine.get(f"/v1/runs/{fresh.id}"))["status"] == "running"


def test_a_run_whose_scratchpad_cannot_be_erased_stays_open(tmp_path: Path) -> None:
    store = Forgetful(open_embedder("minilm").space)
    with hosting(tmp_path, store=store) as stage:
        run = stage.session()
        run.put(run.memory["scratchpad"], "a note")
        end = f"{EXTENSION}/runs/{run.id}:complete"
        store.past_is_away = True
        refused(stage.mine.post(end, {}), 503, "store_unavailable")
        assert good(stage.mine.get(f"/v1/runs/{run.id}"))["status"] == "running"
        store.past_is_away = False
        assert good(stage.mine.post(end, {}))["status"] == "completed"


class Forgetful(MemoryStore):
    """Cannot always say what was ever there."""

    past_is_away = False

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        if self.past_is_away:
            raise StoreUnavailable("not now")
        return await super().log(scope, after, limit)

"""What becomes of a run that nobody ends, as a claim about a host."""

from memorywire.model.clock import DAY_MS as DAY
from tests.openwop.stage import Stage, good, refused


def a_run_that_nobody_ends_is_ended(stage: Stage) -> None:
    forgotten, other = stage.session(), stage.session()
    for run in (forgotten, other):
        run.put(run.memory["scratchpad"], "a note that nobody takes away")
    other.complete()
    stage.turn_on(7 * DAY - 60_000)
    assert good(stage.mine.get(f"/v1/runs/{forgotten.id}"))["status"] == "running"
    stage.turn_on(120_000)
    run = good(stage.mine.get(f"/v1/runs/{forgotten.id}"))
    assert (run["status"], run.get("error", {}).get("code")) == ("failed", "run_timeout")
    assert forgotten.events()[-1]["payload"] == {"error": run["error"]}
    assert good(stage.mine.get(f"/v1/runs/{other.id}"))["status"] == "completed"
    agent = f"openwop-run:{forgotten.id}:scratchpad"
    assert good(stage.mine.post("/v0/list", {"agent_id": agent}))["items"] == []
    refused(stage.mine.post(f"/v1/runs/{forgotten.id}:cancel", {}), 409, "conflict")

"""One claim for each rule of the host: it holds where the rule is kept, and breaks where it is not.

The four scenarios of RFC 0004 are the claims on the snapshot, redaction, expiry and isolation; the two of
RFC 0080 those on degradation and on the profile. The others have no published scenario.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from memorywire.facades.openwop.entries import moment
from memorywire.facades.openwop.refs import issue
from memorywire.facades.openwop.rules import Rule
from memorywire.model.record import Scope
from tests.openwop.stage import Stage, events_of, good, hosting, refused, started

DAY = 86_400_000
_COLD = "correct horse battery"
_COLDER = "correct horse battery staple"


def a_run_sees_memory_as_it_stood(stage: Stage) -> None:
    ref, agent = _own(stage)
    earlier = stage.session(ref)
    old, doomed = earlier.put(ref, "was there before"), earlier.put(ref, "will be deleted")
    held = stage.mine.remember("waits for a person", agent=agent, approval_required=True)
    run, other = stage.session(ref), stage.session(ref)
    mine, theirs = run.put(ref, "my own"), other.put(ref, "somebody else's")
    assert run.delete(ref, doomed["id"]) is True
    verdict = {"proposal_ids": [held["proposal_id"]], "verb": "approve"}
    good(stage.mine.post("/v0/decide", verdict))
    assert _ids(run.list(ref)) == {old["id"], doomed["id"]}
    assert run.get(ref, doomed["id"]) == doomed
    assert [run.get(ref, new["id"]) for new in (mine, theirs)] == [None, None]
    next_one = stage.session(ref)
    assert _ids(next_one.list(ref)) == {old["id"], mine["id"], theirs["id"], held["id"]}


def what_a_vault_resolved_is_not_kept(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    good(run.resolve("short", _COLD), 201)
    good(run.resolve("long", _COLDER), 201)
    kept = run.put(ref, f"say {_COLDER}, then {_COLD}!")
    assert kept["content"] == "say [REDACTED:long], then [REDACTED:short]!"
    assert stage.session(ref).get(ref, kept["id"]) == kept
    assert not any(_COLD.encode() in file.read_bytes() for file in stage.folder.glob("memory.db*"))
    readback = started(stage.mine, "agent-memory-redaction")["variables"]["memoryReadback"]
    assert re.search(r"\[REDACTED:[^\]]+\]", readback["content"])
    other = stage.session(ref)
    assert other.put(ref, f"a run without it: {_COLD}")["content"].endswith(_COLD)


def nor_is_it_kept_in_tags(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    good(run.resolve("passphrase", _COLD), 201)
    assert run.put(ref, "tagged", tags=[f"source:{_COLD}"])["tags"] == ["source:[REDACTED:passphrase]"]


def short_values_are_not_registered(stage: Stage) -> None:
    run = stage.session(stage.ref())
    problem = refused(run.resolve("pin", "1234567"), 400, "validation_error")
    assert "1234567" not in str(problem)
    good(run.resolve("pin", "12345678"), 201)


def markers_are_spelled_as_ours(stage: Stage) -> None:
    ref = stage.ref()
    kept = stage.session(ref).put(ref, "[BYOK:hk_live_canary] and <REDACTED:db-creds>", tags=["<REDACTED:x>"])
    assert kept["content"] == "[REDACTED:carried] and [REDACTED:db-creds]"
    assert kept["tags"] == ["[REDACTED:x]"]


def what_has_expired_is_not_shown(stage: Stage) -> None:
    ref = stage.ref()
    end = moment(stage.clock() + DAY)
    writer = stage.session(ref)
    passing, fresh = writer.put(ref, "passing", expiresAt=end), writer.put(ref, "fresh")
    run = stage.session(ref)
    assert run.get(ref, passing["id"]) == {**passing, "expiresAt": end}
    stage.turn_on(DAY)
    assert _ids(run.list(ref)) == {fresh["id"]}
    assert run.get(ref, passing["id"]) is None
    probe = started(stage.mine, "agent-memory-ttl")["variables"]
    assert probe["freshId"] in _ids(probe["memoryList"])
    assert probe["expiredId"] not in _ids(probe["memoryList"])


def nothing_is_kept_that_has_expired(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    for past in (moment(stage.clock() - 1), "2001-01-01T00:00:00Z"):
        entry = {"content": "late", "expiresAt": past}
        refused(run.ask("put", ref, entry=entry), 400, "validation_error")
    assert stage.session(ref).list(ref) == []
    run.put(ref, "in time", expiresAt=moment(stage.clock() + DAY))


def another_tenants_memory_is_out_of_reach(stage: Stage) -> None:
    theirs = stage.ref("umbrella")
    secret = stage.session(theirs, client=stage.theirs).put(theirs, "of umbrella")
    run = stage.session(theirs)
    assert (run.list(theirs), run.get(theirs, secret["id"])) == ([], None)
    entry = {"content": "planted"}
    told = [
        refused(run.ask("put", theirs, entry=entry), 403, "forbidden"),
        refused(run.ask("delete", theirs, id=secret["id"]), 403, "forbidden"),
    ]
    assert "of umbrella" not in str(told)
    assert good(stage.mine.get(f"/v1/memory/{theirs}"))["entries"] == []
    assert stage.session(theirs, client=stage.theirs).list(theirs) == [secret]
    probe = started(stage.mine, "agent-memory-cross-tenant")["variables"]
    assert probe["ownerEntryId"] in _ids(probe["ownerProbe"])
    assert probe["crossTenantProbe"] == []


def a_malformed_reference_leads_nowhere(stage: Stage) -> None:
    for ref in ("../etc", "a/b c", f"a{'b' * 200}"):
        stage.mine.remember("must not be found", agent=ref)
        run = stage.session(ref)
        assert run.list(ref) == []
        assert good(stage.mine.get(f"/v1/memory/{quote(ref, safe='')}"))["entries"] == []
        refused(run.ask("put", ref, entry={"content": "x"}), 400, "validation_error")
    run = stage.session("mwr_bm90IGpzb24", "mwr_")
    assert [run.list("mwr_bm90IGpzb24"), run.list("mwr_")] == [[], []]
    assert good(stage.mine.get("/v1/memory/%00"))["entries"] == []


def a_run_reaches_only_what_it_is_bound_to(stage: Stage) -> None:
    bound, other = stage.ref(), stage.ref()
    stage.session(other).put(other, "elsewhere")
    run = stage.session(bound)
    assert run.list(other) == []
    refused(run.ask("put", other, entry={"content": "x"}), 403, "forbidden")
    run.put(bound, "here")


def an_entry_is_not_too_large(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    most = good(stage.mine.get("/.well-known/openwop"))["memory"]["maxEntrySizeBytes"]
    half = "ä" * (most // 2)
    run.put(ref, half)
    refused(run.ask("put", ref, entry={"content": f"{half}a"}), 413, "payload_too_large")


def lists_begin_with_the_newest(stage: Stage) -> None:
    ref = stage.ref()
    writer = stage.session(ref)
    put = []
    for number in range(3):
        put.append(writer.put(ref, f"entry {number}"))
        stage.turn_on(1000)
    assert stage.session(ref).list(ref) == put[::-1]


def empty_tags_are_dropped(stage: Stage) -> None:
    ref = stage.ref()
    writer = stage.session(ref)
    kept = writer.put(ref, "tagged", tags=["", "source:test", ""])
    writer.put(ref, "not tagged")
    assert kept["tags"] == ["source:test"]
    assert stage.session(ref).list(ref, tag="source:test") == [kept]


def a_limit_of_zero_is_none(stage: Stage) -> None:
    ref = stage.ref()
    writer = stage.session(ref)
    for number in range(3):
        writer.put(ref, f"entry {number}")
    run = stage.session(ref)
    assert [len(run.list(ref, limit=limit)) for limit in (0, 2, 9999)] == [3, 2, 3]
    assert len(run.list(ref)) == 3


def a_deleted_entry_is_gone(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    kept = run.put(ref, "to be deleted")
    assert [run.delete(ref, kept["id"]), run.delete(ref, kept["id"])] == [True, False]
    later = stage.session(ref)
    assert (later.list(ref), later.get(ref, kept["id"])) == ([], None)


def each_write_is_told(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    put = [run.put(ref, f"umbrella {number}", tags=["umbrella"]) for number in range(2)]
    told = run.events()
    written = [event["payload"] for event in told if event["type"] == "memory.written"]
    assert written == [{"memoryRef": ref, "memoryId": entry["id"]} for entry in put]
    assert "umbrella" not in str(told)
    assert [event["sequence"] for event in told] == list(range(1, len(told) + 1))
    noop = started(stage.mine, "noop")
    assert "memory.written" in [event["type"] for event in events_of(stage.mine, noop["runId"])]


def scratchpad_ends_with_its_run(stage: Stage) -> None:
    run = stage.session()
    for kind, ref in run.memory.items():
        first, gone = run.put(ref, f"a note in the {kind}"), run.put(ref, "a note to delete")
        assert run.delete(ref, gone["id"]) is True
        assert run.list(ref) == [first]
        assert stage.session(ref).list(ref) == []
    run.complete()
    for kind in run.memory:
        agent = f"openwop-run:{run.id}:{kind}"
        assert good(stage.mine.post("/v0/list", {"agent_id": agent}))["items"] == []
    assert not any(b"a note" in file.read_bytes() for file in stage.folder.glob("memory.db"))
    good(run.fork(), 201)


def a_replay_tells_what_was_told(stage: Stage) -> None:
    ref = stage.ref()
    stage.session(ref).put(ref, "read by the run")
    run = stage.session(ref)
    run.put(ref, "written by the run")
    run.list(ref)
    run.complete()
    before = stage.session(ref).list(ref)
    stage.turn_on(DAY)
    again = good(run.fork(fromSeq=1), 201)["runId"]
    told = [_untraced(event) for event in events_of(stage.mine, again)]
    assert told == [_untraced(event) for event in run.events()]
    assert stage.session(ref).list(ref) == before
    assert good(stage.mine.get(f"/v1/runs/{again}"))["sourceRunId"] == run.id


def a_replay_without_its_memory_is_refused(stage: Stage) -> None:
    ref, agent = _own(stage)
    kept = stage.session(ref).put(ref, "to be erased")
    run, blind = stage.session(ref), stage.session(ref)
    assert run.list(ref) == [kept]
    for one in (run, blind):
        one.complete()
    good(run.fork(), 201)
    good(stage.mine.post("/v0/forget", {"agent_id": agent, "ids": [kept["id"]], "hard_delete": True}))
    envelope = refused(run.fork(fromSeq=1), 422, "replay_memory_snapshot_unavailable")
    assert envelope["details"] == {"sourceRunId": run.id, "fromSeq": 1, "reason": "retention_expired"}
    good(blind.fork(), 201)


def an_agent_that_asks_for_more_says_so(stage: Stage) -> None:
    lasting = _agents(stage)
    assert not any(
        {"memoryDegraded", "degradedMemoryDimensions"} & agent.keys() for agent in lasting.values()
    )
    with hosting(stage.folder, store="memory://", rules=stage.rules) as passing:
        agents = _agents(passing)
    assert agents["conformance.long-term"].get("memoryDegraded") is True
    assert agents["conformance.long-term"]["degradedMemoryDimensions"] == ["long-term"]
    assert "memoryDegraded" not in agents["conformance.forgetful"]


def the_profile_follows(stage: Stage) -> None:
    lasting = good(stage.mine.get("/.well-known/openwop"))
    assert lasting["memory"]["writable"] is True
    assert (lasting["agents"]["memoryBackends"], "openwop-memory" in lasting["profiles"]) == (
        ["long-term"],
        True,
    )
    with hosting(stage.folder, store="memory://", rules=stage.rules) as passing:
        said = good(passing.mine.get("/.well-known/openwop"))
    assert (said["agents"]["memoryBackends"], "openwop-memory" in said["profiles"]) == ([], False)
    assert said["capabilities"] == {"memory": said["memory"], "agents": said["agents"]}


CLAIMS: Mapping[Rule, Callable[[Stage], None]] = {
    Rule.SNAPSHOT: a_run_sees_memory_as_it_stood,
    Rule.SECRETS: what_a_vault_resolved_is_not_kept,
    Rule.SECRETS_IN_TAGS: nor_is_it_kept_in_tags,
    Rule.FLOOR: short_values_are_not_registered,
    Rule.MARKERS: markers_are_spelled_as_ours,
    Rule.EXPIRY: what_has_expired_is_not_shown,
    Rule.FUTURE_ONLY: nothing_is_kept_that_has_expired,
    Rule.ISOLATION: another_tenants_memory_is_out_of_reach,
    Rule.WELL_FORMED: a_malformed_reference_leads_nowhere,
    Rule.BINDING: a_run_reaches_only_what_it_is_bound_to,
    Rule.SIZE: an_entry_is_not_too_large,
    Rule.NEWEST_FIRST: lists_begin_with_the_newest,
    Rule.BLANK_TAGS: empty_tags_are_dropped,
    Rule.DEFAULT_LIMIT: a_limit_of_zero_is_none,
    Rule.DELETION: a_deleted_entry_is_gone,
    Rule.EVENTS: each_write_is_told,
    Rule.RUN_LIFE: scratchpad_ends_with_its_run,
    Rule.REPLAY: a_replay_tells_what_was_told,
    Rule.ERASURE: a_replay_without_its_memory_is_refused,
    Rule.DEGRADATION: an_agent_that_asks_for_more_says_so,
    Rule.PROFILE: the_profile_follows,
}


def _own(stage: Stage) -> tuple[str, str]:
    """A memory of acme's, and the name of its agent on the wire."""
    agent = f"{stage.ref()[-8:]}-{time.monotonic_ns()}"
    return issue(Scope(tenant="acme", agent=agent)), agent


def _ids(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["id"] for entry in entries}


def _untraced(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what names the run that told it."""
    return {name: value for name, value in event.items() if name not in ("eventId", "runId")}


def _agents(stage: Stage) -> dict[str, dict[str, Any]]:
    said = good(stage.mine.get("/v1/agents"))
    assert said["total"] == len(said["agents"])
    return {agent["agentId"]: agent for agent in said["agents"]}

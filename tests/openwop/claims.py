"""One claim for each rule of the host: it holds where the rule is kept, and breaks where it is not.

The four scenarios of RFC 0004 are the claims on the snapshot, redaction, expiry and isolation; the two of
RFC 0080 those on degradation and on the profile. The others have no published scenario.
"""

import base64
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from memorywire.model.record import Scope
from memorywire_openwop.entries import format_time
from memorywire_openwop.refs import build_ref
from tests.openwop.overdue import a_run_that_nobody_ends_is_ended
from tests.openwop.rules import Rule
from tests.openwop.stage import EXTENSION, Stage, events_of, good, hosting, refused, started

DAY = 86_400_000
_COLD = "correct horse battery"
_COLDER = "correct horse battery staple"
_MEMORY = {
    *("supported", "writable", "maxEntrySizeBytes", "ttlSupported"),
    *("compaction", "distillation", "attribution", "search", "retention", "injectionBudget"),
}
_FIXTURES = ("noop", *(f"agent-memory-{name}" for name in ("roundtrip", "redaction", "ttl", "cross-tenant")))


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


def the_longer_of_two_secrets_counts(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    for id, value in (("short", _COLD), ("long", _COLDER)):
        good(run.resolve(id, value), 201)
    assert run.put(ref, _COLDER)["content"] == "[REDACTED:long]"
    assert run.put(ref, f"{_COLD}y staple")["content"] == "[REDACTED:short]y staple"


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
    end = format_time(stage.clock() + DAY)
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
    for past in (format_time(stage.clock() - 1), "2001-01-01T00:00:00Z"):
        entry = {"content": "late", "expiresAt": past}
        refused(run.ask("put", ref, entry=entry), 400, "validation_error")
    assert stage.session(ref).list(ref) == []
    run.put(ref, "in time", expiresAt=format_time(stage.clock() + DAY))


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
    assert good(stage.mine.get(f"{EXTENSION}/memory/{theirs}"))["entries"] == []
    assert stage.session(theirs, client=stage.theirs).list(theirs) == [secret]
    probe = started(stage.mine, "agent-memory-cross-tenant")["variables"]
    assert probe["ownerEntryId"] in _ids(probe["ownerProbe"])
    assert probe["crossTenantProbe"] == []


def a_malformed_reference_leads_nowhere(stage: Stage) -> None:
    for ref in ("../etc", "a/b c", f"a{'b' * 200}"):
        stage.mine.remember("must not be found", agent=ref)
        run = stage.session(ref)
        assert run.list(ref) == []
        assert good(stage.mine.get(f"{EXTENSION}/memory/{quote(ref, safe='')}"))["entries"] == []
        refused(run.ask("put", ref, entry={"content": "x"}), 400, "validation_error")
    deep = f"mwr_{base64.urlsafe_b64encode(b'[' * 1_100).decode()}"
    for ref in ("mwr_bm90IGpzb24", "mwr_", deep, *map(_of, ("", "a\0b", "a" * 257))):
        run = stage.session(ref)
        assert (run.list(ref), run.get(ref, "x")) == ([], None)
        refused(run.ask("put", ref, entry={"content": "x"}), 400, "validation_error")
    assert (run.list("a\0b"), run.get("a\0b", "x")) == ([], None)
    assert good(stage.mine.get(f"{EXTENSION}/memory/%00"))["entries"] == []


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


def every_put_is_an_entry_of_its_own(stage: Stage) -> None:
    ref = stage.ref()
    run = stage.session(ref)
    before = format_time(stage.clock())
    first, second = run.put(ref, "twice", tags=["a"]), run.put(ref, "twice", tags=["a"])
    assert first["id"] != second["id"]
    assert before <= first["createdAt"] <= second["createdAt"] <= format_time(stage.clock())
    assert set(first) == {"id", "content", "tags", "createdAt"}
    third = run.put(ref, "x", id="mine", createdAt="2001-01-01T00:00:00Z")
    assert third["id"] != "mine"
    assert before <= third["createdAt"]
    assert len(stage.session(ref).list(ref)) == 3


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
    with hosting(stage.folder, store="memory://", without=stage.without) as passing:
        agents = _agents(passing)
    assert agents["conformance.long-term"].get("memoryDegraded") is True
    assert agents["conformance.long-term"]["degradedMemoryDimensions"] == ["long-term"]
    assert "memoryDegraded" not in agents["conformance.forgetful"]


def names_are_those_of_the_schemas(stage: Stage) -> None:
    """The shapes of RFC 0080, as far as a document can show them: closed parts, closed words, yes or no."""
    said = good(stage.mine.get("/.well-known/openwop"))
    memory, agents = said["memory"], said["agents"]
    assert set(memory) <= _MEMORY
    assert all(type(memory[name]) is bool for name in ("supported", "writable", "ttlSupported"))
    assert memory["maxEntrySizeBytes"] >= 1
    assert set(memory["search"]) == {"supported", "modes"}
    assert set(memory["search"]["modes"]) <= {"semantic", "filter"}
    assert {type(holds) for holds in memory["retention"].values()} == {bool}
    assert set(memory["retention"]) <= {"ttl", "forget"}
    assert memory["compaction"]["trigger"] in ("host-managed", "client-requested", "both")
    assert memory["attribution"] == {"supported": True, "emitsWriteEvents": True}
    assert agents["memoryBackends"] == ["long-term"]
    assert said["fixtures"] == sorted(f"conformance-{name}" for name in _FIXTURES)


def the_profile_follows(stage: Stage) -> None:
    lasting = good(stage.mine.get("/.well-known/openwop"))
    assert lasting["memory"]["writable"] is True
    assert (lasting["agents"]["memoryBackends"], "openwop-memory" in lasting["profiles"]) == (
        ["long-term"],
        True,
    )
    with hosting(stage.folder, store="memory://", without=stage.without) as passing:
        said = good(passing.mine.get("/.well-known/openwop"))
    assert (said["agents"]["memoryBackends"], "openwop-memory" in said["profiles"]) == ([], False)
    assert said["capabilities"] == {"memory": said["memory"], "agents": said["agents"]}


CLAIMS: Mapping[Rule, Callable[[Stage], None]] = {
    Rule.SNAPSHOT: a_run_sees_memory_as_it_stood,
    Rule.SECRETS: what_a_vault_resolved_is_not_kept,
    Rule.OVERLAP: the_longer_of_two_secrets_counts,
    Rule.SECRETS_IN_TAGS: nor_is_it_kept_in_tags,
    Rule.FLOOR: short_values_are_not_registered,
    Rule.MARKERS: markers_are_spelled_as_ours,
    Rule.EXPIRY: what_has_expired_is_not_shown,
    Rule.FUTURE_ONLY: nothing_is_kept_that_has_expired,
    Rule.ISOLATION: another_tenants_memory_is_out_of_reach,
    Rule.WELL_FORMED: a_malformed_reference_leads_nowhere,
    Rule.BINDING: a_run_reaches_only_what_it_is_bound_to,
    Rule.SIZE: an_entry_is_not_too_large,
    Rule.OWN_IDS: every_put_is_an_entry_of_its_own,
    Rule.NEWEST_FIRST: lists_begin_with_the_newest,
    Rule.BLANK_TAGS: empty_tags_are_dropped,
    Rule.DEFAULT_LIMIT: a_limit_of_zero_is_none,
    Rule.DELETION: a_deleted_entry_is_gone,
    Rule.EVENTS: each_write_is_told,
    Rule.RUN_LIFE: scratchpad_ends_with_its_run,
    Rule.DEADLINE: a_run_that_nobody_ends_is_ended,
    Rule.REPLAY: a_replay_tells_what_was_told,
    Rule.ERASURE: a_replay_without_its_memory_is_refused,
    Rule.DEGRADATION: an_agent_that_asks_for_more_says_so,
    Rule.NAMES: names_are_those_of_the_schemas,
    Rule.PROFILE: the_profile_follows,
}


def what_is_forgotten_for_good_is_gone_for_everybody(stage: Stage) -> None:
    """Of one subject, in one tenant: from open runs, from later ones and from what is there now."""
    agent = f"forgetting-{time.monotonic_ns()}"
    ana, ben = [build_ref(Scope(tenant="acme", agent=agent, user=user)) for user in ("ana", "ben")]
    far = build_ref(Scope(tenant="umbrella", agent=agent, user="ana"))
    writer, other = stage.session(ana, ben), stage.session(far, client=stage.theirs)
    gone, stays, theirs = (
        writer.put(ana, "of ana"),
        writer.put(ben, "of ben"),
        other.put(far, "of another ana"),
    )
    run = stage.session(ana, ben)
    assert run.list(ana) == [gone]
    subject = {"agent_id": agent, "user_id": "ana", "filter": {"type": "semantic"}, "hard_delete": True}
    assert good(stage.mine.post("/v0/forget", subject))["forgotten_ids"] == [gone["id"]]
    assert (run.list(ana), run.get(ana, gone["id"])) == ([], None)
    assert stage.session(ana).list(ana) == []
    assert good(stage.mine.get(f"{EXTENSION}/memory/{ana}"))["entries"] == []
    assert (run.list(ben), stage.session(ben).list(ben)) == ([stays], [stays])
    assert stage.session(far, client=stage.theirs).list(far) == [theirs]


def _own(stage: Stage) -> tuple[str, str]:
    """A memory of acme's, and the name of its agent on the wire."""
    agent = f"{stage.ref()[-8:]}-{time.monotonic_ns()}"
    return build_ref(Scope(tenant="acme", agent=agent)), agent


def _of(agent: str) -> str:
    """A reference as the host spells it, whatever it leads to."""
    return build_ref(Scope(tenant="acme", agent=agent))


def _ids(entries: list[dict[str, Any]]) -> set[str]:
    return {entry["id"] for entry in entries}


def _untraced(event: dict[str, Any]) -> dict[str, Any]:
    """An event without what names the run that told it."""
    return {name: value for name, value in event.items() if name not in ("eventId", "runId")}


def _agents(stage: Stage) -> dict[str, dict[str, Any]]:
    said = good(stage.mine.get("/v1/agents"))
    assert said["total"] == len(said["agents"])
    return {agent["agentId"]: agent for agent in said["agents"]}

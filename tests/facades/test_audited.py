"""The ledger can be read, proven, signed and handed out in Python, as on the command line."""

from datetime import UTC, datetime, timedelta

import apsw
import pytest

from memorywire.journal.audit import verify_export
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.sync import Memory

IN_A_FILE = "sqlite://{0}/m.db"
STORES = (IN_A_FILE, "memory://")


@pytest.fixture(params=STORES)
def memory(request, tmp_path):
    with Memory("agent", [request.param.format(tmp_path)], policy="open", caller="person:eve") as memory:
        yield memory


def kinds(found):
    return [(entry["operation"], entry["kind"]) for entry in found]


def test_the_log_is_newest_first_and_can_be_narrowed(memory):
    tea = memory.remember("Ana likes tea", id="tea")
    memory.recall("what does Ana like?")
    memory.remember("Ben likes coffee", id="coffee", user_id="ben")
    assert kinds(memory.audit_log()) == [
        ("remember", "committed"),
        ("recall", "recalled"),
        ("remember", "committed"),
    ]
    assert kinds(memory.audit_log(operation="recall")) == [("recall", "recalled")]
    assert [entry["subject"] for entry in memory.audit_log(memory="tea", kind="committed")] == [tea.change_id]
    assert kinds(memory.audit_log(subject=tea.change_id)) == [("remember", "committed")]
    assert [entry["seq"] for entry in memory.audit_log(before=3, limit=1)] == [2]
    assert len(memory.audit_log(user_id="ben")) == 1
    assert {entry["actor"] for entry in memory.audit_log()} == {"person:eve"}


def test_the_log_is_of_the_agent_unless_all_are_meant(memory):
    memory.remember("Ana likes tea")
    memory.call("remember", {"agent_id": "b", "type": "semantic", "content": "Ben likes coffee"})
    assert (len(memory.audit_log()), len(memory.audit_log(all_agents=True))) == (1, 2)


def test_none_names_no_user_so_the_memory_of_one_user_stays_with_that_one(tmp_path):
    store = [IN_A_FILE.format(tmp_path)]
    with Memory("agent", store, policy="open") as everybody:
        everybody.remember("Ben likes coffee", user_id="ben")
    with Memory("agent", store, policy="open", user_id="ana") as ana:
        ana.remember("Ana likes tea")
        assert len(ana.audit_log(user_id=None)) == len(ana.audit_log()) == 1
        assert ana.scan(user_id=None).memories == ana.scan().memories == 1
        assert [record.content for record in ana.list(user_id=None)] == ["Ana likes tea"]
        assert len(ana.audit_log(user_id="ben")) == 1


def test_the_log_is_of_a_span_that_a_datetime_may_say_and_never_seconds(memory):
    memory.remember("Ana likes tea")
    began = datetime.now(UTC) - timedelta(hours=1)
    assert (len(memory.audit_log(since=began)), len(memory.audit_log(until=began))) == (1, 0)
    with pytest.raises(InvalidRequest, match="since is a time in seconds"):
        memory.audit_log(since=int(began.timestamp()))
    with pytest.raises(InvalidRequest, match="since is a time in seconds"):
        memory.recover("web:*", since=int(began.timestamp()))


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": -1}, "limit"),
        ({"limit": "5"}, "limit"),
        ({"before": 0}, "before"),
        ({"memry": "tea"}, "memry"),
        ({"since": "7d"}, "since"),
        ({"until": datetime(2026, 1, 1)}, "until"),  # without a time zone
    ],
)
def test_what_cannot_be_asked_of_the_log_is_a_problem_that_names_it(memory, asked, field):
    with pytest.raises(InvalidRequest) as refused:
        memory.audit_log(**asked)
    assert refused.value.field == field


def test_a_sound_ledger_is_proven(memory):
    memory.remember("Ana likes tea")
    found = memory.audit_verify()
    assert (found.report.ok, found.report.entries) == (True, 1)


def test_a_ledger_in_no_file_is_not_signed():
    with Memory("agent", ["memory://"]) as memory:
        memory.remember("Ana likes tea")
        with pytest.raises(CapabilityUnsupported):
            memory.audit_checkpoint()


def test_without_a_journal_there_is_nothing_to_audit():
    with Memory("agent", ["memory://"], policy=None) as memory, pytest.raises(CapabilityUnsupported):
        memory.audit_log()


def test_a_checkpoint_kept_elsewhere_finds_what_was_changed(tmp_path):
    url = IN_A_FILE.format(tmp_path)
    with Memory("agent", [url]) as memory:
        memory.remember("Ana likes tea")
        note = memory.audit_checkpoint()
        assert memory.audit_verify(checkpoint=note).report.sealed == 1
        with pytest.raises(InvalidRequest):
            memory.audit_verify(checkpoint="hello")
    db = apsw.Connection(str(tmp_path / "m.db"))
    db.execute("DROP TRIGGER ledger_stays; UPDATE ledger SET body = replace(body, 'local', 'nobody')")
    db.close()
    with Memory("agent", [url]) as memory:
        fault = memory.audit_verify(checkpoint=note).report.fault
    assert (fault.entry, "chain" in fault.reason or "follow" in fault.reason) == (1, True)


def test_an_export_proves_itself(tmp_path):
    with Memory("agent", [IN_A_FILE.format(tmp_path)]) as memory:
        memory.remember("Ana likes tea")
        memory.call("remember", {"agent_id": "b", "type": "semantic", "content": "Ben likes coffee"})
        some, whole = tmp_path / "some.jsonl", tmp_path / "whole.jsonl"
        lines = memory.audit_export(some)
        memory.audit_export(str(whole), whole=True)
        with pytest.raises(InvalidRequest):
            memory.audit_export(tmp_path / "no" / "folder.jsonl")
    assert lines == len(some.read_text().splitlines())
    reports = [verify_export(path.read_text().splitlines()) for path in (some, whole)]
    assert [(report.ok, report.entries) for report in reports] == [(True, 1), (True, 2)]
    assert some.stat().st_mode & 0o077 == 0

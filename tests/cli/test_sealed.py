"""A store on a disk that cannot be written is read, copied and proven; what would be kept is refused."""

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.cli.shell import COMMAND, Done, Shell, needs_mounts

SERVE = """
import json, subprocess, sys, urllib.error, urllib.request
words = [sys.executable, "-m", "memorywire.cli", "serve", "--port", "0", "--json", "--quiet"]
server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
url = json.loads(server.stdout.readline())["url"]
try:
    print(urllib.request.urlopen(url + "/readyz").status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
print(urllib.request.urlopen(url + "/v0/memories?agent_id=default").read().decode())
server.terminate()
server.wait()
"""

KILLED = """
import os
from memorywire.sync import Memory
Memory("default", "sqlite://" + os.environ["MEMORYWIRE_HOME"] + "/memory.db").__enter__().remember("coffee")
os._exit(0)
"""


def typed(*words: str) -> str:
    return shlex.join([*COMMAND, *words])


def sealed(shell: Shell, before: Sequence[str], after: Sequence[str]) -> list[Done]:
    """What the commands say after the home folder, a disk of its own, was made read only."""
    answers = shell.home.with_name("answers")
    for folder in (shell.home, answers):
        folder.mkdir()
    noted = [
        f"({line}) > {answers}/{n}.out 2> {answers}/{n}.err; echo $? > {answers}/{n}.code"
        for n, line in enumerate(after)
    ]
    first = [f"mount -t tmpfs -o size=8m tmpfs {shell.home}", *before, f"mount -o remount,ro {shell.home}"]
    script = "\n".join(["set -e", *first, "set +e", *noted])
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, env=shell.environment())
    assert not done.returncode, done.stderr

    def read(n: int, end: str) -> str:
        return (answers / f"{n}.{end}").read_text()

    return [Done(int(read(n, "code")), read(n, "out"), read(n, "err")) for n in range(len(after))]


@needs_mounts
def test_a_store_that_was_closed_is_read_copied_and_proven(shell: Shell, tmp_path: Path):
    copy = tmp_path / "copy.db"
    listed, export_entries, verified, kept, left = sealed(
        shell,
        [typed("remember", "tea")],
        [
            typed("list"),
            typed("export", f"{tmp_path}/all.zip"),
            typed("audit", "verify"),
            typed("backup", str(copy)),
            f"ls {shell.home}",
        ],
    )
    assert "tea" in listed.out
    assert listed.err == f"note: {shell.home}/memory.db is read-only: writes and recalls will fail\n"
    assert [done.code for done in (listed, export_entries, verified, kept)] == [0, 0, 0, 0]
    assert "sound" in verified.out
    assert "not signed" not in kept.out
    assert left.out.split() == ["memory.db", "memory.db-checkpoints", "memory.db-ledger.key"]
    again = shell("recall", "tea", "--store", f"sqlite://{copy}")
    assert (again.code, "tea" in again.out, again.err) == (0, True, "")


@needs_mounts
def test_what_would_have_to_be_kept_is_refused_with_a_way_out(shell: Shell):
    refused = sealed(
        shell,
        [typed("remember", "tea")],
        [typed("remember", "coffee", "--json"), typed("recall", "tea", "--json"), typed("list", "--json")],
    )
    *writing, listed = refused
    for done in writing:
        assert (done.code, done.problem["code"]) == (4, "store_unavailable")
        assert "is read-only" in done.problem["detail"]
        assert "memorywire backup" in done.problem["fix"]
    assert [item["content"] for item in listed.json["items"]] == ["tea"]
    assert listed.err == ""


@needs_mounts
def test_what_is_still_in_a_log_is_read_or_named_but_never_passed_over(shell: Shell, tmp_path: Path):
    killed = [shlex.join([sys.executable, "-c", KILLED])]
    listed, kept = sealed(shell, killed, [typed("list"), typed("backup", f"{tmp_path}/copy.db")])
    assert "coffee" in listed.out
    assert "the newest 1 entry is not signed" in kept.out

    other = Shell(tmp_path / "other" / "home")
    other.home.parent.mkdir()
    [listed] = sealed(other, [*killed, f"rm {other.home}/memory.db-shm"], [typed("list", "--json")])
    assert (listed.code, listed.problem["code"]) == (4, "store_unavailable")
    assert "memory.db-wal" in listed.problem["detail"]
    assert "copy memory.db and memory.db-wal" in listed.problem["fix"]


@needs_mounts
def test_a_server_says_that_it_can_only_read(shell: Shell):
    served, examined = sealed(
        shell, [typed("remember", "tea")], [shlex.join([sys.executable, "-c", SERVE]), typed("doctor")]
    )
    assert served.out.startswith('503 {"status":"read-only"}\n')
    assert "tea" in served.out
    assert "is read-only" in served.err
    assert "not healthy" in examined.out


@needs_mounts
def test_a_copy_that_finds_the_disk_full_names_the_file_and_the_cause(shell: Shell, tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    before = [typed("remember", "tea"), f"mount -t tmpfs -o size=100k tmpfs {small}"]
    [kept, left] = sealed(shell, before, [typed("backup", f"{small}/copy.db", "--json"), f"ls -A {small}"])
    assert (kept.code, kept.problem["detail"]) == (4, f"{small}/copy.db: the disk is full")
    assert left.out == ""


@needs_mounts
def test_a_graph_is_read_as_well_also_where_no_edges_were_kept(shell: Shell, tmp_path: Path):
    graph, plain = (f"://{shell.home}/{name}.db" for name in ("graph", "plain"))
    kept = [
        typed("remember", "Ana drinks tea", "--store", f"graph{graph}"),
        typed("remember", "Ben drinks coffee", "--store", f"sqlite{plain}"),
    ]
    asked = [
        typed("list", "--json", "--store", f"graph{graph}"),
        typed("list", "--json", "--store", f"graph{plain}"),
        typed("audit", "verify", "--store", f"graph{graph}"),
        typed("backup", str(tmp_path / "copy.db"), "--store", f"graph{graph}"),
        typed("remember", "Ana drinks milk", "--json", "--store", f"graph{graph}"),
    ]
    *read, refused = sealed(shell, kept, asked)
    assert [done.code for done in read] == [0, 0, 0, 0]
    told = [done.json["items"][0]["content"] for done in read[:2]]
    assert told == ["Ana drinks tea", "Ben drinks coffee"]
    assert (refused.code, refused.problem["code"]) == (4, "store_unavailable")


def test_the_file_of_a_graph_is_audited_copied_restored_and_reembedded_like_any(shell: Shell, tmp_path: Path):
    store = ("--store", f"graph://{tmp_path}/graph.db")
    shell.remember("Ana drinks tea", *store)
    copy = str(tmp_path / "copy.db")
    assert [entry["operation"] for entry in shell("audit", "log", "--json", *store).json["entries"]] == [
        "remember"
    ]
    assert shell("backup", copy, *store).code == 0
    assert "replaced" in shell("restore", copy, "--replace", "--json", *store).json
    assert shell("reembed", "--dry-run", *store).code == 0
    assert shell("list", "--json", *store).json["total"] == 1


@needs_mounts
def test_a_full_disk_is_told_by_the_server_and_by_an_export(shell: Shell):
    shell.home.mkdir()
    exporting = [*COMMAND, "export", f"{shell.home}/notes", "--format", "markdown"]
    filling = f"subprocess.run('cat /dev/zero > {shell.home}/filler', shell=True, stderr=subprocess.DEVNULL)"
    serving = SERVE.replace("try:", f"{filling}\ntry:", 1)
    serving = serving.replace("server.terminate()", f"subprocess.run({exporting})\nserver.terminate()")
    script = "\n".join(
        [
            f"mount -t tmpfs -o size=4m tmpfs {shell.home}",
            f"{typed('remember', 'tea')} > /dev/null",
            shlex.join([sys.executable, "-c", serving]),
        ]
    )
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", script]
    done = subprocess.run(words, capture_output=True, text=True, env=shell.environment())
    assert '503 {"status":"disk full"}' in done.stdout
    assert "tea" in done.stdout
    assert f"cannot write {shell.home}/notes: No space left on device" in done.stderr

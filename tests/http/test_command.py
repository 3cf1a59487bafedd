"""`memorywire serve` as a process: how it starts, how it ends, what a kill leaves; operators and backups."""

import json
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import COMMAND, Shell
from tests.http.server import Client


@contextmanager
def started(shell: Shell, *options: str) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
    """A server of its own process, killed at the end if it is still there."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--json", "--rate", "1000000", "--quiet", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environment() | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        yield Client(json.loads(process.stdout.readline())["url"]), process
    finally:
        process.kill()
        process.communicate()


class ServerEnds(Exception):
    """The server takes no more requests."""


@dataclass
class Crowd:
    """Clients that write and forget until nobody answers, and keep every receipt that reached them.

    `receipts` has what each memory must say, or None where it was forgotten.
    """

    client: Client
    receipts: dict[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.workers = [threading.Thread(target=self._work, args=(number,)) for number in range(4)]
        for worker in self.workers:
            worker.start()

    def _work(self, number: int) -> None:
        try:
            for turn in range(100_000):
                self._write(f"worker {number} wrote line {turn}", forget=turn % 3 == 2)
        except (OSError, HTTPException, ServerEnds):
            return  # perhaps amid an answer

    def _write(self, content: str, *, forget: bool) -> None:
        id = self._post("/v0/remember", {"agent_id": "a", "type": "semantic", "content": content})["id"]
        if not forget:
            self.receipts[id] = content
            return
        # While no receipt says so, it may be there and it may be gone: it is not written down before.
        answer = self._post("/v0/forget", {"agent_id": "a", "ids": [id]})
        assert answer["forgotten_ids"] == [id]
        self.receipts[id] = None

    def _post(self, path: str, body: dict[str, object]) -> dict[str, Any]:
        reply = self.client.post(path, body)
        if reply.status == 503:
            raise ServerEnds
        assert reply.status == 200, reply.json
        return reply.json

    def wait_for(self, count: int) -> None:
        while len(self.receipts) < count and any(worker.is_alive() for worker in self.workers):
            time.sleep(0.01)

    def join(self) -> dict[str, str | None]:
        for worker in self.workers:
            worker.join()
        return self.receipts


def lost(client: Client, receipts: Mapping[str, str | None]) -> list[str]:
    """Receipts that are not honoured."""
    kept = {}
    page: dict[str, object] = {"next": ""}
    while "next" in page:
        page = client.get(
            "/v0/memories", agent_id="a", limit=1000, **({"after": page["next"]} if page["next"] else {})
        ).json
        kept |= {item["id"]: item["content"] for item in page["items"]}
    return [id for id, content in receipts.items() if kept.get(id) != content]


def test_every_receipt_is_honoured_after_a_kill_under_load(shell: Shell):
    dice, receipts = random.Random(7), dict[str, str | None]()
    for _ in range(3):
        with started(shell) as (client, process):
            crowd = Crowd(client)
            crowd.wait_for(dice.randrange(5, 40))
            process.kill()
            receipts |= crowd.join()
    with started(shell) as (client, _):
        assert len(receipts) >= 15
        assert lost(client, receipts) == []
        assert None in receipts.values()
        assert lost(client, {**receipts, "never": "written"}) == ["never"]
        assert client.get("/v0/audit/verify").json["ok"]


def test_a_signal_ends_it_in_order(shell: Shell):
    with started(shell) as (client, process):
        crowd = Crowd(client)
        crowd.wait_for(10)
        process.send_signal(signal.SIGTERM)
        receipts = crowd.join()
        assert process.wait() == 0
    with started(shell) as (client, _):
        assert lost(client, receipts) == []
        verdict = client.get("/v0/audit/verify").json
        assert (verdict["ok"], verdict["exposed"]) == (True, 0)  # signed to the last entry


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_others_are_not_let_in_without_tokens(shell: Shell, host: str):
    done = shell("serve", "--host", host, "--port", "0", "--json")
    assert done.code == 2
    assert done.problem["field"] == "host"
    assert "operator add" in done.problem["fix"]


def test_with_a_token_others_are_let_in(shell: Shell):
    token = shell("operator", "add", "ana", "--role", "writer", "--json").json["token"]
    with started(shell, "--host", "0.0.0.0") as (client, _):
        near = Client(client.url.replace("0.0.0.0", "127.0.0.1"))
        assert near.get("/v0/capabilities").status == 401
        assert Client(near.url, token).get("/v0/capabilities").status == 200


def test_without_a_port_the_next_free_one_is_taken_and_named(shell: Shell):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # another checkout may be served there: that will do
            other.bind(("127.0.0.1", 8377))
            other.listen()
        process = subprocess.Popen(
            [*COMMAND, "serve", "--quiet"], env=shell.environment(), stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            told, address = process.stdout.readline(), process.stdout.readline()
            assert told == "port 8377 is taken by another program: this is the next free one\n"
            url = address.split()[2]
            assert 8377 < int(url.rpartition(":")[2]) <= 8397
            assert Client(url).get("/healthz").status == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def test_a_port_that_is_taken_is_a_problem(shell: Shell):
    with started(shell) as (client, _):
        done = shell("serve", "--port", client.url.rpartition(":")[2], "--json")
        assert (done.code, done.problem["field"]) == (2, "port")


def test_operators_are_added_listed_rotated_and_revoked(shell: Shell):
    token = shell("operator", "add", "ana", "--role", "reviewer", "--agents", "support-*").out.splitlines()[0]
    assert token.startswith("mw_")
    new = shell("operator", "rotate", "ana", "--overlap", "5", "--expires", "7d", "--json").json["token"]
    assert new != token
    assert shell("operator", "revoke", "ana").code == 0
    listed = shell("operator", "list", "--json")
    (ana,) = listed.json["operators"]
    assert (ana["role"], ana["agents"], len(ana["tokens"])) == ("reviewer", ["support-*"], 2)
    assert ana["revoked_at"] is not None
    assert not [secret for secret in (token, new) if secret[-40:] in listed.out]
    assert shell("operator", "rotate", "ana", "--json").problem["code"] == "conflict"


def test_the_command_line_rotates_within_the_end_of_the_token(shell: Shell):
    end = shell("operator", "add", "ana", "--role", "agent", "--expires", "7d", "--json").json["expires_at"]
    assert shell("operator", "rotate", "ana", "--json").json["expires_at"] == end
    assert "expires_at" not in shell("operator", "rotate", "ana", "--expires", "never", "--json").json


def test_a_backup_taken_under_load_holds_everything_acknowledged_before_it(shell: Shell, tmp_path: Path):
    with started(shell) as (client, _):
        crowd = Crowd(client)
        crowd.wait_for(20)
        before = dict(crowd.receipts)
        copies = [tmp_path / f"copy{number}.db" for number in range(2)]
        for copy in copies:
            done = shell("backup", str(copy), "--json")
            assert done.code == 0, done.err
            assert done.json["entries"] >= len(before)
        assert shell("backup", str(copies[0])).code == 3
        client.get("/v0/audit/checkpoint")
        after = len(crowd.receipts)
        crowd.wait_for(after + 5)
    crowd.join()
    assert oct(copies[0].stat().st_mode)[-3:] == "600"
    other = Shell(tmp_path / "other")
    assert other("restore", str(copies[1])).code == 0
    assert other("audit", "verify").code == 0
    with started(other) as (client, _):
        assert lost(client, before) == []


def test_the_doctor_examines_a_server_and_needs_a_token_where_one_is_needed(shell: Shell):
    token = shell("operator", "add", "doc", "--role", "reader", "--json").json["token"]
    with started(shell) as (client, _):
        without = shell("doctor", "--url", client.url, "--json")
        assert (without.code, without.json["findings"][0]["serious"]) == (4, True)
        assert "MEMORYWIRE_TOKEN" in without.json["findings"][0]["fix"]
        done = shell("doctor", "--url", client.url, "--json", MEMORYWIRE_TOKEN=token)
        assert (done.code, done.json["ok"], done.json["server"]["ready"]) == (0, True, True)
    gone = shell("doctor", "--url", client.url, "--json")
    assert (gone.code, gone.json["ok"]) == (4, False)

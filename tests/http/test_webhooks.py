"""Webhooks: every event reaches the address in order and signed, or ends as a letter somebody can read."""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memorywire.journal.webhooks import Webhook, Webhooks, build_row
from memorywire.model.errors import InvalidRequest
from memorywire_server.background import MOST_TRIES, check_address, new_secret
from memorywire_server.http.endpoint import Limits
from tests.http.elsewhere import Exchange, answering
from tests.http.server import Server, serving

IMPATIENT = Limits(rate=1e6, webhook_pause_ms=0)
SECRET = new_secret(lambda count: b"k" * count)


class Listener:
    """An address that takes what it is told, or does not."""

    def __init__(self) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.url = ""

    def answer(self, asked: Exchange, body: bytes) -> None:
        status = self.answers.pop(0) if self.answers else 204
        self.heard.append(({k.lower(): v for k, v in asked.headers.items()}, body))
        asked.reply(status, headers={"Location": "http://127.0.0.1:9/elsewhere"})

    def subjects(self) -> list[str]:
        return [json.loads(body)["subject"] for _, body in self.heard]


@contextmanager
def listening() -> Iterator[Listener]:
    listener = Listener()
    with answering(listener.answer) as place:
        listener.url = f"http://{place}/hook?x=1"
        yield listener


def added(server: Server, url: str, **more: Any) -> None:
    webhook = Webhook(id="w", url=url, secret=SECRET, tenant="default", made_at=0, position=0, **more)
    server.run(
        server.container.journal.backend.write(lambda db: db.execute("add_webhook", build_row(webhook)))
    )


def standing(server: Server) -> Webhook:
    (found,) = server.run(Webhooks(server.container.journal).list_all())
    return found


def wait(until) -> None:
    while not until():
        time.sleep(0.02)


def test_events_are_told_in_order_and_signed():
    with listening() as listener, serving() as server:
        added(server, listener.url)
        receipts = [server.client.remember(f"the hidden word {number}") for number in range(3)]
        wait(lambda: len(listener.heard) == 3)
        assert listener.subjects() == [receipt["change_id"] for receipt in receipts]
        headers, body = listener.heard[0]
        said = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = b64decode(SECRET.removeprefix("whsec_"))
        mark = b64encode(hmac.new(key, said, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{mark}"
        assert b"hidden word" not in b"".join(body for _, body in listener.heard)


def test_only_events_of_its_tenant_and_agents_are_told():
    with listening() as listener, serving() as server:
        added(server, listener.url, agents=("mine",))
        server.client.remember("not for it", agent="other")
        mine = server.client.remember("for it", agent="mine")
        wait(lambda: listener.heard)
        wait(lambda: standing(server).position >= 2)
        assert listener.subjects() == [mine["change_id"]]


def test_what_is_not_taken_is_told_again_before_what_comes_after():
    with listening() as listener, serving(limits=IMPATIENT) as server:
        listener.answers += [500, 302]
        first, second = (server.client.remember(f"event {number}") for number in range(2))
        added(server, listener.url)
        wait(lambda: standing(server).position >= 2)
        assert listener.subjects()[-2:] == [first["change_id"], second["change_id"]]
        assert set(listener.subjects()[:-2]) == {first["change_id"]}


def test_what_is_never_taken_becomes_a_letter_and_the_next_is_told():
    with listening() as listener, serving(limits=IMPATIENT) as server:
        listener.answers += [410] * MOST_TRIES
        added(server, listener.url, tries=0)
        first, second = (server.client.remember(f"event {number}") for number in range(2))
        wait(lambda: standing(server).position >= 2)
        (letter,) = server.run(Webhooks(server.container.journal).list_dead_letters("w"))
        assert (letter.event, letter.error) == (1, "HTTP 410")
        assert listener.subjects()[-1] == second["change_id"]
        assert listener.subjects().count(first["change_id"]) == MOST_TRIES
        assert standing(server).buried == 1


def test_an_address_where_nobody_is_waits_longer_each_time():
    with serving() as server:
        began = server.container.context.clock()
        added(server, "http://127.0.0.1:9/nobody")
        server.client.remember("unheard")
        wait(lambda: standing(server).tries >= 1)
        found = standing(server)
        assert found.error is not None
        assert "refused" in found.error
        assert (found.position, found.due_at > began) == (0, True)


@pytest.mark.parametrize(
    "url",
    ["ftp://x/", "https://", "x", "http://u:p@host/", "http://[bad", "https://host/#a", "file:///etc/passwd"],
)
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(InvalidRequest):
        check_address(url)
    check_address("https://host:8443/path?x=1")

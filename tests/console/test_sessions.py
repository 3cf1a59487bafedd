"""Sessions: sealed, renewed, ended, and worth nothing to anybody else."""

import os
from http.cookies import SimpleCookie

import pytest
from starlette.responses import Response

from memorywire_server.console.page import own
from memorywire_server.console.sessions import COOKIE, Note, Session, Sessions

MINUTE = 60_000


class Clock:
    def __init__(self) -> None:
        self.now = 1_760_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> Sessions:
    return Sessions(clock, os.urandom, secure=True)


def _cookie(sessions: Sessions, session: Session) -> str:
    response = Response()
    sessions.keep(response, session, tls=False)
    return response.headers["set-cookie"]


def _sent(cookie: str) -> str:
    return cookie.partition(";")[0]


def test_a_cookie_brings_its_session_back_and_shows_nothing_of_it(sessions: Sessions):
    session = sessions.begin(secret="mw_abc_secret", tenant="acme")
    cookie = _cookie(sessions, session)
    assert sessions.read(_sent(cookie)) == session
    assert "secret" not in bytes.fromhex(SimpleCookie(cookie)[COOKIE].value).decode("latin-1")
    assert {"HttpOnly", "SameSite=strict", "Secure", "Path=/console"} <= set(cookie.split("; "))


def test_a_cookie_that_was_touched_or_sealed_elsewhere_is_none(sessions: Sessions, clock: Clock):
    sent = _sent(_cookie(sessions, sessions.begin(local=True)))
    other = Sessions(clock, os.urandom, secure=True)
    assert sessions.read(sent) is not None
    assert other.read(sent) is None
    assert sessions.read(sent[:-2] + ("00" if sent[-2:] != "00" else "01")) is None
    assert sessions.read(f"{COOKIE}=zz") is None
    assert sessions.read("") is None


def test_a_session_is_renewed_while_it_is_used_and_ends_when_it_is_not(sessions: Sessions, clock: Clock):
    session = sessions.begin(local=True)
    sent = _sent(_cookie(sessions, session))
    assert sessions.renewed(session) is None
    clock.now += 11 * MINUTE
    again = sessions.renewed(session)
    assert again is not None
    assert again.id == session.id
    assert _sent(_cookie(sessions, again)) != sent
    clock.now += 115 * MINUTE
    assert sessions.read(sent) is None
    assert sessions.read(_sent(_cookie(sessions, again))) == again


def test_no_session_lasts_longer_than_a_day_of_work(sessions: Sessions, clock: Clock):
    session = sessions.begin(local=True)
    for hour in range(1, 14):
        clock.now += 60 * MINUTE
        session = sessions.renewed(session) or session
        assert (sessions.read(_sent(_cookie(sessions, session))) is None) is (hour >= 12)


def test_who_signed_out_is_out_whoever_kept_the_cookie(sessions: Sessions):
    session = sessions.begin(local=True)
    sent = _sent(_cookie(sessions, session))
    assert sessions.read(sent) == session
    sessions.end(session)
    assert sessions.read(sent) is None


def test_a_link_is_good_once_and_for_a_quarter_of_an_hour(sessions: Sessions, clock: Clock):
    key, late = sessions.new_link(), sessions.new_link()
    assert not sessions.redeem("another")
    assert sessions.redeem(key)
    assert not sessions.redeem(key)
    clock.now += 16 * MINUTE
    assert not sessions.redeem(late)


def test_a_note_is_shown_by_its_id_as_often_as_it_is_loaded_for_a_few_minutes(
    sessions: Sessions, clock: Clock
):
    mine, other = sessions.begin(local=True), sessions.begin(local=True)
    note = Note(text="Approved.", undo={"proposal_ids": ["p"]})
    id, second = sessions.add_note(mine, note), sessions.add_note(mine, Note(text="Rejected."))
    assert [sessions.find_note(mine, id) for _ in range(2)] == [note, note]
    assert sessions.find_note(mine, second) == Note(text="Rejected.")
    assert sessions.find_note(mine, "") is None
    assert sessions.find_note(other, id) is None
    clock.now += 6 * MINUTE
    assert sessions.find_note(mine, id) is None
    assert sessions.take_undo(mine, id) == {"proposal_ids": ["p"]}


def test_only_the_session_of_a_note_can_undo_and_only_once(sessions: Sessions):
    mine, other = sessions.begin(local=True), sessions.begin(local=True)
    id = sessions.add_note(mine, Note(text="Approved.", undo={"proposal_ids": ["p"]}))
    assert sessions.take_undo(other, id) is None
    assert sessions.take_undo(mine, id) == {"proposal_ids": ["p"]}
    assert sessions.take_undo(mine, id) is None
    assert sessions.find_note(mine, id) is None


def test_what_was_put_aside_is_given_back_once_and_not_for_ever(sessions: Sessions, clock: Clock):
    early, late, silent = sessions.begin(), sessions.begin(), sessions.begin()
    sessions.put_aside(early, {"content": "tea"})
    sessions.put_aside(late, {"content": "coffee"})
    sessions.put_aside(silent, {})
    assert [sessions.has_aside(one) for one in (early, late, silent)] == [True, True, False]
    assert sessions.given_back(early) == {"content": "tea"}
    assert sessions.given_back(early) == {}
    clock.now += 121 * MINUTE
    assert sessions.given_back(late) == {}


def test_forms_of_one_session_are_worth_nothing_in_another(sessions: Sessions):
    mine, other = sessions.begin(), sessions.begin()
    assert sessions.is_token(mine, sessions.token(mine))
    assert not sessions.is_token(other, sessions.token(mine))
    assert not sessions.is_token(mine, "")


@pytest.mark.parametrize(
    ("asked", "sent_to"),
    [
        ("/console/inbox?q=a", "/console/inbox?q=a"),
        ("https://evil.example/console/", "/console"),
        ("//evil.example/console/", "/console"),
        ("/console/\\evil.example", "/console"),
        ("/consoles", "/console"),
        ("/console/a\r\nSet-Cookie: x=y", "/console"),
    ],
)
def test_a_form_sends_nobody_elsewhere(asked: str, sent_to: str):
    assert own(asked) == sent_to

"""Reading the logs of sessions: what was said comes out, the machinery around it does not."""

import json
from pathlib import Path
from typing import Any

from memorywire.hooks.hosts import Session, Sessions, lines_of
from memorywire.hooks.transcripts import messages


def read(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    return messages(json.dumps(line).encode() for line in lines)


def user(content: Any, **rest: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **rest}


def test_words_are_read_with_who_said_them_and_when() -> None:
    found = read(user("Hello", timestamp="1970-01-01T00:00:01.000Z"))
    assert found == [{"role": "user", "content": "Hello", "at": 1000}]


def test_tools_side_talk_and_blocks_of_the_host_are_left_out() -> None:
    assert read(
        user([{"type": "tool_result", "content": "secret plans"}]),
        user([{"type": "thinking", "text": "what to say"}, "words of no kind"]),
        user("a helper's prompt", isSidechain=True),
        user("a caveat", isMeta=True),
        user("<system-reminder>be nice</system-reminder>"),
        {"type": "summary", "summary": "all of it"},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
        user("<system-reminder>be nice</system-reminder> Fix it"),
    ) == [{"role": "user", "content": "Fix it"}]


def test_lines_that_are_no_json_are_left_out() -> None:
    assert messages([b"", b"{", b"[1]", b'"x"', json.dumps(user("Hi")).encode()]) == [
        {"role": "user", "content": "Hi"}
    ]


def gathered(sessions: Sessions) -> list[bytes]:
    return [line for spooled in sessions.spooled() for line in lines_of(spooled) if line]


def test_a_line_that_is_still_being_written_waits_for_its_end(tmp_path: Path) -> None:
    sessions, log = Sessions(tmp_path / "state"), tmp_path / "log"
    log.write_bytes(b"one\ntw")
    session = sessions.gather(Session(id="s"), log)
    assert gathered(sessions) == [b"one"]
    log.write_bytes(b"one\ntwo\n")
    sessions.gather(session, log)
    assert gathered(sessions) == [b"one", b"two"]


def test_lines_gathered_twice_are_spooled_once(tmp_path: Path) -> None:
    """As when the process ended after the copy and before the cursor moved."""
    sessions, log = Sessions(tmp_path / "state"), tmp_path / "log"
    log.write_bytes(b"one\n")
    sessions.gather(Session(id="s"), log)
    sessions.gather(Session(id="s"), log)
    assert gathered(sessions) == [b"one"]


def test_a_log_that_was_begun_anew_is_read_from_its_start(tmp_path: Path) -> None:
    sessions, log = Sessions(tmp_path / "state"), tmp_path / "log"
    log.write_bytes(b"one\n")
    sessions.gather(sessions.load("s"), log)
    for spooled in sessions.spooled():
        spooled.path.unlink()
    log.write_bytes(b"uno\ndos\n")
    sessions.gather(sessions.load("s"), log)
    assert gathered(sessions) == [b"uno", b"dos"]


def test_only_one_takes_in_the_spool_at_a_time(tmp_path: Path) -> None:
    with Sessions(tmp_path).alone() as first, Sessions(tmp_path).alone() as second:
        assert (first, second) == (True, False)
    with Sessions(tmp_path).alone() as third:
        assert third


def test_sessions_that_nobody_went_on_with_are_forgotten(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    sessions.save(Session(id="s", shown=("a",)))
    sessions.tidy(before=0)
    assert sessions.load("s").shown == ("a",)
    sessions.tidy(before=10**15)
    assert sessions.load("s").shown == ()


def test_what_was_shown_is_noted_without_moving_the_cursor_back(tmp_path: Path) -> None:
    """As when a turn ends while another hook of the same session looks for an answer."""
    sessions, log = Sessions(tmp_path / "state"), tmp_path / "log"
    log.write_bytes(b"one\n")
    sessions.gather(sessions.load("s"), log)
    sessions.note_shown("s", ["a"])
    log.write_bytes(b"one\ntwo\n")
    sessions.gather(sessions.load("s"), log)
    sessions.note_shown("s", ["b"])
    session = sessions.load("s")
    assert (session.cursor, session.shown) == (8, ("a", "b"))
    sessions.note_shown("s", ["c"], fresh=True)
    session = sessions.load("s")
    assert (session.cursor, session.shown) == (8, ("c",))

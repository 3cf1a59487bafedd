"""The input and output formats of hooks, by coding agent, and the state of their sessions.

Claude Code and Codex have the same format; Cursor has other names and accepts no context after a prompt.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from math import inf
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.codec import parse_json
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.runtime.files import lock, write_whole


class Moment(StrEnum):
    """The moment of a hook: a session starts, a prompt is sent, or a turn has ended."""

    START = "start"
    PROMPT = "prompt"
    PAUSE = "pause"


_CLAUDE = {
    "SessionStart": Moment.START,
    "UserPromptSubmit": Moment.PROMPT,
    **dict.fromkeys(("Stop", "PreCompact", "SessionEnd"), Moment.PAUSE),
}
_CURSOR = {
    "sessionStart": Moment.START,
    **dict.fromkeys(("stop", "preCompact", "sessionEnd"), Moment.PAUSE),
}


class Call(Struct, frozen=True, kw_only=True):
    """One call of a hook. `fresh`: the model's context does not contain the memories shown earlier."""

    event: str
    moment: Moment
    session: str
    log: Path | None = None
    prompt: str = ""
    fresh: bool = False


class Briefing(Struct, frozen=True, kw_only=True):
    """Context for the model, the ids of the memories in it, and a notice for the person."""

    context: str = ""
    shown: tuple[str, ...] = ()
    notice: str = ""


def parsed(text: str | bytes) -> Call:
    """Parse the input of a hook; raises InvalidRequest if no known host sends it."""
    try:
        payload = parse_json(text)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise InvalidRequest("the input of a hook must be one JSON object", field="stdin")
    texts = {name: value for name, value in payload.items() if isinstance(value, str)}
    event, log = texts.get("hook_event_name", ""), texts.get("transcript_path")
    moment = (_CLAUDE | _CURSOR).get(event)
    session = texts.get("session_id") or texts.get("conversation_id")
    if moment is None or not session:
        raise InvalidRequest(
            "hook_event_name or session_id is missing or unknown",
            field="hook_event_name",
            fix=f"the events are: {', '.join(_CLAUDE | _CURSOR)}",
        )
    return Call(
        event=event,
        moment=moment,
        session=session,
        log=Path(log).expanduser() if log else None,
        prompt=texts.get("prompt", ""),
        fresh=moment is Moment.START and payload.get("source", "startup") in ("startup", "clear", "compact"),
    )


def answer(call: Call, briefing: Briefing) -> dict[str, Json]:
    """Return the output of a hook; an empty object if there is nothing to report."""
    if call.event in _CURSOR:
        return {"additional_context": briefing.context} if briefing.context else {}
    output: dict[str, Json] = {"systemMessage": briefing.notice} if briefing.notice else {}
    if briefing.context:
        output["hookSpecificOutput"] = {"hookEventName": call.event, "additionalContext": briefing.context}
    return output


_HEAD_BYTES = 1_024
_MOST_SHOWN = 500


class Session(Struct, frozen=True, kw_only=True):
    """A session: `cursor` bytes of its log are buffered; `head`, a digest, identifies the log."""

    id: str
    cursor: int = 0
    head: str = ""
    shown: tuple[str, ...] = ()


class Spooled(Struct, frozen=True, kw_only=True):
    """A buffer file with complete lines of one session's log, not yet processed."""

    path: Path
    session: str


class Sessions:
    """The sessions of one home folder, each in a small file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @staticmethod
    def at_home(env: Mapping[str, str]) -> "Sessions":
        """Return the sessions under MEMORYWIRE_HOME, else in the platform's folder for user state."""
        if env.get("MEMORYWIRE_HOME"):
            return Sessions(Path(env["MEMORYWIRE_HOME"]).expanduser() / "sessions")
        import platformdirs

        return Sessions(platformdirs.user_state_path("memorywire", appauthor=False) / "sessions")

    @property
    def opening(self) -> Path:
        """The file with the cached briefing for the next session."""
        return self._folder / "opening"

    def load(self, id: str) -> Session:
        """Load a session; a new one if its file cannot be read."""
        try:
            state = json.loads(self._file(id).read_bytes())
            return Session(
                id=id, cursor=int(state["cursor"]), head=str(state["head"]), shown=tuple(state["shown"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return Session(id=id)

    def save(self, session: Session) -> None:
        shown = list(session.shown[-_MOST_SHOWN:])
        document = {"cursor": session.cursor, "head": session.head, "shown": shown}
        write_whole(self._file(session.id), json.dumps(document).encode())

    def note_shown(self, id: str, ids: Sequence[str], *, fresh: bool = False) -> None:
        """Add memories to those that the model was shown; a `fresh` model has seen none before.

        It reloads the session and keeps its cursor, which another hook may have moved meanwhile.
        """
        with self.exclusive():
            session = self.load(id)
            self.save(replace(session, shown=(*(() if fresh else session.shown), *ids)))

    def gather(self, session: Session, log: Path) -> Session:
        """Copy the complete lines after the cursor to a buffer file, then move the cursor after them."""
        with log.open("rb") as file:
            length = min(session.cursor, _HEAD_BYTES)
            is_same = _digest(file.read(length)) == session.head  # same start as when the cursor was set
            start = session.cursor if is_same else 0
            file.seek(start)
            new = file.read()
            new = new[: new.rfind(b"\n") + 1]  # the rest is still being written
            file.seek(0)
            head = file.read(min(_HEAD_BYTES, start + len(new)))
        if new:
            # Named by its offsets: a second copy of the same lines writes the same file.
            name = f"{_name(session.id)}.{start}-{start + len(new)}.spool"
            write_whole(self._folder / name, json.dumps({"session": session.id}).encode() + b"\n" + new)
        session = replace(session, cursor=start + len(new), head=_digest(head))
        self.save(session)
        return session

    def spooled(self) -> list[Spooled]:
        """Return the buffer files, in the order of each session's log."""
        files: list[tuple[str, int, Spooled]] = []
        for path in self._folder.glob("*.spool"):
            name, place, _ = path.name.rsplit(".", 2)
            with path.open("rb") as file:
                session = str(json.loads(file.readline())["session"])
            files.append((name, int(place.split("-")[0]), Spooled(path=path, session=session)))
        return [spooled for _, _, spooled in sorted(files, key=lambda file: file[:2])]

    def tidy(self, before: int) -> None:
        """Delete sessions without activity since that moment, in epoch milliseconds."""
        for path in self._folder.glob("*.json"):
            if path.stat().st_mtime * 1000 < before:
                path.unlink(missing_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock for changing sessions; waits for other hooks."""
        with self._lock("changing", wait=True):
            yield

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Yield whether this process holds the lock for processing the buffered lines."""
        with self._lock("working", wait=False) as is_held:
            yield is_held

    @contextmanager
    def _lock(self, name: str, *, wait: bool) -> Iterator[bool]:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / f"{name}.lock").open("w") as file:
            yield lock(file.fileno(), inf if wait else 0)

    def _file(self, id: str) -> Path:
        return self._folder / f"{_name(id)}.json"


def lines_of(spooled: Spooled) -> Sequence[bytes]:
    """Return the lines of the log, without the first line, which names the session."""
    return spooled.path.read_bytes().split(b"\n")[1:]


def _digest(head: bytes) -> str:
    return hashlib.blake2b(head, digest_size=16).hexdigest()


def _name(id: str) -> str:
    """Return a file name for the session id of a host."""
    return hashlib.blake2b(id.encode(), digest_size=12).hexdigest()


_RELATIVE = ("sqlite:///./", "sqlite:///../")
_GOOD_FOR_MS = 6 * 3_600_000


def circumstances(env: Mapping[str, str], arguments: Sequence[str]) -> str:
    """Return a digest of the settings in the environment and the options, which select the memory."""
    variables = sorted((name, value) for name, value in env.items() if name.startswith("MEMORYWIRE_"))
    return hashlib.blake2b(json.dumps([variables, list(arguments)]).encode(), digest_size=16).hexdigest()


def files_of(stores: Sequence[str], config: Path) -> list[Path] | None:
    """Return the files that change with the memory; None if it is not in one file of this machine.

    A path relative to the current folder is not one file.
    """
    if len(stores) > 1 or not stores[0].startswith("sqlite:") or stores[0].startswith(_RELATIVE):
        return None
    from memorywire.stores.sqlite.location import locate

    store = locate(stores[0]).path
    return None if store is None else [store, store.with_name(f"{store.name}-wal"), config]


def keep(path: Path, briefing: Briefing, *, files: Sequence[Path], under: str, now: int) -> None:
    """Cache a briefing for the next session; it must not contain memories."""
    document = {
        "under": under,
        "until": now + _GOOD_FOR_MS,
        "files": {str(file): _mark(file) for file in files},
        "context": briefing.context,
        "notice": briefing.notice,
    }
    write_whole(path, json.dumps(document).encode())


def kept(path: Path, *, under: str, now: int) -> Briefing | None:
    """Return the briefing cached for this digest if it is not outdated; else None."""
    try:
        document = json.loads(path.read_bytes())
        good = document["under"] == under and now < document["until"]
        if not good or any(_mark(Path(file)) != mark for file, mark in document["files"].items()):
            return None
        return Briefing(context=document["context"], notice=document["notice"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _mark(file: Path) -> list[int] | None:
    try:
        about = file.stat()
    except OSError:
        return None
    return [about.st_mtime_ns, about.st_size]

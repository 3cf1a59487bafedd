"""What a coding agent tells a hook, and the words in which it wants to be answered.

Claude Code and Codex speak alike; Cursor has names of its own and takes no context behind a prompt.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.jsontext import parse_json
from memorywire.model.record import Json

_FRESH = frozenset({"startup", "clear", "compact"})


class Moment(StrEnum):
    """When a hook is called: a session starts, a prompt is sent, or a turn has ended."""

    START = "start"
    PROMPT = "prompt"
    PAUSE = "pause"


_CLAUDE = {
    "SessionStart": Moment.START,
    "UserPromptSubmit": Moment.PROMPT,
    "Stop": Moment.PAUSE,
    "PreCompact": Moment.PAUSE,
    "SessionEnd": Moment.PAUSE,
}
_CURSOR = {
    "sessionStart": Moment.START,
    "stop": Moment.PAUSE,
    "preCompact": Moment.PAUSE,
    "sessionEnd": Moment.PAUSE,
}


class Call(Struct, frozen=True, kw_only=True):
    """One call of a hook. `fresh` says that the model has nothing before it of what it was shown before."""

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
    """The call that a host made; raises InvalidRequest for what no host says."""
    try:
        told = parse_json(text)
    except ValueError as error:
        raise InvalidRequest("the input of a hook is one JSON object", field="stdin") from error
    if not isinstance(told, dict):
        raise InvalidRequest("the input of a hook is one JSON object", field="stdin")
    event = _text(told, "hook_event_name")
    moment = (_CLAUDE | _CURSOR).get(event)
    session = _text(told, "session_id") or _text(told, "conversation_id")
    if moment is None or not session:
        known = ", ".join(_CLAUDE | _CURSOR)
        raise InvalidRequest(
            "hook_event_name or session_id is not known here",
            field="hook_event_name",
            fix=f"the events are: {known}",
        )
    log = _text(told, "transcript_path")
    return Call(
        event=event,
        moment=moment,
        session=session,
        log=Path(log).expanduser() if log else None,
        prompt=_text(told, "prompt"),
        fresh=moment is Moment.START and told.get("source", "startup") in _FRESH,
    )


def answer(call: Call, told: Briefing) -> dict[str, Json]:
    """What to print; nothing to say is an empty object."""
    if call.event in _CURSOR:
        return {"additional_context": told.context} if told.context else {}
    said: dict[str, Json] = {"systemMessage": told.notice} if told.notice else {}
    if told.context:
        said["hookSpecificOutput"] = {"hookEventName": call.event, "additionalContext": told.context}
    return said


def _text(told: Mapping[str, Json], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""

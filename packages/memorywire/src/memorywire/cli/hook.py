"""`memorywire hook`: called by the hooks of coding agents; it never blocks the agent."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import option
from memorywire.hooks.hosts import (
    Briefing,
    Call,
    Moment,
    Sessions,
    Spooled,
    answer,
    circumstances,
    files_of,
    keep,
    kept,
    lines_of,
    parsed,
)
from memorywire.model.clock import DAY_MS, system_clock
from memorywire.model.errors import InvalidRequest, MemorywireError, Refused, SecretLeakage
from memorywire.model.record import Scope

if TYPE_CHECKING:  # a hook that only copies a log does not load the engine
    from memorywire.client.sync import Memory

_PINNED_MOST = 50
_QUERY_CHARS = 2_000
_KEPT_DAYS = 30


@click.command("hook")
@option("--work", "Process the session logs that the hooks have copied.")
@shared
def hook_command(cli: CliContext, work: bool) -> None:
    """Answer a hook of Claude Code, Codex or Cursor.

    The event is one JSON object on standard input. At the start of a session the answer has pinned memories
    and counts; at a prompt, the memories that a good answer depends on. At the end of a turn and before a
    compaction the new lines of the session log are copied for `--work`. Errors go to standard error and the
    exit code is 0, so that the agent continues.
    """
    try:
        sessions = Sessions.at_home(os.environ)
        if work:
            document = _take_in(cli, sessions)
        else:
            document = _answer_call(parsed(sys.stdin.buffer.read()), cli, sessions)
    except (MemorywireError, OSError) as error:
        click.echo(f"memorywire hook: {error}", err=True)
        return
    if document:
        cli.print_json(document)


def _answer_call(call: Call, cli: CliContext, sessions: Sessions) -> Answer:
    if call.moment is Moment.PAUSE:
        if call.log is not None and call.log.is_file():
            with sessions.exclusive():
                sessions.gather(sessions.load(call.session), call.log)
        return {}
    if call.moment is Moment.START:
        under = circumstances(os.environ, cli.options)
        briefing = kept(sessions.opening, under=under, now=system_clock()) or _prepare(cli, sessions)
    else:
        briefing = _answer_prompt(cli, call.prompt, sessions.load(call.session).shown)
    sessions.note_shown(call.session, briefing.shown, fresh=call.fresh)
    return answer(call, briefing)


def _prepare(cli: CliContext, sessions: Sessions) -> Briefing:
    from memorywire.app.settings import CONFIG_NAME
    from memorywire.hooks.transcripts import PINNED, opening
    from memorywire.wire.codec import decode_record

    memory = cli.memory(caller=_caller(cli))
    # As a context: the memories of the user and those without a user, never those of another user.
    owners = {"user_id": {"in": [None] if cli.settings.user is None else [cli.settings.user, None]}}
    request = {"agent_id": cli.settings.agent, "filter": {"and": [PINNED, owners]}, "limit": _PINNED_MOST}
    items = memory.call("list", request)["items"]
    memories = [decode_record(one, Scope(agent=cli.settings.agent)) for one in items]
    waiting = memory.proposals(states=["pending"], limit=1).total
    briefing = opening(memories, total=memory.list(limit=1).total, waiting=waiting)
    settings = cli.settings
    files = files_of(settings.stores, settings.home / CONFIG_NAME)
    elsewhere = (
        cli.server or settings.journal or "--config" in cli.options or "MEMORYWIRE_CONFIG" in os.environ
    )
    # A briefing with contents of memories is not cached: forgetting would not remove them from it.
    if files is not None and not elsewhere and not briefing.shown:
        under = circumstances(os.environ, cli.options)
        keep(sessions.opening, briefing, files=files, under=under, now=system_clock())
    else:
        sessions.opening.unlink(missing_ok=True)
    return briefing


def _answer_prompt(cli: CliContext, prompt: str, already: tuple[str, ...]) -> Briefing:
    query = prompt[:_QUERY_CHARS]
    if not query.strip() or query.startswith("/"):  # a command to the host, not a question
        return Briefing()
    from memorywire.hooks.transcripts import PROMPT_TOKENS, answering

    memory = cli.memory(caller=_caller(cli))
    return answering(memory.context(query, budget=PROMPT_TOKENS).lines, already=already)


def _take_in(cli: CliContext, sessions: Sessions) -> Answer:
    """Add all buffered logs to the message layer, which stores them before facts are extracted."""
    count = 0
    with sessions.alone() as alone:
        waiting = sessions.spooled() if alone else []
        if not waiting:
            return {}
        sessions.tidy(system_clock() - _KEPT_DAYS * DAY_MS)
        memory = cli.memory(caller=_caller(cli))
        read = memory.capabilities().extracts
        for log in waiting:
            count += _add(memory, log) if read else 0
            log.path.unlink()
        _prepare(cli, sessions)
    return {"taken": count}


def _add(memory: "Memory", log: Spooled) -> int:
    from memorywire.client.layer import MOST_NAME_CHARS, MOST_TURNS
    from memorywire.facts.rules import find_rules, session_source
    from memorywire.hooks.transcripts import messages

    turns, session = messages(lines_of(log)), log.session[:MOST_NAME_CHARS]
    groups = [turns[start : start + MOST_TURNS] for start in range(0, len(turns), MOST_TURNS)]
    count = sum(_add_turns(memory, group, session) for group in groups)
    # Remember what the user said to know, do or never do, unless the policy refuses it.
    texts = [turn["content"] for turn in turns if turn["role"] == "user"]
    for kind, sentence in (rule for text in texts for rule in find_rules(text)):
        with suppress(InvalidRequest, Refused, SecretLeakage):
            memory.remember(sentence, tags=[kind], source=session_source(session), session_id=session)
    return count


def _add_turns(memory: "Memory", turns: Sequence[Answer], session: str) -> int:
    """Add the turns and return how many were added. A refused turn does not block the others."""
    try:
        memory.layer.add(turns, session_id=session)
    except (InvalidRequest, Refused, SecretLeakage) as problem:
        if len(turns) > 1:
            return sum(_add_turns(memory, [turn], session) for turn in turns)
        click.echo(f"memorywire hook: skipped a turn of the session: {problem.detail}", err=True)
        return 0
    return len(turns)


def _caller(cli: CliContext) -> str:
    """Return the caller for the ledger: a hook acts for the agent, not for a person."""
    return f"agent:{cli.settings.agent}"

"""`memorywire context` and `memorywire profile`: what a model should read, and what is known of a person."""

import json
from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared_for_user
from memorywire.cli.hints import note_user_scope
from memorywire.cli.inputs import TextCommand, read_text
from memorywire.cli.recall import format_content
from memorywire.cli.terminal import clean, format_entries, format_time, style, terminal_width
from memorywire.client.options import read_prompt
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

_shared = shared_for_user("The user; default: only memories that belong to no user.")


@click.command("context", cls=TextCommand)
@click.argument("prompt", required=False)
@click.option("--budget", type=int, metavar="N", help="At most N tokens; default: 512.")
@click.option("--messages", is_flag=True, help="PROMPT is a JSON list of messages with role and content.")
@click.option("--session", "session_id", metavar="ID", help="The session of --recent.")
@click.option("--recent", type=int, metavar="N", help="Also the last N turns of the session, or of the user.")
@click.option("--explain", is_flag=True, help="Show a reason for each line instead of the block.")
@_shared
def context_command(
    cli: CliContext, prompt: str | None, messages: bool, explain: bool, **fields: Json
) -> None:
    """Print what a model should read before it answers PROMPT, or standard input for `-`."""
    text = read_text(prompt, field="prompt")
    request = read_prompt(_parse_messages(text)) if messages else {"prompt": text}
    answer = cli.call("context", **request, **fields)
    cli.show(answer, _render_lines if explain else _render_block)
    if not answer["lines"]:
        note_user_scope(cli)
    if not cli.as_json and (explain or terminal_width() is not None):
        click.echo(style(f"(show this again with: {cli.suggest('why', answer['recall_id'])})", dim=True))


def _parse_messages(text: str) -> Json:
    try:
        messages = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"prompt is not JSON: {error}", field="prompt", fix=_MESSAGES) from error
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest("prompt is not a list of messages", field="prompt", fix=_MESSAGES)
    return messages


_MESSAGES = """with --messages give a JSON list: '[{"role": "user", "content": "..."}]'"""


def _render_block(answer: Answer) -> Iterator[str]:
    if answer["text"]:
        yield from map(clean, answer["text"].split("\n"))
    yield from _render_rest(answer)


def _render_rest(answer: Answer) -> Iterator[str]:
    """What the block lacks: lines for which the budget is too small, or all of it."""
    if answer["left_out"]:
        more = "more " if answer["lines"] else ""
        yield f"({answer['left_out']} {more}did not fit into {answer['budget']} tokens)"
    elif not answer["lines"]:
        yield "nothing in memory bears on that"


def _render_lines(answer: Answer) -> Iterator[str]:
    rows = [
        [line["section"], f"{line['score']:.2f}", line["id"], line["reason"], format_content(line["content"])]
        for line in answer["lines"]
    ]
    if rows:
        yield from format_entries(["SECTION", "SCORE", "ID", "REASON", "CONTENT"], rows, lead=2)
    yield from _render_rest(answer)
    yield f"verdict {answer['verdict']}, {answer['tokens']} of {answer['budget']} tokens"


@click.command("profile")
@click.option("--history", is_flag=True, help="Also earlier values, with when and how they ended.")
@_shared
def profile_command(cli: CliContext, history: bool) -> None:
    """Show what is known about a user, by slot: home, diet, employer."""
    answer = cli.call("profile")
    cli.show(answer, lambda answer: _render_profile(answer, cli, history=history))
    if not answer["slots"]:
        note_user_scope(cli)


def _render_profile(answer: Answer, cli: CliContext, *, history: bool) -> Iterator[str]:
    rows = [
        [
            slot["slot"] + (" (conflict)" if slot["conflict"] else ""),
            slot.get("subject", "-"),
            format_time(value["since"]),
            value.get("source", "-"),
            value["id"],
            format_content(value["content"]),
        ]
        for slot in answer["slots"]
        for value in slot["values"]
    ]
    if rows:
        yield from format_entries(["SLOT", "SUBJECT", "SINCE", "SOURCE", "ID", "CONTENT"], rows, lead=2)
    else:
        yield "no memory fills a slot"
    for slot in answer["slots"] if history else ():
        for past in slot["history"]:
            until = format_time(past["until"]) if "until" in past else "now"
            words = format_content(past.get("content", "(erased)"))
            yield f"{slot['slot']}, {format_time(past['since'])} to {until}: {clean(words)}"
    if answer["unsorted"]:
        verb = "has" if answer["unsorted"] == 1 else "have"
        yield f"({answer['unsorted']} more {verb} no slot: {cli.suggest('list')})"

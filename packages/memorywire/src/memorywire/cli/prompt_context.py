"""`memorywire context` and `memorywire profile`: what a model should read, and what is known of a person."""

import json
from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import TextCommand, read_text
from memorywire.cli.recall import format_content
from memorywire.cli.terminal import clean, format_entries, format_time, style, terminal_width
from memorywire.client.options import read_prompt
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json


@click.command("context", cls=TextCommand)
@click.argument("prompt", required=False)
@click.option("--budget", type=int, metavar="N", help="At most N tokens; default: 512.")
@click.option("--messages", is_flag=True, help="PROMPT is a JSON list of messages with role and content.")
@click.option("--session", "session_id", metavar="ID", help="The session of --recent.")
@click.option("--recent", type=int, metavar="N", help="Also the last N turns of the session, or of the user.")
@click.option("--explain", is_flag=True, help="Show a reason for each line instead of the block.")
@shared
def context_command(
    cli: CliContext, prompt: str | None, messages: bool, explain: bool, **fields: Json
) -> None:
    """Print what a model should read before it answers PROMPT, or standard input for `-`."""
    text = read_text(prompt, field="prompt")
    request = read_prompt(_parse_messages(text)) if messages else {"prompt": text}
    answer = cli.call("context", **request, **fields)
    cli.show(answer, _render_lines if explain else _render_block)
    if not cli.as_json and (explain or terminal_width() is not None):
        click.echo(style(f"(show this again with: {cli.suggest('why', answer['recall_id'])})", dim=True))


def _parse_messages(text: str) -> Json:
    try:
        messages = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"messages is not JSON: {error}", field="messages") from error
    if not isinstance(messages, list):
        raise InvalidRequest("messages has the wrong type: expected array", field="messages")
    return messages


def _render_block(answer: Answer) -> Iterator[str]:
    yield from (
        map(clean, answer["text"].split("\n")) if answer["text"] else ["nothing in memory bears on that"]
    )
    if answer["left_out"]:
        yield f"({answer['left_out']} more did not fit into {answer['budget']} tokens)"


def _render_lines(answer: Answer) -> Iterator[str]:
    rows = [
        [line["section"], f"{line['score']:.2f}", line["id"], line["reason"], format_content(line["content"])]
        for line in answer["lines"]
    ]
    if rows:
        yield from format_entries(["SECTION", "SCORE", "ID", "REASON", "CONTENT"], rows, lead=2)
    else:
        yield "nothing in memory bears on that"
    yield f"verdict {answer['verdict']}, {answer['tokens']} of {answer['budget']} tokens"


@click.command("profile")
@click.option("--history", is_flag=True, help="Also earlier values, with when and how they ended.")
@shared
def profile_command(cli: CliContext, history: bool) -> None:
    """Show what is known about the user of --user, by slot."""
    answer = cli.call("profile")
    cli.show(answer, lambda answer: _render_profile(answer, history=history))


def _render_profile(answer: Answer, *, history: bool) -> Iterator[str]:
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
        yield "no slot is known"
    for slot in answer["slots"] if history else ():
        for past in slot["history"]:
            until = format_time(past["until"]) if "until" in past else "now"
            words = format_content(past.get("content", "(erased)"))
            yield f"{slot['slot']}, {format_time(past['since'])} to {until}: {clean(words)}"
    if answer["unsorted"]:
        yield f"({answer['unsorted']} more have no slot: memorywire list)"

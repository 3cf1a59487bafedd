"""`memorywire why`: what a recall handed out, and from what."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.recall import content_words
from memorywire.cli.terminal import entries, moment, safe, terminal_width


@click.command("why")
@click.argument("recall_id", metavar="RECALL")
@shared
def command(cli: CliContext, recall_id: str) -> None:
    """Show what RECALL answered, with the memories as they were then."""
    with cli.reading() as memory:
        answer = memory.call("why", {**cli.reach(), "recall_id": recall_id})
    cli.show(answer, sentences)


def sentences(answer: Answer) -> Iterator[str]:
    asked = safe(answer["query"]) if "query" in answer else "(erased with a memory it found)"
    yield f"{moment(answer['at'])}  {safe(answer['caller'])} asked {safe(answer['agent_id'])}: {asked}"
    if not answer["results"]:
        yield f"nothing was handed out ({answer['verdict']})"
        return
    rows = [
        [
            f"{one['score']:.3f}",
            "as now" if one["current"] else "since changed" if "memory" in one else "since erased",
            one["id"],
            f"v{one['version']}",
            one["memory"].get("source", "") if "memory" in one else "",
            one["memory"]["trust"] if "memory" in one else "",
            content_words(one["memory"]["content"]) if "memory" in one else "",
        ]
        for one in answer["results"]
    ]
    headers = ["SCORE", "STATE", "ID", "VERSION", "SOURCE", "TRUST", "CONTENT"]
    yield from entries(headers, rows, lead=2, width=terminal_width())

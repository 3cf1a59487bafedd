"""`memorywire recall`: ask memory a question."""

import json
from collections.abc import Iterator, Mapping, Sequence

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.hints import note_filter_doubts, note_other_agents
from memorywire.cli.inputs import PAST, TYPES, ago, json_object, min_relevance, text_from
from memorywire.cli.terminal import entries, moment, safe, shortened, styled, terminal_width
from memorywire.model.errors import NotFound
from memorywire.model.record import Json, Trust
from memorywire.model.requests import DedupMode, Fusion

_DEDUP = click.Choice([mode.value for mode in DedupMode])
_DOUBTS = {
    "weak": ["(a weak match: none of these clearly answers it)"],
    "no_match": ["(nothing in memory answers that: these are below the floor)"],
}
_WIDTH = 100  # columns of what a near miss says
_FUSIONS = click.Choice([fusion.value for fusion in Fusion])


@click.command("recall")
@click.argument("query", required=False)
@click.option("-k", "--k", type=int, metavar="N", help="How many at most; 5 when not given.")
@click.option("--type", "types", type=TYPES, multiple=True, help="Only this kind; repeatable.")
@click.option("--filter", "filter_", type=json_object, metavar="JSON", help="Only what matches this filter.")
@click.option("--fresher-than-days", type=int, metavar="N", help="Only what was created in the last N days.")
@click.option(
    "--min-relevance",
    type=min_relevance,
    metavar="auto|off|0..1",
    help="The floor below which nothing is an answer.",
)
@click.option("--as-of", type=ago, metavar="WHEN", help=f"As memory was then: {PAST}.")
@click.option("--include-archived", is_flag=True, help="Archived memories may answer too.")
@click.option("--hops", type=int, metavar="0..3", help="Follow links this far.")
@click.option(
    "--fusion", type=_FUSIONS, help="How several stores' answers are joined; legs: how one store's two are."
)
@click.option("--max-tokens", type=int, metavar="N", help="Only what fits in so many tokens of content.")
@click.option(
    "--rank",
    type=json_object,
    metavar="JSON",
    help='Weights, e.g. {"recency": 1, "half_life_days": 7}; also semantic, source, frequency.',
)
@click.option("--dedup", type=_DEDUP, help="What becomes of results that repeat a better one.")
@click.option(
    "--dedup-threshold", type=float, metavar="0..1", help="How alike repetitions are; 0.95 when not given."
)
@click.option("--explain", is_flag=True, help="Show the signals behind every score, and the near misses.")
@shared
def recall_command(
    cli: CliContext,
    query: str | None,
    types: tuple[str, ...],
    filter_: Json,
    include_archived: bool,
    dedup: str | None,
    dedup_threshold: float | None,
    **fields: Json,
) -> None:
    """Ask memory QUERY, or standard input for `-`."""
    if dedup_threshold is not None and dedup is None:
        raise click.UsageError("--dedup-threshold needs --dedup")
    if filter_ is not None:
        note_filter_doubts(cli, filter_)
    answer = cli.call(
        "recall",
        query=text_from(query, field="query"),
        types=list(types),
        filter=filter_,
        include=["archived"] if include_archived else None,
        dedup=_dedup(dedup, dedup_threshold),
        **fields,
    )
    missed = () if cli.as_json else answer.get("near_misses") or ()
    contents = contents_of(cli, [miss["id"] for miss in missed])
    cli.show(answer, lambda said: sentences(said, contents))
    if not answer["results"]:
        note_other_agents(cli)
    if not cli.as_json and (fields["explain"] or terminal_width() is not None):
        click.echo(styled(f"(to see this again: {cli.again('why', answer['recall_id'])})", dim=True))


def _dedup(mode: str | None, threshold: float | None) -> Json:
    if mode is None:
        return None
    return {"mode": mode, **({} if threshold is None else {"threshold": threshold})}


def contents_of(cli: CliContext, ids: Sequence[str]) -> dict[str, str]:
    """What these memories say, by id; one that only its history still knows is left out."""
    found: dict[str, str] = {}
    if not ids:
        return found
    with cli.memory() as memory:
        for id in ids:
            try:
                found[id] = content_words(memory.call("get", cli.payload(id=id))["content"])
            except NotFound:
                continue
    return found


def sentences(answer: Answer, contents: Mapping[str, str]) -> Iterator[str]:
    match bool(answer["results"]), answer["verdict"]:
        case True, verdict:
            yield from _hits(answer)
            yield from _DOUBTS.get(verdict, ())
        case False, "no_match":
            yield "nothing in memory answers that"
        case _:
            yield "what answers that does not fit into --max-tokens"
    yield from (f"{one['store']}: {one['error']}" for one in answer["outcomes"] if one.get("error"))
    yield from (
        f"{hit['id']} is also said by {', '.join(hit['supporting'])}"
        for hit in answer["results"]
        if hit["supporting"]
    )
    yield from _near_misses(answer, contents)


def _hits(answer: Answer) -> list[str]:
    explained = any("explain" in hit for hit in answer["results"])
    graded = not_standard(answer["results"])
    rows = [
        [
            f"{hit['score']:.3f}",
            hit["type"],
            hit["id"],
            moment(hit["created_at"]),
            *([hit["trust"]] if graded else []),
            *([_signals(hit["explain"]["signals"])] if explained else []),
            content_words(hit["content"]),
        ]
        for hit in answer["results"]
    ]
    trust = ["TRUST"] if graded else []
    headers = ["SCORE", "TYPE", "ID", "CREATED", *trust, *(["SIGNALS"] if explained else []), "CONTENT"]
    return entries(headers, rows, lead=2, width=terminal_width())


def _near_misses(answer: Answer, contents: Mapping[str, str]) -> Iterator[str]:
    if answer.get("floor") is not None:
        yield f"floor {answer['floor']:.3f}"
    for miss in answer.get("near_misses") or ():
        yield f"cut  {miss['score']:.3f}  {miss['id']}  {safe(miss['reason'])}  {_signals(miss['signals'])}"
        if miss["id"] in contents:
            yield f"     {shortened(safe(contents[miss['id']]), _WIDTH)}"


def _signals(signals: Mapping[str, float]) -> str:
    return " ".join(f"{name} {value:.2f}" for name, value in signals.items())


def not_standard(memories: Sequence[Mapping[str, Json]]) -> bool:
    """Whether any of them is believed more or less than usual."""
    return any(memory["trust"] != Trust.STANDARD for memory in memories)


def content_words(content: Json) -> str:
    """A memory's content in one line; structured content as compact JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

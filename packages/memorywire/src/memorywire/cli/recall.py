"""`memorywire recall`: search memory."""

import json
from collections.abc import Iterator, Mapping, Sequence

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.hints import note_empty_scope, note_filter_doubts
from memorywire.cli.inputs import (
    PAST,
    TYPES,
    TextCommand,
    add_options,
    approval_option,
    option,
    parse_json_object,
    parse_min_relevance,
    parse_past,
    read_text,
)
from memorywire.cli.terminal import (
    clean,
    format_entries,
    format_table,
    format_time,
    shorten,
    style,
    terminal_width,
)
from memorywire.model.errors import NotFound
from memorywire.model.record import Json, Trust
from memorywire.model.requests import DedupMode, Fusion, Owners

_DEDUP = click.Choice([mode.value for mode in DedupMode])
_FUSIONS = click.Choice([fusion.value for fusion in Fusion])
_SCOPES = click.Choice([owners.value for owners in Owners])
_DOUBTS = {
    "weak": ["(weak match: none of these clearly answers it)"],
    "no_match": ["(no match: these are below the relevance floor)"],
}
_WIDTH = 100  # columns of the content of a near miss
_ROUNDING = 1e-6


origin_options = add_options(
    option("--session ID", "The session that asks.", name="session_id"),
    option("--run ID", "The run that asks.", name="run_id"),
    option("--trace ID", "The trace of the request.", name="trace_id"),
)
"""Logged with a recall; `why` lists recalls by them."""


@click.command("recall", cls=TextCommand)
@click.argument("query", required=False)
@click.option("-k", "--limit", "--k", "k", type=int, metavar="N", help="Return at most N; default: 5.")
@option("--type", "Only this memory type; repeatable.", name="types", type=TYPES, multiple=True)
@option("--filter JSON", "Only memories that match.", name="filter_", type=parse_json_object)
@option("--scope", "Whose memories; default: the user's, or all without --user.", type=_SCOPES)
@option("--team NAME", "The team whose memories to search, with --scope team.")
@option("--fresher-than-days N", "Only memories of the last N days.", type=int)
@option(
    "--min-relevance auto|off|0..1",
    "The relevance floor: less relevant memories are not returned.",
    type=parse_min_relevance,
)
@option("--as-of WHEN", f"Search memory as it was then: {PAST}.", type=parse_past)
@option("--include-archived", "Search archived memories too.")
@option("--hops 0..3", "Follow links this far.", type=int)
@option("--fusion", "How to join the answers of several stores; legs: within one store.", type=_FUSIONS)
@option("--max-tokens N", "Only hits whose content fits into N tokens.", type=int)
@option(
    "--rank JSON",
    'Weights, e.g. {"recency": 1, "half_life_days": 7}; also semantic, source, frequency.',
    type=parse_json_object,
)
@option("--dedup", "What to do with hits that repeat a better one.", type=_DEDUP)
@option("--dedup-threshold 0..1", "How similar they are; default: 0.95.", type=float)
@origin_options
@option("--explain", "Show the signals of every score, and the near misses.")
@option("--sign", "Sign the hits with the ledger's key; see `audit verify-hit`.")
@approval_option
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
    """Search memory for QUERY, or standard input for `-`."""
    if dedup_threshold is not None and dedup is None:
        raise click.UsageError("--dedup-threshold needs --dedup")
    note_filter_doubts(cli, filter_)
    repetitions: Json = None if dedup is None else {"mode": dedup}
    if repetitions is not None and dedup_threshold is not None:
        repetitions["threshold"] = dedup_threshold
    answer = cli.call(
        "recall",
        query=read_text(query, field="query"),
        types=list(types),
        filter=filter_,
        include=["archived"] if include_archived else None,
        dedup=repetitions,
        **fields,
    )
    near_misses = () if cli.as_json else answer.get("near_misses") or ()
    contents = load_contents(cli, [miss["id"] for miss in near_misses])
    reason = _explain_floor(cli, answer, fields["min_relevance"]) if answer.get("floor") is not None else ""
    cli.show(answer, lambda answer: _render_answer(answer, contents, reason))
    if not answer["results"]:
        note_empty_scope(cli)
    if not cli.as_json and (fields["explain"] or terminal_width() is not None):
        click.echo(style(f"(show this again with: {cli.suggest('why', answer['recall_id'])})", dim=True))


def load_contents(cli: CliContext, ids: Sequence[str]) -> dict[str, str]:
    """Return the contents of these memories by id, without those that have ended."""
    contents: dict[str, str] = {}
    for id in ids:
        try:
            contents[id] = format_content(cli.memory().call("get", cli.payload(id=id))["content"])
        except NotFound:
            continue
    return contents


def _explain_floor(cli: CliContext, answer: Answer, min_relevance: Json) -> str:
    """Return why this relevance floor applies: an option, a setting, the embedder, or the query."""
    from memorywire.search import admit

    if min_relevance not in (None, "auto"):
        return f"--min-relevance {min_relevance}"
    if "min_relevance" in answer["degraded"]:
        return "no floor is known for this embedder, so nothing is cut; find one with: memorywire calibrate"
    if cli.server is None and cli.settings.floor is not None:
        return "the setting `floor`, for every query"
    if not answer["results"] and not answer["near_misses"]:
        return "the search found nothing that it could cut"
    if not answer["results"] and answer["floor"] < admit.WEAK:
        return "the floor of the embedder for facts, lower among few memories"
    reasons = {
        admit.NOBODY: "the query names somebody, and no memory answers the rest of it",
        admit.TURN: "the floor of the embedder for messages of a session",
        admit.WEAK: "the floor of the embedder for facts",
    }
    return next(
        (reason for floor, reason in reasons.items() if abs(answer["floor"] - floor) < _ROUNDING),
        f"at least {admit.SHARE:.0%} of the best fact's evidence, less if the query asks for several things",
    )


def _render_answer(answer: Answer, contents: Mapping[str, str], reason: str) -> Iterator[str]:
    if answer["results"]:
        yield from _hit_rows(answer)
        yield from _DOUBTS.get(answer["verdict"], ())
    else:
        is_unknown = answer["verdict"] == "no_match"
        yield "nothing in memory answers that" if is_unknown else "no answer fits into --max-tokens"
    if "language" in answer["degraded"]:
        yield "(the embedder does not know the language of the query: its words decide)"
    yield from (f"{one['store']}: {one['error']}" for one in answer["outcomes"] if one.get("error"))
    yield from (
        f"{hit['id']} is supported by {', '.join(hit['supporting'])}"
        for hit in answer["results"]
        if hit["supporting"]
    )
    yield from (f"{hit['id']} is lent by {hit['lender']}" for hit in answer["results"] if "lender" in hit)
    for hit in answer["results"]:
        yield from _word_lines(hit)
    yield from _near_miss_lines(answer, contents, reason)


def _hit_rows(answer: Answer) -> list[str]:
    has_signals = any("explain" in hit for hit in answer["results"])
    has_trust = has_special_trust(answer["results"])
    optional = ["TRUST"] * has_trust + ["SIGNALS"] * has_signals
    rows = []
    for hit in answer["results"]:
        cells = [hit["trust"]] if has_trust else []
        cells += [_format_signals(hit["explain"]["signals"])] if has_signals else []
        lead = [f"{hit['score']:.3f}", hit["type"], hit["id"], format_time(hit["created_at"])]
        rows.append([*lead, *cells, format_content(hit["content"])])
    return format_entries(["SCORE", "TYPE", "ID", "CREATED", *optional, "CONTENT"], rows, lead=2)


def _word_lines(hit: Mapping[str, Json]) -> Iterator[str]:
    """Yield a table of what each word of the query found in a hit, if it is explained."""
    words = hit.get("explain", {}).get("words") or ()
    rows = [
        [
            clean(one["word"]),
            clean(one.get("nearest", "")) if one["answered"] else "(nothing)",
            f"{one['match']:.2f}",
            f"{one['weight']:.0%}" if one["weight"] else "exact",
        ]
        for one in words
    ]
    if rows:
        yield f"words found in {hit['id']}"
        yield from ("  " + line for line in format_table(["WORD", "FOUND", "MATCH", "WEIGHT"], rows))


def _near_miss_lines(answer: Answer, contents: Mapping[str, str], reason: str) -> Iterator[str]:
    if answer.get("floor") is not None:
        yield f"floor {answer['floor']:.3f}: {reason}"
    for miss in answer.get("near_misses") or ():
        reason, signals = clean(miss["reason"]), _format_signals(miss["signals"])
        yield f"cut  {miss['score']:.3f}  {miss['id']}  {reason}  {signals}"
        if miss["id"] in contents:
            yield f"     {shorten(clean(contents[miss['id']]), _WIDTH)}"
        missing = [one["word"] for one in miss.get("words") or () if not one["answered"]]
        if missing:
            yield f"     nothing found for: {clean(', '.join(dict.fromkeys(missing)))}"


def _format_signals(signals: Mapping[str, float]) -> str:
    return " ".join(f"{name} {value:.2f}" for name, value in signals.items())


def has_special_trust(memories: Sequence[Mapping[str, Json]]) -> bool:
    """Return whether the trust of any memory is not the standard one."""
    return any(memory["trust"] != Trust.STANDARD for memory in memories)


def format_content(content: Json) -> str:
    """Return the content of a memory in one line; structured content as compact JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)

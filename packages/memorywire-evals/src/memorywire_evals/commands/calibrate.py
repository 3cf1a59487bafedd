"""`memorywire calibrate`: fits the floor, the dedup threshold or the routes to labelled examples."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click
from msgspec import Struct
from msgspec.structs import asdict

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import file_option, option, parse_json_lines
from memorywire.cli.terminal import Progress, format_table
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.client.sync import Memory
    from memorywire.search.embed import Embedder


SHIPPED = "-shipped-"


class Pair(Struct, frozen=True):
    """Two statements, and whether they have the same meaning."""

    first: str
    second: str
    same: bool


def _show_threshold(cli: CliContext, name: str) -> None:
    """Measure the pairs of a file, or the built-in ones, with the embedder."""
    source = files("memorywire_evals.commands") / "lookalikes.jsonl" if name == SHIPPED else Path(name)
    try:
        lines = source.read_bytes().splitlines()
    except OSError as error:
        raise InvalidRequest(f"cannot read {name}: {error.strerror}", field="lookalikes") from error
    pairs = [_parse_pair(number, document) for number, document in parse_json_lines(lines)]
    if {pair.same for pair in pairs} != {True, False}:
        reason = "a threshold needs pairs that mean the same and pairs that do not"
        raise InvalidRequest(reason, field="lookalikes")
    import asyncio

    cli.show(asyncio.run(_measure_pairs(cli, pairs)), _render_threshold)


def _parse_pair(number: int, document: Json) -> Pair:
    match document:
        case {"first": str(first), "second": str(second), "same": bool(same), **rest} if not rest:
            return Pair(first, second, same)
    fix = 'write lines such as {"first": "Ana likes tea", "second": "Ana likes tea!", "same": true}'
    raise InvalidRequest(f"line {number} is not a pair", field="lookalikes", fix=fix)


async def _measure_pairs(cli: CliContext, pairs: Sequence[Pair]) -> Answer:
    from memorywire.search.embed import open_embedder
    from memorywire_evals.fitting import build_table, fit_threshold

    embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
    try:
        results = [(pair.same, *await _compare_pair(pair, embedder)) for pair in pairs]
    finally:
        await embedder.close()
    same, different = (
        [score if agrees else 0.0 for is_same, score, agrees in results if is_same is label]
        for label in (True, False)
    )
    threshold = fit_threshold(same)
    cuts = build_table(threshold, same, different)
    return {
        "space": str(embedder.space),
        "same": len(same),
        "different": len(different),
        "threshold": threshold,
        "least_alike_same": round(min(same), 4),
        "most_alike_different": round(max(score for is_same, score, _ in results if not is_same), 4),
        "table": [asdict(cut) for cut in cuts if cut.floor >= _LEAST],
    }


_LEAST = 0.8


async def _compare_pair(pair: Pair, embedder: "Embedder") -> tuple[float, bool]:
    """Return the cosine of two statements, and whether they agree in the aspects that a vector overlooks."""
    from memorywire.model.record import MemoryType, Record, Scope
    from memorywire.search.duplicates import cosine, format_statement, is_same_statement, parse_slots

    scope = Scope(agent="a")
    one, other = (
        Record(id=text, scope=scope, type=MemoryType.SEMANTIC, content=text, created_at=0, updated_at=0)
        for text in (pair.first, pair.second)
    )
    vectors = await embedder.embed([format_statement(one), format_statement(other)])
    return cosine(*vectors), is_same_statement(parse_slots(one), parse_slots(other))


def _render_threshold(answer: Answer) -> Iterator[str]:
    best = answer["threshold"]
    rows = [
        [f"{cut['floor']:.3f}", f"{cut['kept']:.1%}", f"{1 - cut['cut']:.1%}", _mark(cut, best, "<- fits")]
        for cut in answer["table"]
    ]
    headers = ["THRESHOLD", "SAME MERGED", "DIFFERENT MERGED", "NOTE"]
    yield from format_table(headers, rows)
    same, others = answer["same"], answer["different"]
    yield f"{same} pairs that mean the same and {others} that do not, in {answer['space']}"
    near, far = answer["most_alike_different"], answer["least_alike_same"]
    yield f"by vectors alone, different pairs reach {near:.4f} and equal pairs fall to {far:.4f}:"
    yield "so words are compared first, and vectors only if the words agree"
    yield f'use it as dedup: {{"mode": "drop", "threshold": {best:g}}}'


_DEPTH = 50
"""How many hits are searched for a named memory."""

_FEW = 12
"""With fewer questions of a kind the result is uncertain."""

_TELLING = 0.5
"""A floor that cuts a smaller share of unanswerable questions is useless."""


class Question(Struct, frozen=True):
    """A question, and whether memory answers it, or with which memories."""

    query: str
    answerable: bool
    ids: frozenset[str]


_A_LINE = 'lines such as {"query": "Where does Ana live?", "answerable": true}'


@click.command("calibrate")
@file_option('{"query": ..., "answerable": true|false} or {"query": ..., "ids": [...]}')
@option(
    "--lookalikes [FILE]",
    "Fit the dedup threshold instead, to the pairs of FILE or to the built-in ones.",
    is_flag=False,
    flag_value=SHIPPED,
)
@option(
    "--routes [FILE]",
    "Learn instead which store a question is for, from FILE or from the built-in questions.",
    is_flag=False,
    flag_value=SHIPPED,
)
@option("--to ROUTES", "The file to write the learned routes to; with --routes.")
@shared
def command(
    cli: CliContext, file: BinaryIO, lookalikes: str | None, routes: str | None, to: str | None
) -> None:
    """Fit the relevance floor to your own questions.

    Asks every question of FILE and measures the relevance of the best hit. The floor (`min_relevance: auto`)
    keeps at least 98 % of the answerable questions and cuts most of the others; `match` is the relevance from
    which the verdict is `match`. Nothing is changed, and these recalls do not count as use.
    """
    if to is not None and routes is None:
        raise InvalidRequest("--to is for learned routes", field="to", fix="add --routes")
    if routes is not None:
        from memorywire_evals.commands.routes import show_routes

        if lookalikes is not None:
            detail = "--routes and --lookalikes are two runs"
            raise InvalidRequest(detail, field="routes", fix="leave one of them out")
        cli.refuse_scope("--routes does not read memory")
        show_routes(cli, routes, to)
        return
    if lookalikes is not None:
        cli.refuse_scope("--lookalikes does not read memory")
        _show_threshold(cli, lookalikes)
        return
    questions = [_parse_question(number, document) for number, document in parse_json_lines(file)]
    if not questions:
        raise InvalidRequest("there are no questions", field="file", fix=f"name a file of {_A_LINE}")
    cli.show(_fit_floor(cli.memory(), questions), _render_floor)


def _parse_question(number: int, document: Json) -> Question:
    match document:
        case {"query": str(query), "answerable": bool(answerable), **rest} if not rest:
            return Question(query, answerable, frozenset())
        case {"query": str(query), "ids": list(ids), **rest} if not rest:
            if all(isinstance(id, str) for id in ids):
                return Question(query, bool(ids), frozenset(ids))
        case {"query": str()}:
            pass
        case _:
            raise InvalidRequest(f"line {number} needs a query", field="file", fix=f"write {_A_LINE}")
    why = "needs either answerable (true or false) or ids (a list), and nothing else"
    raise InvalidRequest(f"line {number} {why}", field="file", fix=f"write {_A_LINE}")


def _fit_floor(memory: "Memory", questions: list[Question]) -> Answer:
    from memorywire_evals.fitting import build_table, fit_floor, fit_match, measure_cut

    answerable: list[float] = []
    others: list[float] = []
    unfound = 0
    with Progress("asking", len(questions)) as progress:
        for done, question in enumerate(questions, start=1):
            relevance = _best_relevance(memory, question)
            if relevance is None:
                unfound += 1
            else:
                (answerable if question.answerable else others).append(relevance)
            progress.update(done, counted(done, "question"))
    if not max(answerable, default=0.0) and (answerable or unfound):
        raise InvalidRequest(
            "recall finds nothing for any answerable question",
            field="file",
            fix="check --store, --agent and the ids",
        )
    if not answerable or not others:
        fix = "add questions of the missing kind"
        raise InvalidRequest("a floor needs answerable and unanswerable questions", field="file", fix=fix)
    floor = fit_floor(answerable, others)
    match = fit_match(floor, answerable)
    return {
        "space": str(memory.capabilities().space),
        "answerable": len(answerable),
        "others": len(others),
        "unfound": unfound,
        **asdict(measure_cut(floor, answerable, others)),
        **({} if match is None else {"match": match}),
        "table": [asdict(cut) for cut in build_table(floor, answerable, others)],
    }


def _best_relevance(memory: "Memory", question: Question) -> float | None:
    """Return the relevance of the best hit, or of the best named memory; None if none of those was found.

    Uses `as_of` now, because a recall of the past is not recorded as use.
    """
    from memorywire.model.clock import system_clock
    from memorywire.search.admit import evidence

    scope: Literal["user", "all"] = "all" if memory.user_id is None else "user"
    answer = memory.recall(question.query, scope=scope, k=_DEPTH, min_relevance="off", as_of=system_clock())
    hits = [hit for hit in answer if not question.ids or hit.id in question.ids]
    if question.ids and not hits:
        return None
    return max((evidence(hit) for hit in hits), default=0.0)


def _render_floor(answer: Answer) -> Iterator[str]:
    floor = answer["floor"]
    note = "<- use this" if answer["cut"] >= _TELLING else "<- best"
    rows = [
        [f"{cut['floor']:.3f}", f"{cut['kept']:.1%}", f"{cut['cut']:.1%}", _mark(cut, floor, note)]
        for cut in answer["table"]
    ]
    yield from format_table(["FLOOR", "ANSWERABLE KEPT", "OTHERS CUT", "NOTE"], rows)
    answerable = counted(answer["answerable"], "answerable question")
    yield f"{answerable} and {answer['others']} others, in {answer['space']}"
    if answer["unfound"]:
        yield f"{answer['unfound']} more name a memory that is not among the first {_DEPTH} hits"
    if min(answer["answerable"], answer["others"]) < _FEW:
        yield "these are too few: use a few dozen questions of each kind"
    if answer["cut"] < _TELLING:
        yield f"no floor separates the two kinds: this one cuts {answer['cut']:.0%} of the others; use none"
        return
    values = {name: f"{answer[name]:g}" for name in ("floor", "match") if name in answer}
    lines = " and ".join(f"`{name} = {value}`" for name, value in values.items())
    variables = " ".join(f"MEMORYWIRE_{name.upper()}={value}" for name, value in values.items())
    yield f"put {lines} into memorywire.toml, or set {variables}"


def _mark(cut: Mapping[str, Json], best: float, note: str) -> str:
    return note if cut["floor"] == best else ""


EXAMPLES = {
    "calibrate": (
        "memorywire calibrate --file questions.jsonl",
        "memorywire calibrate --routes --to routes.json",
    )
}

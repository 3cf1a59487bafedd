"""`memorywire calibrate`: fit the relevance floor to questions of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
from msgspec import Struct
from msgspec.structs import asdict

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import json_lines, lines_of
from memorywire.cli.terminal import Progress, table, terminal_width
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.client.sync import Memory
    from memorywire.search.embed import Embedder


SHIPPED = "-shipped-"


class Pair(Struct, frozen=True):
    """Two statements, and whether they say the same."""

    first: str
    second: str
    same: bool


def fit_threshold(cli: CliContext, named: str) -> None:
    """Measure the pairs of a file, or those that come along, in the space of the embedder."""
    source = files("memorywire.cli") / "lookalikes.jsonl" if named == SHIPPED else Path(named)
    try:
        lines = source.read_bytes().splitlines()
    except OSError as error:
        raise InvalidRequest(f"cannot read {named}: {error.strerror}", field="lookalikes") from error
    pairs = [_parse_pair(number, document) for number, document in json_lines(lines)]
    if len({pair.same for pair in pairs}) < len((True, False)):
        raise InvalidRequest(
            "a threshold separates two kinds of pair, and there is only one kind here", field="lookalikes"
        )
    import asyncio

    cli.show(asyncio.run(_measure_pairs(cli, pairs)), _render_threshold)


def _parse_pair(number: int, document: Json) -> Pair:
    match document:
        case {"first": str(first), "second": str(second), "same": bool(same), **rest} if not rest:
            return Pair(first, second, same)
    raise InvalidRequest(
        f"line {number} is no pair",
        field="lookalikes",
        fix='write lines such as {"first": "Ana likes tea", "second": "Ana likes tea!", "same": true}',
    )


async def _measure_pairs(cli: CliContext, pairs: Sequence[Pair]) -> Answer:
    from memorywire.search import admit
    from memorywire.search.embed import open_embedder

    embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
    try:
        alike = [await _compare_pair(pair, embedder) for pair in pairs]
    finally:
        await embedder.close()
    same = [score if agrees else 0.0 for pair, (score, agrees) in zip(pairs, alike, strict=True) if pair.same]
    others = [(score, agrees) for pair, (score, agrees) in zip(pairs, alike, strict=True) if not pair.same]
    taken = [score if agrees else 0.0 for score, agrees in others]
    threshold = admit.strictest(same)
    return {
        "space": str(embedder.space),
        "same": len(same),
        "different": len(others),
        "threshold": threshold,
        "least_alike_same": round(min(same), 4),
        "most_alike_different": round(max(score for score, _ in others), 4),
        "table": [asdict(cut) for cut in admit.table(threshold, same, taken) if cut.floor >= _LEAST],
    }


_LEAST = 0.8


async def _compare_pair(pair: Pair, embedder: "Embedder") -> tuple[float, bool]:
    """How near two statements are, and whether they agree in everything a vector does not see."""
    from memorywire.model.record import MemoryType, Record, Scope
    from memorywire.search.duplicates import agree, cosine, slots, statement

    scope = Scope(agent="a")
    one, other = (
        Record(id=text, scope=scope, type=MemoryType.SEMANTIC, content=text, created_at=0, updated_at=0)
        for text in (pair.first, pair.second)
    )
    vectors = await embedder.embed([statement(one), statement(other)])
    return cosine(*vectors), agree(slots(one), slots(other))


def _render_threshold(answer: Answer) -> Iterator[str]:
    best = answer["threshold"]
    rows = [
        [
            f"{cut['floor']:.3f}",
            f"{cut['kept']:.1%}",
            f"{1 - cut['cut']:.1%}",
            "<- fits" if cut["floor"] == best else "",
        ]
        for cut in answer["table"]
    ]
    headers = ["THRESHOLD", "SAME MERGED", "DIFFERENT MERGED", "NOTE"]
    yield from table(headers, rows, elastic="NOTE", width=terminal_width())
    same, others = answer["same"], answer["different"]
    yield f"{same} pairs that say the same and {others} that do not, in {answer['space']}"
    near, far = answer["most_alike_different"], answer["least_alike_same"]
    yield f"by vectors alone two that differ are up to {near:.4f} alike, two that agree only {far:.4f}:"
    yield "so words are compared first, and vectors only where those agree"
    yield f'use it as dedup: {{"mode": "drop", "threshold": {best:g}}}'


_DEPTH = 50
"""How far down a named memory is looked for."""

_FEW = 12
"""Fewer questions of a kind than this are too few to go by."""

_TELLING = 0.5
"""A floor that cuts less than this of what is not answered tells nothing."""


class Question(Struct, frozen=True):
    """A question, and what should come of it: an answer or none, or one of these memories."""

    query: str
    answerable: bool
    ids: frozenset[str]


_A_LINE = 'lines such as {"query": "Where does Ana live?", "answerable": true}'


@click.command("calibrate")
@lines_of('{"query": ..., "answerable": true|false} or {"query": ..., "ids": [...]}')
@click.option(
    "--lookalikes",
    is_flag=False,
    flag_value=SHIPPED,
    metavar="[FILE]",
    help="Fit the threshold of dedup instead, to pairs: those of FILE, or those that come along.",
)
@shared
def calibrate_command(cli: CliContext, file: BinaryIO, lookalikes: str | None) -> None:
    """Fit the floor of `min_relevance: auto` to questions of your own.

    Asks every question of FILE and looks at how relevant the best answer is. The floor found keeps at
    least 98 % of the questions that memory answers and cuts most of the others; the
    match found is the relevance from which the verdict is `match`. Nothing is changed; recalls made here
    do not count as use.
    """
    if lookalikes is not None:
        cli.refuse_scope("--lookalikes reads no memory")
        fit_threshold(cli, lookalikes)
        return
    questions = [_parse_question(number, document) for number, document in json_lines(file)]
    if not questions:
        raise InvalidRequest("no question was given", field="file", fix=f"name a file of them: {_A_LINE}")
    with cli.memory() as memory:
        answer = _fit_floor(memory, questions)
    cli.show(answer, _render_floor)


def _parse_question(number: int, document: Json) -> Question:
    if not isinstance(document, dict) or not isinstance(document.get("query"), str):
        raise _line_error(number, "needs a query")
    match {name: value for name, value in document.items() if name != "query"}:
        case {"answerable": bool(answerable), **rest} if not rest:
            return Question(document["query"], answerable, frozenset())
        case {"ids": list(ids), **rest} if not rest and all(isinstance(id, str) for id in ids):
            return Question(document["query"], bool(ids), frozenset(ids))
    raise _line_error(number, "needs either answerable (true or false) or ids (a list), and nothing else")


def _line_error(number: int, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"line {number} {why}",
        field="file",
        fix=f"write {_A_LINE}",
    )


def _fit_floor(memory: "Memory", questions: list[Question]) -> Answer:
    from memorywire.search import admit

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
            progress.reached(done, counted(done, "question"))
    _require_both_kinds(answerable, others, unfound)
    floor = admit.fit(answerable, others)
    match = admit.fit_match(floor, answerable)
    return {
        "space": str(memory.capabilities().space),
        "answerable": len(answerable),
        "others": len(others),
        "unfound": unfound,
        **asdict(admit.cut_at(floor, answerable, others)),
        **({} if match is None else {"match": match}),
        "table": [asdict(cut) for cut in admit.table(floor, answerable, others)],
    }


def _require_both_kinds(answerable: list[float], others: list[float], unfound: int) -> None:
    """Refuse what no floor can be fitted to: it would look like a floor all the same."""
    if not max(answerable, default=0.0) and (answerable or unfound):
        raise InvalidRequest(
            "memory brings up nothing for any question that it should answer",
            field="file",
            fix="look whether --store, --agent and the ids are the right ones",
        )
    if not answerable or not others:
        raise InvalidRequest(
            "a floor separates two kinds of question, and there is only one kind here",
            field="file",
            fix="give questions that memory answers and questions that it does not",
        )


def _best_relevance(memory: "Memory", question: Question) -> float | None:
    """How relevant the best answer is, or the best of the named ones; None when none of those was found.

    Asked of this very moment by name (`as_of`), because looking at the past leaves no mark of use.
    """
    from memorywire.model.clock import system_clock
    from memorywire.search.admit import evidence

    found = memory.recall(question.query, k=_DEPTH, min_relevance="off", as_of=system_clock())
    hits = [hit for hit in found if not question.ids or hit.id in question.ids]
    if question.ids and not hits:
        return None
    return max((evidence(hit) for hit in hits), default=0.0)


def _render_floor(answer: Answer) -> Iterator[str]:
    floor = answer["floor"]
    note = "<- use this" if answer["cut"] >= _TELLING else "<- the best there is"
    rows = [_cut_row(cut, note if cut["floor"] == floor else "") for cut in answer["table"]]
    headers = ["FLOOR", "ANSWERABLE KEPT", "OTHERS CUT", "NOTE"]
    yield from table(headers, rows, elastic="NOTE", width=terminal_width())
    answerable = counted(answer["answerable"], "answerable question")
    yield f"{answerable} and {answer['others']} others, in {answer['space']}"
    if answer["unfound"]:
        yield f"{answer['unfound']} more name a memory that is not among the first {_DEPTH}: no floor helps"
    if min(answer["answerable"], answer["others"]) < _FEW:
        yield "so few tell little about the next question: a few dozen of each kind do"
    if answer["cut"] < _TELLING:
        yield f"no floor tells the two kinds apart: this one cuts {answer['cut']:.0%} of the others, use none"
        return
    found = {name: f"{answer[name]:g}" for name in ("floor", "match") if name in answer}
    lines = " and ".join(f"`{name} = {value}`" for name, value in found.items())
    variables = " ".join(f"MEMORYWIRE_{name.upper()}={value}" for name, value in found.items())
    yield f"put {lines} into memorywire.toml, or set {variables}"


def _cut_row(cut: Mapping[str, Json], note: str) -> list[str]:
    return [f"{cut['floor']:.3f}", f"{cut['kept']:.1%}", f"{cut['cut']:.1%}", note]

"""`memorywire calibrate --routes`: learns from labelled questions which kind of store a question is for."""

import asyncio
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

import msgspec
from msgspec import Struct

from memorywire.cli.context import Answer, CliContext
from memorywire.cli.inputs import parse_json_lines
from memorywire.cli.terminal import format_table
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.search.reference import floats
from memorywire.stores.router import Kind, LearnedRoute, learned
from memorywire.stores.router.rules import kind_by_rules

SHIPPED = "-shipped-"
_FOLDS = 5
_SIGNS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
_LEAST = 5
"""The minimum number of questions of a kind, so that each fold has one."""
_DIGITS = 5
_A_LINE = 'lines such as {"query": "Who reports to Mira?", "kind": "relationship"}'


class Question(Struct, frozen=True, forbid_unknown_fields=True):
    """A question and the kind of store it is for."""

    query: str
    kind: Kind


class Example(Struct, frozen=True):
    """A question, its vector, and its fold."""

    question: Question
    vector: bytes
    fold: int


def show_routes(cli: CliContext, name: str, to: str | None) -> None:
    """Learn the routes from the questions of a file, or from the built-in ones, and write them to a file."""
    questions = _read_questions(name)
    cli.show(asyncio.run(_learn(cli, questions, to)), _render)


def _read_questions(name: str) -> list[Question]:
    source = files("memorywire_evals.commands") / "routes.jsonl" if name == SHIPPED else Path(name)
    try:
        lines = source.read_bytes().splitlines()
    except OSError as error:
        raise InvalidRequest(f"cannot read {name}: {error.strerror}", field="routes") from error
    questions = [_parse_question(number, document) for number, document in parse_json_lines(lines)]
    for kind in Kind:
        count = sum(question.kind is kind for question in questions)
        if 0 < count < _LEAST:
            detail = f"{count} of the questions are of the kind {kind}; a kind needs {_LEAST}"
            raise InvalidRequest(detail, field="routes", fix=f"add {_A_LINE}")
    if len({question.kind for question in questions}) < 2:
        detail = "routes need questions of at least two kinds"
        raise InvalidRequest(detail, field="routes", fix=f"name a file of {_A_LINE}")
    return questions


def _parse_question(number: int, document: Json) -> Question:
    try:
        return msgspec.convert(document, Question)
    except msgspec.ValidationError as error:
        detail = f"line {number} is not a question with its kind: {error}"
        raise InvalidRequest(detail, field="routes", fix=f"write {_A_LINE}") from error


async def _learn(cli: CliContext, questions: Sequence[Question], to: str | None) -> Answer:
    from memorywire.search.embed import open_embedder

    embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
    try:
        vectors = await embedder.embed([question.query for question in questions])
    finally:
        await embedder.close()
    space = str(embedder.space)
    examples = _split(questions, vectors)
    by_signs = {signs: _route_each(examples, signs) for signs in _SIGNS}
    signs = _choose_signs(by_signs, examples)
    route = learned([(one.vector, one.question.kind) for one in examples], signs=signs, space=space)
    if to is not None:
        _write(route, to)
    return {
        "space": space,
        "questions": len(questions),
        "signs": signs,
        "kinds": [_measure(kind, by_signs, examples) for kind in Kind if kind in route.means],
        "learned": _share(_route_held_out(by_signs, examples), examples),
        "rules": _share([kind_by_rules(one.question.query) for one in examples], examples),
        "file": to,
    }


def _split(questions: Sequence[Question], vectors: Sequence[bytes]) -> list[Example]:
    """Split the questions into folds, each with its share of every kind."""
    seen = dict.fromkeys(Kind, 0)
    examples: list[Example] = []
    for question, vector in zip(questions, vectors, strict=True):
        examples.append(Example(question, vector, seen[question.kind] % _FOLDS))
        seen[question.kind] += 1
    return examples


def _route_each(examples: Sequence[Example], signs: float) -> list[Kind]:
    """Return the kind of each question, as learned from the other folds."""
    routes = [
        learned([(one.vector, one.question.kind) for one in examples if one.fold != fold], signs=signs)
        for fold in range(_FOLDS)
    ]
    return [routes[one.fold].route(one.question.query, floats(one.vector)) for one in examples]


def _choose_signs(
    by_signs: dict[float, list[Kind]], examples: Sequence[Example], without: int | None = None
) -> float:
    """Return the weight of the rules with the most right answers, without one fold."""

    def count(signs: float) -> int:
        pairs = zip(by_signs[signs], examples, strict=True)
        return sum(kind is one.question.kind for kind, one in pairs if one.fold != without)

    return max(by_signs, key=count)


def _route_held_out(by_signs: dict[float, list[Kind]], examples: Sequence[Example]) -> list[Kind]:
    """Return the kind of each question when its fold trained neither the means nor the weight."""
    chosen = [_choose_signs(by_signs, examples, fold) for fold in range(_FOLDS)]
    return [by_signs[chosen[one.fold]][at] for at, one in enumerate(examples)]


def _measure(kind: Kind, by_signs: dict[float, list[Kind]], examples: Sequence[Example]) -> dict[str, Json]:
    own = [at for at, one in enumerate(examples) if one.question.kind is kind]
    held_out = _route_held_out(by_signs, examples)
    return {
        "kind": kind,
        "questions": len(own),
        "learned": _round(sum(held_out[at] is kind for at in own) / len(own)),
        "rules": _round(sum(kind_by_rules(examples[at].question.query) is kind for at in own) / len(own)),
    }


def _share(kinds: Sequence[Kind], examples: Sequence[Example]) -> float:
    pairs = zip(kinds, examples, strict=True)
    return _round(sum(kind is one.question.kind for kind, one in pairs) / len(examples))


def _round(share: float) -> float:
    return round(share, 3)


def _write(route: LearnedRoute, to: str) -> None:
    means = {kind: tuple(round(number, _DIGITS) for number in mean) for kind, mean in route.means.items()}
    document = msgspec.json.encode(msgspec.structs.replace(route, means=means))
    try:
        Path(to).write_bytes(document)
    except OSError as error:
        raise InvalidRequest(f"cannot write {to}: {error.strerror}", field="to") from error


def _render(answer: Answer) -> Iterator[str]:
    rows = [
        [line["kind"], str(line["questions"]), f"{line['learned']:.1%}", f"{line['rules']:.1%}"]
        for line in answer["kinds"]
    ]
    rows.append(["all", str(answer["questions"]), f"{answer['learned']:.1%}", f"{answer['rules']:.1%}"])
    yield from format_table(["KIND", "QUESTIONS", "RIGHT AS LEARNED", "RIGHT BY RULES"], rows)
    yield f"each question was routed as learned from the other four fifths, in {answer['space']}"
    if answer["file"] is None:
        yield "nothing was written: name a file with --to"
        return
    yield f"written to {answer['file']}; in memorywire.toml:"
    yield "  [router]"
    yield '  read = "learned"'
    yield f'  routes = "{answer["file"]}"'

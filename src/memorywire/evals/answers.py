"""Answer and judge: does a model with this memory beat the same one without, or a larger one?

Four cells, one question each: the treatment (reader with memory), the lower bound (the same reader without),
a reference and a target (other readers, without). Every reply is written down at once, so that nothing is
paid for twice. Judged accuracy is not comparable between judges, nor with retrieval figures.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from memorywire import __version__
from memorywire.evals import bootstrap
from memorywire.evals.asking import sitting
from memorywire.evals.cases import Case, Question, day
from memorywire.evals.datasets import load
from memorywire.evals.examine import DEPTH, Bench
from memorywire.evals.metrics import packed
from memorywire.evals.readers import Reader, Reply
from memorywire.evals.results import machine, record
from memorywire.evals.run import Plan, Told, tools
from memorywire.evals.scoring import Key
from memorywire.model.errors import TooManyAffected
from memorywire.model.record import Json

TREATMENT = "treatment"
UNKNOWN = "I do not know"

ANSWER = """Answer the question in one short sentence. Say "{unknown}" when you cannot tell.{memories}

Today is {today}.
Question: {question}
Answer:"""

JUDGE = """Does the given answer say the same as the right answer? More words are fine; another fact is not.
If the right answer is that it cannot be known, only an answer that says so is right.

Question: {question}
Right answer: {right}
Given answer: {given}

Reply with yes or no only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One column of the grid."""

    name: str
    reader: Reader
    memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Who answers, who judges, how much of what is recalled is shown, and what it may cost."""

    cells: tuple[Cell, ...]
    judge: Reader
    budget: int = 1024
    most_calls: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One judged answer; `prompt` is a hash of what was asked."""

    cell: str
    case: str
    question: str
    category: str
    reader: str
    judge: str
    prompt: str
    answer: str
    correct: bool
    tokens: int

    @property
    def key(self) -> tuple[str, ...]:
        return (self.cell, self.question, self.reader, self.judge, self.prompt)


async def answer_all(plan: Plan, grid: Grid, *, date: str, command: str, tell: Told) -> dict[str, Json]:
    """The document of the grid; raises TooManyAffected before the first call when it would take too many."""
    dataset = await asyncio.to_thread(load, plan.kind, plan.data, split=plan.split, roles=plan.roles)
    wanted = dataset.case_ids[: plan.limit]
    _gate(sum(len(_asked(dataset.build(id))) for id in wanted), grid)
    place = plan.out / __version__ / f"{dataset.name}-{dataset.split}-answers.jsonl"
    done = await asyncio.to_thread(_written, place, plan.fresh)
    found: list[Answered] = []
    async with tools(plan) as bench:
        for number, id in enumerate(wanted):
            tell(number, len(wanted), id)
            found += await _case(dataset.build(id), grid, bench, done, place)
    tell(len(wanted), len(wanted), "summary")
    document = {
        "run": {
            "set": dataset.name,
            "split": dataset.split,
            "budget": grid.budget,
            "prompts": _hash(ANSWER + JUDGE),
        },
        "answers": _summary(found),
        "rows": [{name: value for name, value in asdict(one).items() if name != "answer"} for one in found],
        "machine": machine(),
        "date": date,
    }
    text = json.dumps(document, sort_keys=True, indent=1) + "\n"
    await asyncio.to_thread(place.with_suffix(".json").write_text, text, encoding="utf-8")
    entry = {name: document[name] for name in ("run", "answers", "machine", "date")}
    await asyncio.to_thread(record, plan.out, {**entry, "command": command})
    return document


def _asked(case: Case) -> list[Question]:
    """The questions whose right answer is known."""
    return [question for question in case.questions if question.answer or not question.answerable]


def _gate(questions: int, grid: Grid) -> None:
    calls = 2 * questions * len(grid.cells)
    if calls > grid.most_calls:
        raise TooManyAffected(
            f"{questions} questions in {len(grid.cells)} cells take up to {calls} calls",
            field="max-calls",
            fix=f"pass --max-calls {calls}, or a --limit",
        )


async def _case(
    case: Case, grid: Grid, bench: Bench, done: dict[tuple[str, ...], Answered], place: Path
) -> list[Answered]:
    key = Key.of(case)
    found = []
    async with sitting(bench.set_name, case, store=bench.store, embedder=bench.embedder) as seat:
        await seat.tell(case.items)
        texts = {item.ref: item.text for item in case.items}
        for question in _asked(case):
            heard = await seat.ask(question, k=DEPTH)
            shown = [texts[ref] for ref in packed(heard.refs, key.sizes, grid.budget)]
            for cell in grid.cells:
                prompt = answer_prompt(question, shown if cell.memory else None)
                name = (cell.name, question.id, cell.reader.name, grid.judge.name, _hash(prompt))
                if name not in done:
                    done[name] = await _judged(case, question, cell, grid.judge, prompt)
                    await asyncio.to_thread(_append, place, done[name])
                found.append(done[name])
    return found


def answer_prompt(question: Question, memories: Sequence[str] | None) -> str:
    """The same words for everybody; only the memories differ."""
    listed = "" if memories is None else "\n\nMemories:\n" + "\n".join(f"- {text}" for text in memories)
    today = "unknown" if question.asked_at is None else day(question.asked_at)
    return ANSWER.format(unknown=UNKNOWN, memories=listed, today=today, question=question.text)


async def _judged(case: Case, question: Question, cell: Cell, judge: Reader, prompt: str) -> Answered:
    reply = await cell.reader.ask(prompt)
    right = question.answer if question.answerable and question.answer else "It cannot be known."
    verdict = await judge.ask(JUDGE.format(question=question.text, right=right, given=reply.text))
    return Answered(
        cell=cell.name,
        case=case.id,
        question=question.id,
        category=question.category,
        reader=cell.reader.name,
        judge=judge.name,
        prompt=_hash(prompt),
        answer=reply.text,
        correct=says_yes(verdict),
        tokens=reply.tokens + verdict.tokens,
    )


def says_yes(verdict: Reply) -> bool:
    """Whether the judge's first word is yes."""
    words = verdict.text.casefold().split()
    return bool(words) and words[0].strip(".,!*\"'") == "yes"


def _summary(found: Sequence[Answered]) -> dict[str, Json]:
    cells: dict[str, list[Answered]] = {}
    for one in found:
        cells.setdefault(one.cell, []).append(one)
    return {
        "cells": {
            name: {
                "accuracy": round(sum(one.correct for one in answers) / len(answers), 4),
                "questions": len(answers),
                "reader": answers[0].reader,
                "judge": answers[0].judge,
                "tokens": sum(one.tokens for one in answers),
            }
            for name, answers in cells.items()
        },
        "treatment minus": dict(_differences(cells)),
    }


def _differences(cells: dict[str, list[Answered]]) -> Iterator[tuple[str, Json]]:
    ours = [float(one.correct) for one in cells.get(TREATMENT, ())]
    for name, answers in cells.items():
        if ours and name != TREATMENT:
            gap = bootstrap.difference(ours, [float(one.correct) for one in answers])
            yield name, {key: round(value, 4) for key, value in asdict(gap).items()}


def _written(place: Path, fresh: bool) -> dict[tuple[str, ...], Answered]:
    place.parent.mkdir(parents=True, exist_ok=True)
    if fresh or not place.is_file():
        place.write_text("", encoding="utf-8")
        return {}
    lines = place.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if len(whole) < len(lines):  # cut off in the middle of writing
        place.write_text("".join(whole), encoding="utf-8")
    answers = [Answered(**json.loads(line)) for line in whole]
    return {one.key: one for one in answers}


def _append(place: Path, one: Answered) -> None:
    with place.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(one), sort_keys=True, ensure_ascii=False) + "\n")


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

"""Answer and judge: does a model with this memory beat the same one without, or a larger one?

Four cells answer each question: the treatment (reader with memory), the lower bound (the same reader
without), a reference and a target (other readers, without). An agent with its own memory has one more
cell, in which it reads the whole case first. Every reply is saved at once, so no call is paid for twice.
Judged accuracy is not comparable between judges, nor with retrieval figures.
"""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from memorywire import __version__
from memorywire.model.consolidation import Spending
from memorywire.model.errors import InvalidRequest, TooManyAffected
from memorywire.model.record import Json
from memorywire_evals import compare
from memorywire_evals.cases import Case, Question
from memorywire_evals.datasets import load
from memorywire_evals.examine import DEPTH, Bench
from memorywire_evals.metrics import Key, packed
from memorywire_evals.prompts import ANSWER, answer_prompt, memory_share
from memorywire_evals.readers import Purse, Reader, Reply, tellings, told
from memorywire_evals.results import append, hash_text, machine, record, whole_lines
from memorywire_evals.run import Plan, Told, context
from memorywire_evals.seeds import spread
from memorywire_evals.trajectories import SUFFIX, Trajectories, Trajectory

TREATMENT = "treatment"
LOWER_BOUND = "lower bound"
BUILT_IN = "built-in"
JUDGE = """Does the given answer say the same as the right answer? More words are fine; another fact is not.
If the right answer is that it cannot be known, only an answer that says so is right.

Question: {question}
Right answer: {right}
Given answer: {given}

Reply with yes or no only."""


class Cell(Struct, frozen=True, kw_only=True):
    """One column of the grid: a reader with recalled memories (`memory`), its own memory, or none."""

    name: str
    reader: Reader
    memory: bool = False
    own: bool = False


class Grid(Struct, frozen=True, kw_only=True):
    """The readers, the judge, the token budget for memories, and the cost limits.

    `questions` is the number of questions per case, spread over all of them; None means all. Calls are
    counted before the first one, costs as they arise: a run ends before a call that could exceed a limit.
    Each of the `seeds` is another answer to the same prompt.
    """

    cells: tuple[Cell, ...]
    judge: Reader
    budget: int = 1024
    most_calls: int = 200
    spending: Spending | None = None
    questions: int | None = None
    seeds: int = 1

    @property
    def mark(self) -> str:
        """A hash that distinguishes this grid from others."""
        asked = [f"{cell.name} {cell.reader.mark}" for cell in self.cells]
        several = f" {self.seeds}" if self.seeds > 1 else ""
        return hash_text(*asked, self.judge.mark, f"{self.budget} {self.questions}{several}")

    def asked(self, case: Case) -> list[Question]:
        """Return the questions to ask: up to `questions` of those with a known answer, evenly spread."""
        known = _judgeable(case)
        count = min(self.questions or len(known), len(known))
        return [known[place * len(known) // count] for place in range(count)]


class Answered(Struct, frozen=True, kw_only=True):
    """One answer; `prompt` is a hash of the prompt, `terms` of the reader, the judge and the right answer.

    `correct` is None until the answer is judged. `shown` are the refs of the memories in the prompt.
    `memory_share` is their share of its tokens. `served` and `judged_by` are the models that the
    endpoints report.
    """

    cell: str
    case: str
    question: str
    category: str
    reader: str
    judge: str
    prompt: str
    answer: str
    correct: bool | None
    tokens: int
    terms: str = ""
    shown: Sequence[str] = ()
    memory_share: float = 0.0
    served: str | None = None
    judged_by: str | None = None
    seed: int = 0

    @property
    def key(self) -> tuple[str | int, ...]:
        return (self.cell, self.case, self.question, self.prompt, self.terms, self.seed)


async def answer_all(plan: Plan, grid: Grid, *, date: str, command: str, tell: Told) -> dict[str, Json]:
    """Run the grid; return its document. Raises TooManyAffected before the first call if it needs too many.

    It also raises before a call that could exceed the cost limit; earlier answers are kept.
    """
    dataset = await asyncio.to_thread(load, plan.kind, plan.data, split=plan.split, roles=plan.roles)
    wanted = dataset.case_ids[: plan.limit]
    questions, left_out = _gate((dataset.build(id) for id in wanted), grid)
    place = plan.out / __version__ / f"{dataset.name}-{dataset.split}-answers.jsonl"
    done = await asyncio.to_thread(_write_answer, place, plan.fresh)
    asking = _Asking(grid=grid, purse=Purse(grid.spending), done=done, place=place)
    results: list[Answered] = []
    wanted_answers = questions * grid.seeds
    steps = Trajectories(place.with_suffix("") / "trajectories")
    async with context(plan, dataset) as bench:
        for id in wanted:
            tell(len(results) // len(grid.cells), wanted_answers, id)
            trajectory = Trajectory(id) if plan.trajectories else None
            async for answers in _case(dataset.build(id), replace(bench, trajectory=trajectory), asking):
                results += answers
                tell(len(results) // len(grid.cells), wanted_answers, id)
            if trajectory is not None:
                await asyncio.to_thread(steps.save, trajectory)
    tell(wanted_answers, wanted_answers, "summary")
    conditions = await asyncio.to_thread(plan.conditions, dataset)
    document = {
        "run": {
            **{name: value for name, value in conditions.items() if name != "baselines"},
            "budget": grid.budget,
            "questions of a case": grid.questions,
            **({"seeds": grid.seeds} if grid.seeds > 1 else {}),
            "prompts": hash_text(ANSWER + JUDGE),
        },
        "answers": {
            **_summary(results, asking, clustered=plan.kind.clustered),
            "left out": left_out,
            "not kept": asking.faults[:50],
            "void": bool(asking.faults),
        },
        "spent": asking.purse.to_json(),
        "rows": [{name: value for name, value in asdict(one).items() if name != "answer"} for one in results],
        "machine": machine(),
        "date": date,
    }
    text = json.dumps(document, sort_keys=True, indent=1) + "\n"
    target = place.with_name(f"{place.stem}-{grid.mark}.json")  # another grid has another file
    await asyncio.to_thread(target.write_text, text, encoding="utf-8")
    if plan.trajectories:
        await asyncio.to_thread(steps.join, wanted, target.with_suffix(SUFFIX))
    entry = {name: document[name] for name in ("run", "answers", "spent", "machine", "date")}
    await asyncio.to_thread(record, plan.out, {**entry, "command": command})
    return document


def _judgeable(case: Case) -> list[Question]:
    return [question for question in case.questions if question.answer or not question.answerable]


def _gate(cases: Iterable[Case], grid: Grid) -> tuple[int, int]:
    """Return how many questions can be judged, and how many not. Raises if none can, or at too many calls."""
    left_out = judged = told_first = 0
    answerable = False
    for case in cases:
        asked = grid.asked(case)
        left_out, judged = left_out + len(case.questions) - len(_judgeable(case)), judged + len(asked)
        answerable = answerable or any(question.answerable for question in asked)
        told_first += len(tellings(case)) * sum(cell.own for cell in grid.cells)
    if not answerable:
        raise InvalidRequest(
            "no question has a reference answer", field="set", fix="take another set or data"
        )
    calls = 2 * judged * grid.seeds * len(grid.cells) + told_first
    if calls > grid.most_calls:
        raise TooManyAffected(
            f"{judged} questions in {len(grid.cells)} cells take up to {calls} calls",
            field="max-calls",
            fix=f"pass --max-calls {calls}, or fewer cases and questions with --limit and --questions",
        )
    return judged, left_out


class _Asking(Struct, frozen=True, kw_only=True):
    """The state for all questions: the grid, the budget, and the answers of earlier runs.

    `faults` are items that were not stored, `told` the tokens for telling agents their case, by cell.
    """

    grid: Grid
    purse: Purse
    done: dict[tuple[str | int, ...], Answered]
    place: Path
    faults: list[str] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)


async def _case(case: Case, bench: Bench, asking: _Asking) -> AsyncIterator[list[Answered]]:
    """Yield the answers of one case, question by question."""
    key, grid = Key.of(case), asking.grid
    agents, folders = asking.place.with_suffix(""), {}
    for cell in grid.cells:
        if cell.own:
            folders[cell.name], taken = await told(case, cell.reader, agents, asking.purse)
            asking.told[cell.name] += taken
    async with bench.open_memory(case) as seat:
        asking.faults.extend(f"{case.id}/{fault}" for fault in await seat.tell(case.items))
        for question in grid.asked(case):
            heard = await seat.ask(question, k=DEPTH)
            shown = {ref: key.lines[ref] for ref in packed(heard.refs, key.sizes, grid.budget)}
            for seed in range(grid.seeds):
                answers = [
                    await _answer_question(case, question, cell, shown, folders.get(cell.name), asking, seed)
                    for cell in grid.cells
                ]
                if bench.trajectory is not None:
                    _note_used(question, answers, bench.trajectory)
                yield answers


def _note_used(question: Question, answers: Sequence[Answered], trajectory: Trajectory) -> None:
    """Record the memories in the prompt of each reader as used."""
    for given in answers:
        about = {"cell": given.cell, "seed": given.seed, "prompt": given.prompt, "correct": given.correct}
        trajectory.add_used(question.id, given.shown, question.gold, by="reader", **about)


async def _answer_question(
    case: Case,
    question: Question,
    cell: Cell,
    shown: Mapping[str, str],
    folder: Path | None,
    asking: _Asking,
    seed: int,
) -> Answered:
    """Return the answer and verdict from an earlier run, or new ones; both are written to the file."""
    judge = asking.grid.judge
    memories = list(shown.values()) if cell.memory else None
    prompt = answer_prompt(question, memories)
    terms = _terms(question, cell, judge, folder)
    given = asking.done.get((cell.name, case.id, question.id, hash_text(prompt), terms, seed))
    if given is None:
        reply = await asking.purse.ask(cell.reader, prompt, folder=folder)
        given = Answered(
            cell=cell.name,
            case=case.id,
            question=question.id,
            category=question.category,
            reader=cell.reader.name,
            judge=judge.name,
            prompt=hash_text(prompt),
            answer=reply.text,
            correct=None,
            tokens=reply.tokens,
            terms=terms,
            shown=list(shown) if cell.memory else [],
            served=reply.model,
            seed=seed,
        )
    # Computed anew, because the lines of earlier versions lack it.
    given = replace(given, memory_share=round(memory_share(question, memories), 4))
    if given.correct is None:
        try:
            given = await _judge_answer(question, given, judge, asking.purse)
        finally:  # answers without a judgement cost money, too
            await asyncio.to_thread(append, asking.place, asdict(given))
    return given


def _terms(question: Question, cell: Cell, judge: Reader, folder: Path | None) -> str:
    """Return a hash of reader, judge, right answer and agent folder: if it changes, the cache misses."""
    told_as = "" if folder is None else folder.name
    return hash_text(cell.reader.mark, judge.mark, _build_verdict(question, ""), told_as)


def _build_verdict(question: Question, given: str) -> str:
    right = question.answer if question.answerable and question.answer else "It cannot be known."
    return JUDGE.format(question=question.text, right=right, given=given)


async def _judge_answer(question: Question, given: Answered, judge: Reader, purse: Purse) -> Answered:
    verdict = await purse.ask(judge, _build_verdict(question, given.answer))
    cost = given.tokens + verdict.tokens
    return replace(given, correct=says_yes(verdict), tokens=cost, judged_by=verdict.model)


def says_yes(verdict: Reply) -> bool:
    """Return whether the judge's first word is yes."""
    words = verdict.text.casefold().split()
    return bool(words) and words[0].strip(".,!*\"'") == "yes"


def _summary(found: Sequence[Answered], asking: _Asking, *, clustered: bool) -> dict[str, Json]:
    cells: dict[str, list[Answered]] = {}
    for one in found:
        cells.setdefault(one.cell, []).append(one)
    return {
        "cells": {name: _cell(answers, asking) for name, answers in cells.items()},
        "treatment minus": dict(_differences(cells, clustered=clustered)),
    }


def _cell(answers: Sequence[Answered], asking: _Asking) -> dict[str, Json]:
    """Return the readers and the served models of a cell, its accuracy and its cost."""
    cost = sum(one.tokens for one in answers) + asking.told[answers[0].cell]
    return {
        "accuracy": round(sum(one.correct is True for one in answers) / len(answers), 4),
        "efficiency": round(sum(one.memory_share for one in answers) / len(answers), 4),
        "questions": len(_by_question(answers)),
        **_spread_seeds(answers, asking.grid.seeds),
        "reader": answers[0].reader,
        "served": sorted({one.served for one in answers if one.served}),
        "judge": answers[0].judge,
        "judged by": sorted({one.judged_by for one in answers if one.judged_by}),
        "tokens": cost,
        "cost": asking.purse.cost(cost),
    }


def _spread_seeds(answers: Sequence[Answered], seeds: int) -> dict[str, Json]:
    """Return the accuracy of each seed, their interval, and whether all seeds gave the same answers."""
    if seeds < 2:
        return {}
    shares = [fmean(one.correct is True for one in answers if one.seed == seed) for seed in range(seeds)]
    same = all(len({one.answer for one in asked}) == 1 for asked in _by_question(answers).values())
    return {"seeds": {**spread(shares).to_json(), "deterministic": same}}


def _by_question(answers: Sequence[Answered]) -> dict[tuple[str, str], list[Answered]]:
    """Return the answers to each question, one per seed."""
    results: dict[tuple[str, str], list[Answered]] = {}
    for one in answers:
        results.setdefault((one.case, one.question), []).append(one)
    return results


def _list_shares(answers: Sequence[Answered]) -> list[float]:
    """Return, for each question, the share of seeds with a correct answer."""
    return [fmean(one.correct is True for one in asked) for asked in _by_question(answers).values()]


def _differences(cells: dict[str, list[Answered]], *, clustered: bool) -> Iterator[tuple[str, Json]]:
    ours = _list_shares(cells.get(TREATMENT, ()))
    cases = [case for case, _ in _by_question(cells.get(TREATMENT, ()))] if clustered else None
    for name, answers in cells.items():
        if ours and name != TREATMENT:
            gap = compare.difference(ours, _list_shares(answers), cases)
            yield name, {key: round(value, 4) for key, value in asdict(gap).items()}


def _write_answer(place: Path, fresh: bool) -> dict[tuple[str | int, ...], Answered]:
    place.parent.mkdir(parents=True, exist_ok=True)
    if fresh or not place.is_file():
        shutil.rmtree(place.with_suffix(""), ignore_errors=True)  # folders of agents with their own memory
        place.write_text("", encoding="utf-8")
        return {}
    answers = [Answered(**json.loads(line)) for line in whole_lines(place)]
    return {one.key: one for one in answers}

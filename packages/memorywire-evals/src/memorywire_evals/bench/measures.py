"""The measures of the benchmark, each timed with its comparison."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from memorywire.client.memory import Memory
from memorywire.model.record import DEFAULT_TENANT
from memorywire.search.question import remove_names
from memorywire_evals.bench.reference_design import Codes, LinearStore
from memorywire_evals.bench.report import (
    ALONE,
    BARE,
    BOUND,
    FLUSH,
    PLAIN,
    REFERENCE,
    TENANT_ALONE,
    WHOLE,
    Latency,
    Rate,
)
from memorywire_evals.bench.stage import AGENT, SMALL_USER, Stage, kept, mint, store_url
from memorywire_evals.bench.timing import REST, WARM_UP, Spread, Step, side_by_side, spread, timed

Embed: TypeAlias = Callable[[str], bytes]

CLIENTS = 8
# Each client of the reference holds all vectors twice in memory during a recall.
MOST_FOR_LINEAR_CLIENTS = 200_000

SMALL_TENANT = "small"

_COLD_OPENINGS = 3


async def recall(stage: Stage) -> list[Latency]:
    """Measure recall with embedding and without, for questions from all over the store.

    The latter is also compared with the memory bandwidth: no exact scan of all vectors is faster.
    """
    count = stage.rounds + WARM_UP
    cold, known = stage.asked(count), stage.asked(count, turn=1)
    known = [f"{question} please" for question in known]  # so that they differ from the cold ones
    learned = _embed_all(known)
    await stage.vectors.learn(learned)
    codes = Codes(stage.size, stage.vectors.space.dimension)
    steps = {
        "ours": _ours_recall(stage.ours, cold),
        "ours known": _ours_recall(stage.ours, known),
        "linear known": _linear_recall(stage, known, stage.vectors.known),
        "bound": _plainly(codes.read),
    }
    if stage.reference is not None:
        steps["linear"] = _linear_recall(stage, cold, stage.reference.embed)
    fewer = dict.fromkeys(("linear", "linear known"), stage.scans)
    spreads = await side_by_side(stage.rounds, steps, fewer=fewer)
    stage.vectors.unlearn(learned)
    codes.close()
    without = "recall without embedding"
    return [
        _latency(stage, "recall", spreads["ours"], spreads.get("linear")),
        _latency(stage, without, spreads["ours known"], spreads["linear known"]),
        _latency(stage, without, spreads["ours known"], spreads["bound"], BOUND),
    ]


async def remember(stage: Stage) -> list[Latency]:
    """Measure remember with embedding and without, and bare inserts into a file on the same disk."""
    count = stage.rounds + WARM_UP
    cold, known = stage.fresh(count), stage.fresh(count)
    await stage.vectors.learn(known)
    steps = {
        "ours": _ours_remember(stage.ours, cold),
        "ours known": _ours_remember(stage.ours, known),
        "linear known": _linear_remember(stage, known, stage.vectors.known),
        "bare": _insert(stage.yardsticks.insert, known),
        "plain": _insert(stage.yardsticks.insert_plainly, known),
        "whole": _plainly(stage.yardsticks.insert_whole),
        "awaited": _await_insert(stage.yardsticks.insert, known),
        "flush": _plainly(stage.yardsticks.flush),
    }
    if stage.reference is not None:
        steps["linear"] = _linear_remember(stage, cold, stage.reference.embed)
    spreads = await side_by_side(stage.rounds, steps)
    stage.vectors.unlearn(known)
    without = "remember without embedding"
    return [
        _latency(stage, "remember", spreads["ours"], spreads.get("linear")),
        _latency(stage, without, spreads["ours known"], spreads["linear known"]),
        _latency(stage, without, spreads["ours known"], spreads["bare"], BARE),
        _latency(stage, without, spreads["ours known"], spreads["plain"], PLAIN),
        _latency(stage, without, spreads["ours known"], spreads["whole"], WHOLE),
        _latency(stage, without, spreads["ours known"], spreads["awaited"], "a bare insert on a thread"),
        _latency(stage, FLUSH, spreads["flush"], None),
    ]


async def recall_after_remember(stage: Stage) -> list[Latency]:
    """Measure the first recall that must see a new memory, and one without a new memory."""
    count = stage.rounds + WARM_UP
    new, questions = stage.fresh(count), stage.asked(count)
    learned = _embed_all([*new, *questions])
    await stage.vectors.learn(learned)
    ours = _ours_recall(stage.ours, questions)
    spreads = await side_by_side(
        stage.rounds,
        {"ours": ours, "as before": ours, "linear": _linear_recall(stage, questions, stage.vectors.known)},
        before={
            "ours": _ours_remember(stage.ours, new),
            "linear": _linear_remember(stage, new, stage.vectors.known),
        },
        fewer={"linear": stage.scans},
    )
    stage.vectors.unlearn(learned)
    measure = "first recall after a remember, without embedding"
    return [
        _latency(stage, measure, spreads["ours"], spreads["linear"]),
        _latency(stage, measure, spreads["ours"], spreads["as before"], "a recall with nothing new"),
    ]


async def filtered_recall(stage: Stage) -> list[Latency]:
    """Measure recall of a small user, and of the same user alone in a file; also for a small tenant."""
    asked = [fact.question for fact in stage.small]
    questions = [asked[at % len(asked)] for at in range(stage.rounds + WARM_UP)]
    contents = [fact.content for fact in stage.small]
    learned = _embed_all([*questions, *contents])
    await stage.vectors.learn(learned)
    async with (
        Memory(AGENT, [store_url(stage.folder, "alone")], embedder=stage.vectors) as alone,
        Memory(AGENT, [stage.url], tenant=SMALL_TENANT, embedder=stage.vectors) as tenant,
    ):
        for memory in (alone, tenant):
            given = [{"content": content, "user_id": SMALL_USER} for content in contents]
            for receipt in await memory.remember_many(given):
                kept(receipt)
        steps = {
            "ours": _ours_recall(stage.ours, questions, SMALL_USER),
            "linear": _linear_recall(stage, questions, stage.vectors.known, SMALL_USER),
            "alone": _ours_recall(alone, questions, SMALL_USER),
        }
        spreads = await side_by_side(stage.rounds, steps, fewer={"linear": stage.scans})
        # Without a scan in between, which would evict the processor's caches.
        steps = {"tenant": _ours_recall(tenant, questions), "tenant alone": _ours_recall(alone, questions)}
        spreads |= await side_by_side(stage.rounds, steps)
    stage.vectors.unlearn(learned)
    measure = f"recall of a user with {len(contents)}, without embedding"
    tenants = measure.replace("user", "tenant")
    return [
        _latency(stage, measure, spreads["ours"], spreads["linear"]),
        _latency(stage, measure, spreads["ours"], spreads["alone"], ALONE),
        _latency(stage, tenants, spreads["tenant"], spreads["tenant alone"], TENANT_ALONE),
    ]


async def cold_open(stage: Stage) -> list[Latency]:
    """Measure opening the file and the first recall; the file may still be in the page cache."""
    question = stage.questions[0]
    learned = _embed_all([question])
    await stage.vectors.learn(learned)
    steps = {
        "ours": _time_opening(stage, question, "ours"),
        "linear": _linear_opening(stage, question),
        "user": _time_opening(stage, question, "ours", user=SMALL_USER),
        "tenant": _time_opening(stage, question, "ours", SMALL_TENANT),
        "alone": _time_opening(stage, question, "alone"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(_COLD_OPENINGS):
        for name, step in steps.items():
            seconds[name].append(await timed(step, number, rest=REST))
    stage.vectors.unlearn(learned)
    few = len(stage.small)
    rows = (
        ("open and first recall", "ours", "linear", REFERENCE),
        (f"open and first recall of a user with {few}", "user", "alone", ALONE),
        (f"open and first recall of a tenant with {few}", "tenant", "alone", TENANT_ALONE),
    )
    return [
        _latency(stage, f"{measure}, without embedding", spread(seconds[mine]), spread(seconds[its]), against)
        for measure, mine, its, against in rows
    ]


async def clients(stage: Stage) -> tuple[list[Latency], list[Rate]]:
    """Measure several concurrent clients, embedding included."""
    each = max(1, stage.rounds // 4)
    questions, new = stage.asked(each * CLIENTS), stage.fresh(each * CLIENTS)
    recalled = await _together(each, _ours_recall(stage.ours, questions))
    remembered = await _together(each, _ours_remember(stage.ours, new))
    its_recalls = its_remembers = None
    if stage.reference is not None and stage.size <= MOST_FOR_LINEAR_CLIENTS:
        embed = stage.reference.embed
        its_recalls, its_remembers = await _linear_clients(stage, each, questions, new, embed)
    latencies, rates = [], []
    for verb, mine, its in (("recall", recalled, its_recalls), ("remember", remembered, its_remembers)):
        measure = f"{verb}, {CLIENTS} clients at once"
        latencies.append(_latency(stage, measure, mine[0], its and its[0]))
        rates.append(Rate(measure=measure, size=stage.size, ours=mine[1], other=its and its[1]))
    return latencies, rates


async def _linear_clients(
    stage: Stage, each: int, questions: Sequence[str], new: Sequence[str], embed: Embed
) -> tuple[tuple[Spread, float], tuple[Spread, float]]:
    stores = [LinearStore(stage.linear_path, mint()) for _ in range(CLIENTS)]

    def recall(number: int) -> None:
        stores[number // each].recall(AGENT, embed(questions[number]))

    def remember(number: int) -> None:
        stores[number // each].remember(AGENT, (new[number], None, embed(new[number])))

    recalled = await _together(each, lambda number: asyncio.to_thread(recall, number))
    remembered = await _together(each, lambda number: asyncio.to_thread(remember, number))
    for store in stores:
        store.close()
    return recalled, remembered


async def _together(each: int, step: Step) -> tuple[Spread, float]:
    """Run `each` steps in each client; return the latencies and the rate per second."""

    async def client(first: int) -> list[float]:
        return [await timed(step, number) for number in range(first, first + each)]

    started = time.perf_counter()
    samples = await asyncio.gather(*(client(at * each) for at in range(CLIENTS)))
    seconds = time.perf_counter() - started
    return spread([one for some in samples for one in some]), each * CLIENTS / seconds


def _embed_all(texts: Sequence[str]) -> list[str]:
    """Return all texts that a recall or a remember of these would embed, once each."""
    rests = (remove_names(text) for text in texts)
    return list(dict.fromkeys([*texts, *(rest for rest in rests if rest is not None)]))


def _latency(
    stage: Stage, measure: str, ours: Spread, other: Spread | None, against: str = REFERENCE
) -> Latency:
    return Latency(measure=measure, size=stage.size, ours=ours, other=other, against=against)


def _ours_recall(memory: Memory, questions: Sequence[str], user: str | None = None) -> Step:
    def step(number: int) -> Awaitable[object]:
        return memory.recall(questions[number], user_id=user, scope="all" if user is None else "user")

    return step


def _time_opening(
    stage: Stage, question: str, name: str, tenant: str = DEFAULT_TENANT, user: str | None = None
) -> Step:
    async def step(number: int) -> None:
        url = store_url(stage.folder, name)
        async with Memory(AGENT, [url], tenant=tenant, embedder=stage.vectors) as memory:
            await memory.recall(question, user_id=user, scope="all" if user is None else "user")

    return step


def _linear_opening(stage: Stage, question: str) -> Step:
    async def step(number: int) -> None:
        with LinearStore(stage.linear_path, mint()) as store:
            store.recall(AGENT, stage.vectors.known(question))

    return step


def _ours_remember(memory: Memory, contents: Sequence[str]) -> Step:
    async def step(number: int) -> None:
        kept(await memory.remember(contents[number]))

    return step


def _linear_recall(stage: Stage, questions: Sequence[str], embed: Embed, user: str | None = None) -> Step:
    async def step(number: int) -> None:
        stage.linear.recall(AGENT, embed(questions[number]), user=user)

    return step


def _linear_remember(stage: Stage, contents: Sequence[str], embed: Embed) -> Step:
    async def step(number: int) -> None:
        stage.linear.remember(AGENT, (contents[number], None, embed(contents[number])))

    return step


def _insert(insert: Callable[[str], None], contents: Sequence[str]) -> Step:
    async def step(number: int) -> None:
        insert(contents[number])

    return step


def _await_insert(insert: Callable[[str], None], contents: Sequence[str]) -> Step:
    """Insert on a thread, as a server must, whose event loop must not wait for a disk."""

    async def step(number: int) -> None:
        await asyncio.to_thread(insert, contents[number])

    return step


def _plainly(work: Callable[[], None]) -> Step:
    async def step(number: int) -> None:
        work()

    return step

"""The sixteen scenarios of the paper, by name, with the five operations on any store.

Each checks at least what the paper checks; an answer without hits fails.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any

from msgspec import Struct

from memorywire.client.memory import Memory
from memorywire.model.answers import Recalled, Status
from memorywire.model.capabilities import Feature
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.stores.contract import Store, SupportsHistory, Tracker
from memorywire_testing.expect import Broken, find_checks, holds, must_refuse, same
from memorywire_testing.report import Report, attempt
from memorywire_testing.samples import HandClock, WordEmbedder, a_name

GROUP = "paper"


class Stage(Struct, frozen=True, kw_only=True):
    """The memory of a new agent, its store and the clock; requests are for the user alice."""

    memory: Memory
    store: Store
    clock: HandClock

    async def tell(self, *facts: str, **options: Any) -> list[str]:
        arguments: dict[str, Any] = {"user_id": "alice", **options}
        return [(await self.memory.remember(fact, **arguments)).id for fact in facts]

    async def ask(self, query: str, k: int = 5, **options: Any) -> Recalled:
        arguments: dict[str, Any] = {"user_id": "alice", "min_relevance": "off", **options}
        return await self.memory.recall(query, k=k, **arguments)

    async def texts(self, query: str, k: int = 5, **options: Any) -> list[str]:
        return [str(hit.content).lower() for hit in await self.ask(query, k, **options)]


async def basic_remember_recall(stage: Stage) -> None:
    await stage.tell("The capital of France is Paris.")
    holds(any("paris" in text for text in await stage.texts("capital France", 3)), "Paris was not recalled")


async def remember_recall_by_user_filter(stage: Stage) -> None:
    await stage.tell("My favorite color is blue.")
    await stage.tell("My favorite color is purple.", user_id="bob")
    same(await stage.texts("favorite color"), ["my favorite color is blue."])


async def type_filter(stage: Stage) -> None:
    await stage.tell("Tea is a drink.")
    await stage.tell("We drank tea on Monday.", type="episodic")
    results = await stage.ask("tea", types=["semantic"])
    same([hit.record.type.value for hit in results], ["semantic"])


async def forget_by_ids(stage: Stage) -> None:
    facts = ["Ana has a red bike.", "Ben has a blue car.", "Cleo has a green boat."]
    ids = await stage.tell(*facts, "Dario has a grey van.")
    await stage.memory.forget(ids[:3], user_id="alice")
    same(await stage.texts("who has a bike, a car, a boat or a van?"), ["dario has a grey van."])


async def _call(stage: Stage, operation: str, **payload: object) -> None:
    await stage.memory.call(operation, {"agent_id": stage.memory.agent_id, **payload})


async def forget_no_scope_raises(stage: Stage) -> None:
    await must_refuse(_call(stage, "forget"), InvalidRequest)


async def expire_empty_policy_raises(stage: Stage) -> None:
    await must_refuse(_call(stage, "expire"), InvalidRequest)


async def expire_empty_policy_object_raises(stage: Stage) -> None:
    await must_refuse(_call(stage, "expire", policy={}), InvalidRequest)


async def expire_by_age(stage: Stage) -> None:
    await stage.tell("The ancient news is stale.")
    stage.clock.now += 365 * DAY_MS
    await stage.tell("The fresh news is crisp.")
    await stage.memory.expire({"older_than_days": 180}, user_id="alice")
    same(await stage.texts("news"), ["the fresh news is crisp."])


async def merge_keep_canonical(stage: Stage) -> None:
    first, *others = await stage.tell(*(f"A duplicate of the same fact, told {n} times." for n in range(3)))
    await stage.memory.merge(first, others, user_id="alice")
    same([hit.id for hit in await stage.ask("duplicate fact", 10)], [first])


async def approval_required_pending(stage: Stage) -> None:
    receipt = await stage.memory.remember("The vault opens at nine.", user_id="alice", approval_required=True)
    same((receipt.status, receipt.pending_approval), (Status.STAGED, True))
    same(await stage.texts("vault"), [])


async def capabilities_declared(stage: Stage) -> None:
    wired = await stage.memory.capabilities()
    holds(bool(wired.stores), "no store is declared")
    holds(wired.features <= frozenset(Feature), "an unknown feature is declared")


async def health_returns_status(stage: Stage) -> None:
    holds((await stage.memory.health())["ok"] is True, "the store says it is not fit for use")


async def isinstance_protocol(stage: Stage) -> None:
    store = stage.store
    holds(isinstance(store.name, str) and store.name != "", "the store has no name")
    is_set = isinstance(store.features, frozenset) and store.features <= frozenset(Feature)
    holds(is_set, "its features are not a frozenset of Feature")
    for name, verb in _VERBS.items():
        method = getattr(store, name, None)
        if not iscoroutinefunction(method):
            raise Broken(f"{name} is no async method of the store")
        wanted = list(signature(verb).parameters)[1:]
        takes = signature(method).parameters
        holds(list(takes)[: len(wanted)] == wanted, f"{name} takes {list(takes)}, not {wanted}")
        further = [takes[extra] for extra in list(takes)[len(wanted) :]]
        holds(not any(_is_required(extra) for extra in further), f"{name} asks for more than {wanted}")
    for feature, ability in _ABILITIES.items():
        keeps_word = feature not in store.features or isinstance(store, ability)
        holds(keeps_word, f"it promises {feature} without the methods of {ability.__name__}")


_VERBS = {name: verb for name, verb in vars(Store).items() if iscoroutinefunction(verb)}
_ABILITIES = {Feature.HISTORY: SupportsHistory, Feature.RECALL_TRACKING: Tracker}


def _is_required(parameter: Parameter) -> bool:
    variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and parameter.kind not in variadic


async def recall_returns_score_metadata(stage: Stage) -> None:
    await stage.tell("Kettles whistle.", metadata={"room": "kitchen"}, source="chat")
    (hit,) = await stage.ask("kettles", 3)
    holds(hit.score > 0, "a hit has no score")
    same((hit.record.metadata, hit.record.source), ({"room": "kitchen"}, "chat"))
    holds(bool(hit.stores), "a hit does not say which store returned it")


async def fresher_than_days_filter(stage: Stage) -> None:
    await stage.tell("Ancient news from the archive.")
    stage.clock.now += 90 * DAY_MS
    await stage.tell("Fresh news from the press.")
    same(await stage.texts("news", fresher_than_days=30), ["fresh news from the press."])


async def multi_remember_then_recall(stage: Stage) -> None:
    ids = await stage.tell(*(f"Fact number {number} is about gardens." for number in range(10)))
    same(sorted(hit.id for hit in await stage.ask("gardens", 10)), sorted(ids))


SCENARIOS: Sequence[Callable[[Stage], Awaitable[None]]] = find_checks(sys.modules[__name__])


async def play(open_store: Callable[[], Awaitable[Store]]) -> Report:
    """Run the sixteen scenarios, each with a new agent."""
    results = []
    name = "unknown"
    for scenario in SCENARIOS:
        store, clock = await open_store(), HandClock()
        name = store.name
        async with Memory(
            a_name("agent"), [store], embedder=WordEmbedder(), policy="open", clock=clock
        ) as memory:
            stage = Stage(memory=memory, store=store, clock=clock)
            results.append(await attempt(scenario.__name__, partial(scenario, stage), GROUP))
    return Report(store=name, results=tuple(results))

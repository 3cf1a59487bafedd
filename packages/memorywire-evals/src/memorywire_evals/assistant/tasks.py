"""Measures the memories for a task: by `memory.context`, or by plain recall with the same budget."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from memorywire.client.memory import Memory
from memorywire.model.answers import Hit
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.requests import MinRelevance
from memorywire_evals import metrics
from memorywire_evals.assistant.data import Note, Person, Prompt

BUDGET = 256
_USER = "someone"
_BEGIN_MS = 1_780_000_000_000


class Block(Struct, frozen=True, kw_only=True):
    """The block for a prompt: the ids of its memories, and its number of tokens."""

    ids: tuple[str, ...] = ()
    tokens: int = 0


Ask = Callable[[Memory, str], Awaitable[Block]]


class Answer(Struct, frozen=True, kw_only=True):
    """A prompt of a person and its block; `prompt` is None for an unrelated one."""

    person: Person
    text: str
    block: Block
    prompt: Prompt | None = None


def score(answers: Sequence[Answer]) -> dict[str, float]:
    """Return the figures of the set."""
    related = [(answer, answer.prompt) for answer in answers if answer.prompt is not None]
    unrelated = [answer.block.tokens for answer in answers if answer.prompt is None]
    helped = [_share_of(answer.block.ids, prompt.helps or prompt.constrains) for answer, prompt in related]
    bearing = [name in answer.block.ids for answer, prompt in related for name in prompt.constrains]
    useful = sum(_useful_tokens(answer, prompt) for answer, prompt in related)
    memory_tokens = sum(_tokens(answer, answer.block.ids) for answer, _ in related)
    outdated = [any(_note(answer, name).outdated for name in answer.block.ids) for answer, _ in related]
    return {
        "helpful": _mean([float(share > 0) for share in helped]),
        "helpful share": _mean(helped),
        "constraints": _mean([float(is_there) for is_there in bearing]),
        "useful tokens": useful / max(1, sum(answer.block.tokens for answer, _ in related)),
        "useful tokens of memories": useful / max(1, memory_tokens),
        "outdated": _mean([float(is_there) for is_there in outdated]),
        "tokens": _mean([float(answer.block.tokens) for answer, _ in related]),
        "over budget": sum(answer.block.tokens > BUDGET for answer in answers),
        "unrelated tokens": _mean([float(count) for count in unrelated]),
        "unrelated tokens, most": max(unrelated, default=0),
        "prompts": len(related),
        "unrelated prompts": len(unrelated),
    }


def rows(answers: Sequence[Answer]) -> list[dict[str, Json]]:
    """Return each prompt with its memories, the missing ones and the useless ones."""
    return [_row(answer) for answer in answers]


def _row(answer: Answer) -> dict[str, Json]:
    prompt = answer.prompt or Prompt(text=answer.text)
    labelled = {*prompt.helps, *prompt.constrains}
    there = answer.block.ids
    return {
        "person": answer.person.id,
        "prompt": answer.text,
        "tokens": answer.block.tokens,
        "block": list(there),
        "helpful missing": [_note(answer, name).text for name in prompt.helps if name not in there],
        "constraint missing": [_note(answer, name).text for name in prompt.constrains if name not in there],
        "in the way": [_note(answer, name).text for name in there if name not in labelled],
        "has help": _share_of(there, prompt.helps or prompt.constrains) > 0,
    }


def _note(answer: Answer, name: str) -> Note:
    return next(note for note in answer.person.memories if note.id == name)


def _tokens(answer: Answer, names: Sequence[str]) -> int:
    return sum(metrics.tokens(_note(answer, name).text) for name in names)


def _useful_tokens(answer: Answer, prompt: Prompt) -> int:
    labelled = {*prompt.helps, *prompt.constrains}
    return _tokens(answer, [name for name in answer.block.ids if name in labelled])


def _share_of(there: Sequence[str], wanted: Sequence[str]) -> float:
    return sum(name in there for name in wanted) / len(wanted) if wanted else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


async def store_notes(person: Person, memory: Memory) -> None:
    """Remember the notes in order of time, a day apart; shared ones belong to the agent."""
    items = [
        {
            "id": f"{person.id}:{note.id}",
            "content": note.text,
            "occurred_at": _BEGIN_MS + place * DAY_MS,
            **({} if note.shared else {"user_id": _USER}),
        }
        for place, note in enumerate(person.memories)
    ]
    for item, result in zip(items, await memory.remember_many(items), strict=True):
        if getattr(result, "id", None) != item["id"]:
            raise InvalidRequest(f"{item['id']} was not kept: {result}", field="part")


def moment_after(person: Person) -> int:
    """Return the time a day after the newest note."""
    return _BEGIN_MS + len(person.memories) * DAY_MS


async def ask_all(person: Person, memory: Memory, ask: Ask) -> list[Answer]:
    """Ask all prompts of the person, unrelated ones last."""
    notes = {note.id for note in person.memories}

    async def answer(text: str, prompt: Prompt | None = None) -> Answer:
        block = await ask(memory, text)  # some lines are not memories, such as rules
        known = Block(ids=tuple(name for name in block.ids if name in notes), tokens=block.tokens)
        return Answer(person=person, text=text, block=known, prompt=prompt)

    related = [await answer(prompt.text, prompt) for prompt in person.prompts]
    unrelated = [await answer(text) for text in person.unrelated]
    return [*related, *unrelated]


async def ask_context(memory: Memory, text: str) -> Block:
    """Return the block that `context` renders."""
    context = getattr(memory, "context", None)
    if context is None:
        raise InvalidRequest(
            "this version of memorywire has no context", field="baseline", fix="pass --baseline recall"
        )
    block = await context(text, budget=BUDGET, user_id=_USER)
    ids = [line.id for line in block.lines if line.id]
    return Block(ids=tuple(dict.fromkeys(name.rpartition(":")[2] for name in ids)), tokens=block.tokens)


async def ask_recall(memory: Memory, text: str, *, min_relevance: MinRelevance = "auto") -> Block:
    """Return the memories of user and agent by plain recall, best first, packed into the budget."""
    best: dict[str, Hit] = {}
    users = await memory.recall(text, min_relevance=min_relevance, user_id=_USER)
    agents = await memory.recall(text, min_relevance=min_relevance)
    for hit in (*users, *agents):
        best.setdefault(hit.id, hit)
    ranking = sorted(best.values(), key=lambda hit: (-hit.score, hit.id))
    sizes = {hit.id: metrics.tokens(str(hit.content)) for hit in ranking}
    ids = metrics.packed([hit.id for hit in ranking], sizes, BUDGET)
    return Block(ids=tuple(name.rpartition(":")[2] for name in ids), tokens=sum(sizes[name] for name in ids))


async def ask_recall_without_floor(memory: Memory, text: str) -> Block:
    return await ask_recall(memory, text, min_relevance="off")

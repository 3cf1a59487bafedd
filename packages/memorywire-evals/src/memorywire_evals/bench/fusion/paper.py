"""The paper's own experiment: two honest stores that see everything, one rogue with K poisons on top."""

from collections.abc import Iterator

from msgspec import Struct

from memorywire_evals.bench.fusion.attacks import invented
from memorywire_evals.bench.fusion.sweep import DEFENCES, Tally, join
from memorywire_evals.bench.fusion.world import DEPTH, World

KS = (1, 3, 5, 10, 15, 20)


class Row(Struct, frozen=True, kw_only=True):
    """What a defence let through of K poisons."""

    poisons: int
    defence: str
    recall: float
    leak: float


def experiment(world: World) -> Iterator[Row]:
    for poisons in KS:
        for defence in DEFENCES:
            tally = Tally()
            for asked in world.questions:
                honest = list(asked.ranking[:DEPTH])
                answers = {"rogue": invented(honest, poisons), "one": honest, "two": honest}
                tally.count(join(answers, defence, 1, asked, world), asked)
            questions = len(world.questions)
            yield Row(
                poisons=poisons,
                defence=defence.name,
                recall=tally.recall / questions,
                leak=tally.leak / questions,
            )

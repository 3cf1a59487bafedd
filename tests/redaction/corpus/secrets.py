"""The sentences with a secret, drawn from a seed."""

from collections.abc import Sequence
from random import Random

from tests.redaction.corpus import held_out, kinds, later
from tests.redaction.corpus.shapes import Kind, Sample, draw


def written_for(each: int, seed: int = 1) -> list[Sample]:
    """Sentences of the kinds that rules were written for, `each` of every kind."""
    random = Random(seed)
    issued = _sentences(kinds.KINDS, kinds.TELLING, kinds.NAMED, each, random)
    placed = [
        _placed(name, shape, places[at % len(places)], random)
        for name, (shape, places) in kinds.PLACES.items()
        for at in range(each)
    ]
    return issued + placed


def held_out_kinds(each: int, seed: int = 2) -> list[Sample]:
    """Sentences of the kinds no rule names."""
    return _sentences(held_out.KINDS, held_out.TELLING, held_out.NAMED, each, Random(seed))


def later_kinds(each: int, seed: int = 5) -> list[Sample]:
    """Sentences of the kinds chosen when the rules were done."""
    return _sentences(later.KINDS, held_out.TELLING, held_out.NAMED, each, Random(seed))


def _sentences(
    every: Sequence[Kind], telling: Sequence[str], named: Sequence[str], each: int, random: Random
) -> list[Sample]:
    samples = []
    for kind in every:
        templates = telling if kind.telling else named
        for at in range(each):
            secret = draw(kind.shape, random)
            words = templates[at % len(templates)]
            text = words.format(issuer=kind.issuer, variable=kind.variable, secret=secret)
            samples.append(Sample(kind.name, text, secret))
    return samples


def _placed(name: str, shape: str, place: str, random: Random) -> Sample:
    secret = draw(shape, random)
    return Sample(name, place.format(secret=secret), secret)

"""How relevant a memory is to a query: the formulas every store ranks by.

Evidence is absolute. It is made of the cosine of the vectors and of the share of the query's term
weight (BM25) that a memory earns; statistics are taken over the memories the query may see, never
over the whole store, so a tenant's scores do not depend on who shares the file.
"""

import math

K1 = 0.9
B = 0.6

# Fitted on the development split of conversations; see docs/decisions/0006.
TEXT_WEIGHT = 2.0
TEXT_POWER = 1.5
COSINE_POWER = 2.0
SLOPE = 10.0
MIDDLE = 0.4
BEND = 0.95
_BEND_WEIGHT = MIDDLE + math.log(BEND / (1 - BEND)) / SLOPE

NEIGHBOURS = ((1, 0.3), (2, 0.15))
"""What the turns around a turn of the same session lend it: (distance, share of their evidence)."""

MACHINE_SAID = 0.5
"""The factor for an assistant's words, which tell what it said rather than what is so. They borrow nothing:
beside evidence there is always an answer to it, mostly a long one."""

MACHINE_LENDS = 0.5
"""The share that an assistant's turn lends: it repeats what was asked, not what was told in passing."""

BRIEF = 80
LENGTHY = 400
"""A memory of more than `BRIEF` index terms says much beside what is asked. With `LENGTHY` terms more it
counts half, and never less; what it lends stays the same."""

ASKING = 0.5
"""A question among people tells little, but stands beside its answer: a turn that only asks counts this share
less, and lends this share more."""

IN_TIME = 1.3
AGO = 2.0
"""`IN_TIME` is the factor for a memory of the time that the query names. `AGO` is that factor where the query
counts back from now: only the time tells such a memory from others, as no memory of that day says "two weeks
ago"."""

SPOKE = 1.5
"""The factor for words of somebody whom the query names."""

TOP = 50
"""How many of the best take part when near ties are settled in favour of the newer."""

NEAR_TIE = 0.7
SAME_TERMS = 0.8
TERMS_COVERED = 0.35
ALIKE = 0.5
"""Two memories answer the same question when both cover `TERMS_COVERED` of its term weight, share
`SAME_TERMS` of those terms and have a cosine of `ALIKE`. The newer wins if it has at least `NEAR_TIE` of the
older one's evidence."""

LEADERS = 2
LEADERS_TIE = 0.4
LEADERS_SAME_TERMS = 0.6
"""The same between the best turns of the two best sessions, where less is asked: a turn says much beside what
it answers."""

FULLER = 0.2
"""What it counts, between the two best sessions, that the turns of one hold more of the query's term weight:
the words of a question are spread over a conversation."""

TIE_MARGIN = 1e-9
"""The margin by which the newer of two such memories is put ahead."""

REVISES = (1.0, 0.4, 0.3)
"""From which cosine on a newer fact may be the new value of an older one: by how clearly it tells of a change
(not at all, somehow, that something holds now), which has to be clearer than the older one does. Both have
to be nearest to each other."""

REWORDED = 0.76
"""From this cosine on, two facts are worded alike rather than one the new value of the other."""

REVISED = 5
REVISABLE = 256
"""How many of the best facts may get a new value that is ranked before them; and among how many memories at
most: of more, the best few do not show what is nearest to what."""

EXACT_MARGIN = 0.05
"""The margin by which a memory that is worded as the query is put ahead of all others."""


def idf(documents: int, containing: int) -> float:
    """BM25's weight of a term that `containing` of `documents` memories hold; never negative."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def saturation(count: float, length: float, average: float) -> float:
    """How much of a term's weight a memory earns: 0..1, less for long memories."""
    return count / (count + K1 * (1 - B + B * length / average)) if count else 0.0


def evidence(cosine: float, share: float) -> float:
    """What vector and text say for a memory, together."""
    return float(max(cosine, 0.0) ** COSINE_POWER + TEXT_WEIGHT * share**TEXT_POWER)


def brevity(length: float) -> float:
    """What a memory of so many index terms counts: 1 for a brief one, down to a half for a long one."""
    return 1 / (1 + min(max(length - BRIEF, 0) / LENGTHY, 1))


def relevance(weight: float) -> float:
    """Evidence as a calibrated 0..1, which never gets to 1: what fits better always has more.

    A logistic curve up to `BEND`. Above, where floors and verdicts have nothing to decide, it goes on from
    there as a hyperbola, because the logistic curve would be all ones to the digits that people see.
    """
    if weight > _BEND_WEIGHT:
        return 1 - (1 - BEND) / (1 + SLOPE * BEND * (weight - _BEND_WEIGHT))
    return 1 / (1 + math.exp(-SLOPE * (weight - MIDDLE)))


def weight(relevance: float) -> float:
    """The evidence that has this relevance, which is more than 0 and less than 1."""
    if relevance > BEND:
        return _BEND_WEIGHT + ((1 - BEND) / (1 - relevance) - 1) / (SLOPE * BEND)
    return MIDDLE + math.log(relevance / (1 - relevance)) / SLOPE

"""How relevant a memory is to a query: the formulas every store ranks by.

Evidence is absolute. It is made of the cosine of the vectors and of the share of the query's term
weight (BM25) that a memory earns; statistics are taken over the memories the query may see, never
over the whole store, so a tenant's scores do not depend on who shares the file.

Words one by one
----------------
One vector for a whole memory blurs what it says: "my pup chewed the rug" is near to a question about
carpets and a little near to one about dogs. The embedder also gives a direction for every token. For each
token of the query the nearest token of the memory is looked up (MaxSim), and the cosines are averaged, a
rare word counting more than a common one. That is the *word match*, about 0.4 for unrelated texts and 0.7
for an answer.

It adds to the evidence of the best candidates (`TOP` of them, or as many as are asked for), times the factors
of their other evidence: an assistant's words and questions count less, the words of whom the query names
more. A poor match takes nothing away: a memory that helps with a task need not answer its words. A memory
without tokens ranks as before.

Numbers, identifiers, months and days are compared exactly, by the text index, and count nothing here: any
year is near any other. Both rankers call `match_words`, and all products are whole numbers below 2**24,
so float32 sums of them are exact in any order and the rankers agree to the last bit.

Measured on the sets for development (docs/results/late-2026-11-18.md). Tried and left out: the weight of
a term itself instead of its root (less on BEAM); matches in place of the cosine (less on facts); a
loss for poor matches (less on PrefEval's tasks); 48 and 96 bytes a token.
"""

import math
from collections.abc import Mapping, Sequence
from operator import mul

from msgspec import Struct

from memorywire.model.query import QueryTokens
from memorywire.search.text import word_terms

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

SIDES = (-1, 1)
NEIGHBOURS = ((1, 0.3), (2, 0.15))
"""What the turns around a turn of the same session lend it: (distance, share of their evidence) on each side;
where there is a turn on one side only, it lends for both."""

LOAN_DIGITS = 9
"""Loans are rounded to so many digits, so that turns with mirrored neighbours tie. With more digits, sums
that differ only in their last bit would more often be rounded to two numbers."""

MACHINE_SAID = 0.5
"""The factor for an assistant's words, which tell what it said rather than what is so, unless the question
asks for what it said. They borrow nothing: beside evidence there is always an answer to it, mostly a long
one."""

MACHINE_LENDS = 0.5
"""The share that an assistant's turn lends: it repeats what was asked, not what was told in passing."""

BRIEF = 80
LENGTHY = 400
"""A memory of more than `BRIEF` index terms holds many by chance. With `LENGTHY` terms more, those that it
shares with the query count half, and never less; what its vector and its words say counts in full."""

ASKING = 0.5
"""A question among people tells little, but stands beside its answer: a turn that only asks counts this share
less, and lends this share more."""

IN_TIME = 1.3
AGO = 2.0
"""`IN_TIME` is the factor for a memory of the time that the query names. `AGO` is that factor where the query
counts back from now: only the time tells such a memory from others, as no memory of that day says "two weeks
ago"."""

SPOKE = 1.7
"""The factor for words of a speaker whom the query names.

It is one of the weights that `tools/fit_fusion.py` compares on the development parts of all sets."""

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
LEADERS_WORDS = 0.05
"""The same between the best turns of the two best sessions, where less is asked: a turn says much beside what
it answers. But the newer must match the words of the query, one by one, as well as the older, or less by
`LEADERS_WORDS` at most."""

TIE_MARGIN = 1e-9
"""The margin by which the newer of two such memories is put ahead."""

REWORDED = 0.76
"""From this cosine on, two facts are worded alike rather than one the new value of the other."""

REVISABLE = 256
CENTRE = 10
NEAR = 0.2
SHORT = 1e-4
DIGITS = 5
"""A new value is guessed among so many memories at most: of more, the best few do not show what is nearest to
what. Facts are compared by cosines from their mean, which counts half with `CENTRE` facts; what is so `SHORT`
has no direction. A fact and its new value are at least so `NEAR`. `DIGITS` are alike in all stores."""

NEW_VALUE = {
    "bias": -2.464,
    "crowd": 4.393,  # how much nearer to the older one another fact is, as a negative number: many are alike
    "answers": 2.921,  # root of the share of the older one's evidence that the newer one has
    "changes": 1.533,  # whether the newer one tells of a change
    "changed": -0.56,  # whether the older one does
    "longer": 2.663,  # logarithm of the ratio of their lengths
}
"""What each input counts in the logarithm of the odds that a newer fact is the new value of an older one;
`tools/fit_revisions.py` prints the numbers."""

EXACT_MARGIN = 0.05
"""The margin by which a memory that is worded as the query is put ahead of all others."""


def idf(documents: int, containing: int) -> float:
    """BM25's weight of a term that `containing` of `documents` memories hold; never negative."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def saturation(count: float, length: float, average: float) -> float:
    """How much of a term's weight a memory earns: 0..1, less for long memories."""
    return count / (count + K1 * (1 - B + B * length / average)) if count else 0.0


def evidence(cosine: float, share: float, brevity: float = 1.0) -> float:
    """What vector and text say for a memory, together."""
    return float(max(cosine, 0.0) ** COSINE_POWER + TEXT_WEIGHT * share**TEXT_POWER * brevity)


class Fact(Struct, frozen=True):
    """One of the facts that are compared with the first, how `near` it is to that, and its index terms."""

    id: str
    near: float
    weight: float
    length: int
    changes: bool
    may_follow: bool  # it is later, of the same owner, and lacks nothing that tells them apart


def measure_new_values(facts: Sequence[Fact]) -> dict[int, tuple[float, ...]]:
    """The inputs of `NEW_VALUE` for the first fact and each one that may follow it, by its index."""
    older, pairs = facts[0], dict[int, tuple[float, ...]]()
    nearest = max([fact.near for fact in facts[1:]], default=0.0)
    for index, fact in enumerate(facts):
        if fact.may_follow and fact.near >= NEAR:
            answers = math.sqrt(min(max(fact.weight / older.weight, 0.0), 1.0))
            longer = math.log((fact.length + 1) / (older.length + 1))
            pairs[index] = (1.0, fact.near - nearest, answers, fact.changes, older.changes, longer)
    return pairs


def find_new_value(facts: Sequence[Fact]) -> tuple[int, float] | None:
    """The index of the fact that is most likely the new value of the first, and the chance that it is; None
    if that is less than a half.
    """
    best: tuple[float, str, int] = (0.0, "", -1)
    for index, inputs in measure_new_values(facts).items():
        score = round(sum(map(mul, NEW_VALUE.values(), inputs)), DIGITS)
        best = max(best, (score, facts[index].id, index))
    return (best[2], 1 / (1 + math.exp(-best[0]))) if best[0] > 0 else None


def brevity(length: float) -> float:
    """What a term counts in a memory of so many: 1 in a brief one, down to a half in a long one."""
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


WORD_MATCH = 1.25
WORD_FLOOR = 0.48
"""A word match adds to the evidence of a memory what it is above `WORD_FLOOR`, times `WORD_MATCH`. Below it
takes nothing: what helps with a task need not answer its words."""

COMMON = 0.3
"""The weight of a word that is not a term of the query: stop words, and words of boilerplate."""

WIDTH, STEPS = 64, 127  # of a token: as `memorywire_minilm.TOKEN` and `TOKEN_STEPS`

_DATES = frozenset(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday".split()
)


def is_compared_exactly(word: str) -> bool:
    """Whether a word of a query counts nothing in the word match: numbers, identifiers, months and days."""
    return not word.isalpha() or word in _DATES


def weigh_words(words: Sequence[str], term_weights: Mapping[str, float]) -> list[float]:
    """What each word of a query counts, by the weights of the query's terms.

    Nothing, if none of its terms is among them: any text has an "it".
    """
    weights = []
    for word in words:
        weight = 0.0
        if not is_compared_exactly(word):
            known = [term_weights[term] for term in word_terms(word) if term in term_weights]
            weight = math.sqrt(max(known)) if known else COMMON
        weights.append(weight)
    return weights if any(weight > COMMON for weight in weights) else [0.0] * len(words)


def match_words(
    query: QueryTokens, weights: Sequence[float], memories: Sequence[bytes | None]
) -> list[float | None]:
    """The word match of each memory, by its tokens; None for one without tokens."""
    import numpy as np  # loaded for the first search

    matches: list[float | None] = [None] * len(memories)
    known = [at for at, tokens in enumerate(memories) if tokens and not len(tokens) % WIDTH]
    counted = [at for at, weight in enumerate(weights) if weight > 0]
    if not known or not counted:
        return matches
    matrix = np.frombuffer(query.matrix, np.int8).reshape(-1, WIDTH)[counted].astype(np.float32)
    parts = [memories[at] or b"" for at in known]
    rows = np.frombuffer(b"".join(parts), np.int8).reshape(-1, WIDTH).astype(np.float32)
    starts = np.cumsum([0, *(len(part) // WIDTH for part in parts[:-1])])
    nearest = np.maximum.reduceat(matrix @ rows.T, starts, axis=1)
    total, sums = 0.0, np.zeros(len(known))
    for products, at in zip(nearest, counted, strict=True):
        sums += weights[at] * products.astype(np.float64)
        total += weights[at]
    for at, match in zip(known, (sums / (total * STEPS * STEPS)).tolist(), strict=True):
        matches[at] = match
    return matches


def evidence_of_words(match: float | None) -> float:
    """What a word match adds to the evidence of a memory."""
    return 0.0 if match is None else WORD_MATCH * max(match - WORD_FLOOR, 0.0)


def answers_as_well(newer: float | None, older: float | None) -> bool:
    """Whether the word match of a newer turn is little below that of an older one, or one is unknown."""
    return newer is None or older is None or newer >= older - LEADERS_WORDS


def read_tokens(vector: bytes | None) -> bytes | None:
    """The tokens that a vector of the default embedder has beside it (`memorywire_minilm.Reading`)."""
    return getattr(vector, "tokens", None) or None


def read_query_tokens(vector: bytes) -> QueryTokens | None:
    """The same of a query, with the word that each is of."""
    tokens: bytes | None = getattr(vector, "tokens", None)
    return QueryTokens(tuple(getattr(vector, "words", ())), tokens) if tokens else None

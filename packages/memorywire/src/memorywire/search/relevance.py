"""The relevance of a memory to a query: the formulas by which every store ranks.

Evidence is absolute. It combines the cosine of the vectors with the share of the query's term
weight (BM25) that a memory earns; statistics cover the memories the query may see, never the
whole store, so a tenant's scores do not depend on the other tenants of the file.

Word match
----------
One vector for a whole memory loses detail: "my pup chewed the rug" is similar to a question about
carpets and less similar to one about dogs. The embedder also returns a direction for every token. For each
token of the query, the nearest token of the memory is found (MaxSim), and the cosines are averaged; rare
words have more weight than common ones. That is the *word match*, about 0.4 for unrelated texts and 0.7 for
an answer.

It adds to the evidence of the best candidates (`TOP` of them, or `limit` if it is more), times the factors
of their other evidence: an assistant's words and questions count less, those of a speaker whom the query
names count more. A poor match subtracts nothing: a memory that helps with a task need not match its words.
A memory without tokens ranks without it.

Numbers, identifiers, months and days are compared exactly, by the text index, and are ignored here, because
all years are similar. Both rankers call `match_words`, and all products are integers below 2**24, so
float32 sums of them are exact in any order and the rankers agree to the last bit.

Measured on the development sets (docs/results/late-2026-11-18.md). Tried and rejected: the weight of
a term instead of its root (worse on BEAM); matches in place of the cosine (worse on facts); a
penalty for poor matches (worse on PrefEval's tasks); 48 and 96 bytes a token.
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
"""The evidence that a turn gains from turns of its session: (distance, share of their evidence) on each side;
a turn that exists on one side only counts for both."""

LOAN_DIGITS = 9
"""Evidence from neighbours is rounded to this many digits, so that turns with mirrored neighbours tie. With
more digits, sums that differ only in their last bit would more often be rounded to two numbers."""

MACHINE_SAID = 0.5
"""The factor for an assistant's words, which are not facts about the user, unless the question asks for what
the assistant said. They gain nothing from neighbours: every turn with evidence has an answer next to it,
mostly a long one."""

MACHINE_LENDS = 0.5
"""The share that an assistant's turn gives: it repeats the question, not what was mentioned in passing."""

BRIEF = 80
LENGTHY = 400
"""A memory with more than `BRIEF` index terms has many by chance. With `LENGTHY` terms more, those that it
shares with the query count half, and never less; its cosine and its word match count in full."""

ASKING = 0.5
"""A question in a conversation says little, but its answer is next to it: a turn that only asks counts this
share less, and gives its neighbours this share more."""

IN_TIME = 1.3
AGO = 2.0
"""`IN_TIME` is the factor for a memory of the time that the query names. `AGO` is that factor where the query
counts back from now: only the time tells such a memory from others, as no memory of that day says "two weeks
ago"."""

SPOKE = 1.7
"""The factor for words of a speaker whom the query names.

It is one of the weights that `tools/fit_fusion.py` compares on the development parts of all sets."""

TOP = 50
"""The number of best candidates among which near ties are decided in favour of the newer."""

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
"""The same for the best turns of the two best sessions, with lower limits, because a turn says much besides
the answer. But the word match of the newer turn must not be more than `LEADERS_WORDS` below that of the
older."""

TIE_MARGIN = 1e-9
"""The margin by which the newer of two such memories is ranked above the older."""

REWORDED = 0.76
"""From this cosine on, two facts count as similarly worded, not as the old and new value of something."""

REVISABLE = 256
CENTRE = 10
NEAR = 0.2
SHORT = 1e-4
DIGITS = 5
"""A new value is guessed among at most `REVISABLE` memories: among more, the best few do not show which are
nearest to each other. Facts are compared by cosines relative to their mean, which counts half with `CENTRE`
facts and is undefined below length `SHORT`. The cosine of a new value is at least `NEAR`, after rounding."""

NEW_VALUE = {
    "bias": -2.464,
    "crowd": 4.393,  # minus how much nearer to the older one another fact is, which shows that many are alike
    "answers": 2.921,  # root of the share of the older one's evidence that the newer one has
    "changes": 1.533,  # whether the newer one mentions a change
    "changed": -0.56,  # whether the older one does
    "longer": 2.663,  # logarithm of the ratio of their lengths
}
"""The weight of each input in the log odds that a newer fact is the new value of an older one;
`tools/fit_revisions.py` prints the numbers."""

EXACT_MARGIN = 0.05
"""The margin by which a memory that is worded as the query is put ahead of all others."""


def idf(documents: int, containing: int) -> float:
    """Return BM25's weight of a term that `containing` of `documents` memories contain; never negative."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def saturation(count: float, length: float, average: float) -> float:
    """Return the share of a term's weight that a memory earns: 0..1, less for long memories."""
    return count / (count + K1 * (1 - B + B * length / average)) if count else 0.0


def evidence(cosine: float, share: float, brevity: float = 1.0) -> float:
    """Return the evidence for a memory, from its cosine and its share of the query's term weight."""
    return float(max(cosine, 0.0) ** COSINE_POWER + TEXT_WEIGHT * share**TEXT_POWER * brevity)


class Fact(Struct, frozen=True):
    """A fact to compare with the first: `near` is their cosine, `length` its number of index terms."""

    id: str
    near: float
    weight: float
    length: int
    changes: bool
    may_follow: bool  # later, of the same user, with all distinguishing terms


def measure_new_values(facts: Sequence[Fact]) -> dict[int, tuple[float, ...]]:
    """Return the inputs of `NEW_VALUE` for each fact that may follow the first one, by its index."""
    older, pairs = facts[0], dict[int, tuple[float, ...]]()
    nearest = max([fact.near for fact in facts[1:]], default=0.0)
    for index, fact in enumerate(facts):
        if fact.may_follow and fact.near >= NEAR:
            answers = math.sqrt(min(max(fact.weight / older.weight, 0.0), 1.0))
            longer = math.log((fact.length + 1) / (older.length + 1))
            pairs[index] = (1.0, fact.near - nearest, answers, fact.changes, older.changes, longer)
    return pairs


def find_new_value(facts: Sequence[Fact]) -> tuple[int, float] | None:
    """Return the index of the fact that is most likely the new value of the first, and its probability;
    None if no probability is above a half.
    """
    best: tuple[float, str, int] = (0.0, "", -1)
    for index, inputs in measure_new_values(facts).items():
        score = round(sum(map(mul, NEW_VALUE.values(), inputs)), DIGITS)
        best = max(best, (score, facts[index].id, index))
    return (best[2], 1 / (1 + math.exp(-best[0]))) if best[0] > 0 else None


def brevity(length: float) -> float:
    """Return the factor of term evidence for a memory of `length` terms: from 1 down to a half."""
    return 1 / (1 + min(max(length - BRIEF, 0) / LENGTHY, 1))


def relevance(weight: float) -> float:
    """Convert evidence to a calibrated relevance in 0..1, strictly increasing and always below 1.

    It is a logistic curve up to `BEND`, and above it, where no floor or verdict depends on the value, a
    hyperbola, because the logistic curve would round to 1 in the digits that people see.
    """
    if weight > _BEND_WEIGHT:
        return 1 - (1 - BEND) / (1 + SLOPE * BEND * (weight - _BEND_WEIGHT))
    return 1 / (1 + math.exp(-SLOPE * (weight - MIDDLE)))


def weight(relevance: float) -> float:
    """Return the evidence with this relevance, which must be above 0 and below 1."""
    if relevance > BEND:
        return _BEND_WEIGHT + ((1 - BEND) / (1 - relevance) - 1) / (SLOPE * BEND)
    return MIDDLE + math.log(relevance / (1 - relevance)) / SLOPE


WORD_MATCH = 1.25
WORD_FLOOR = 0.48
"""A word match adds `WORD_MATCH` times its excess over `WORD_FLOOR` to the evidence. A match below the floor
subtracts nothing: a memory that helps with a task need not match its words."""

COMMON = 0.3
"""The weight of a word that is not a term of the query: stop words, and words of boilerplate."""

WIDTH, STEPS = 64, 127  # of a token: as `memorywire_minilm.TOKEN` and `TOKEN_STEPS`

_DATES = frozenset(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday".split()
)


def is_compared_exactly(word: str) -> bool:
    """Whether the word match ignores a word of a query: a number, an identifier, a month or a day."""
    return not word.isalpha() or word in _DATES


def weigh_words(words: Sequence[str], term_weights: Mapping[str, float]) -> list[float]:
    """Return the weight of each word of a query, from the weights of the query's terms.

    All weights are 0 if no word is one of these terms, because any text matches common words such as "it".
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
    """Return the word match of each memory, from its tokens; None for a memory without tokens."""
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
    """Return the evidence that a word match adds."""
    return 0.0 if match is None else WORD_MATCH * max(match - WORD_FLOOR, 0.0)


def answers_as_well(newer: float | None, older: float | None) -> bool:
    """Whether a newer turn's word match is at most LEADERS_WORDS below an older one's, or one is unknown."""
    return newer is None or older is None or newer >= older - LEADERS_WORDS


def read_tokens(vector: bytes | None) -> bytes | None:
    """Return the tokens attached to a vector of the default embedder (`memorywire_minilm.Reading`)."""
    return getattr(vector, "tokens", None) or None


def read_query_tokens(vector: bytes) -> QueryTokens | None:
    """Return the tokens attached to the vector of a query, with the word of each token."""
    tokens: bytes | None = getattr(vector, "tokens", None)
    return QueryTokens(tuple(getattr(vector, "words", ())), tokens) if tokens else None

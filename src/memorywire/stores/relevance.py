"""How relevant a memory is to a query, from absolute signals: cosine and scope-local BM25.

Statistics are taken over the memories the query may see, never over the whole store, so a tenant's
scores do not depend on who shares the file.
"""

import math

K1 = 0.9
B = 0.4

# Logistic regression: evidence turns of a conversation against the best turns of a foreign one.
BIAS = -4.72
COSINE = 9.77
TEXT = 9.77


def idf(documents: int, containing: int) -> float:
    """BM25's weight of a term that `containing` of `documents` memories hold; never negative."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def saturation(count: float, length: float, average: float) -> float:
    """How much of a term's weight a memory earns: 0..1, less for long memories."""
    return count / (count + K1 * (1 - B + B * length / average)) if count else 0.0


def relevance(cosine: float, text: float) -> float:
    """0..1 from a cosine and the share of the query's term weight that the memory earned."""
    return 1 / (1 + math.exp(-(BIAS + COSINE * cosine + TEXT * text)))

"""The sets that can be measured, by name. This module loads no data."""

from msgspec import Struct


class Kind(Struct, frozen=True, kw_only=True):
    """A set: its name, its reader (a module or module:function), and how its questions are scored.

    `view` selects the questions of the headline figures. `clustered` sets are resampled by case, because
    questions about one conversation are not independent. `foreign` sets also ask each case the next one's
    questions. `parity` sets can be checked for equal answers from one shared memory. The table of a set
    `by_category` has lines for each category.
    """

    name: str
    about: str
    reader: str
    view: str = "answerable"
    clustered: bool = False
    foreign: bool = False
    parity: bool = False
    needs_data: bool = True
    by_category: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="locomo",
            about="LoCoMo: which turns of a long conversation hold the evidence",
            reader="locomo",
            view="all",
            clustered=True,
            foreign=True,
        ),
        Kind(
            name="longmemeval",
            about="LongMemEval_S: which sessions and turns of a haystack hold the evidence",
            reader="longmemeval",
            foreign=True,
            parity=True,
        ),
        Kind(
            name="pool",
            about="LongMemEval_S: the sessions of all haystacks in one memory",
            reader="longmemeval:read_pool",
        ),
        Kind(name="beam", about="BEAM: which messages of a long chat hold the evidence", reader="beam"),
        Kind(
            name="realtalk",
            about="REALTALK: which messages of two real people hold the evidence",
            reader="realtalk",
            clustered=True,
            foreign=True,
        ),
        Kind(
            name="factconsolidation",
            about="FactConsolidation: the newest of contradicting facts comes first",
            reader="facts",
        ),
        Kind(
            name="precision",
            about="PrecisionMemBench: the right beliefs and no others",
            reader="precision",
            view="all",
        ),
        Kind(
            name="halumem",
            about="HaluMem: evidence, interference, contradictory near-duplicates",
            reader="halumem",
        ),
        Kind(
            name="prefeval",
            about="PrefEval: whether a request brings up the preference that matters for it",
            reader="prefeval",
        ),
        Kind(
            name="xquad",
            about="XQuAD: the sentence that answers, in each of several languages",
            reader="xquad",
        ),
        Kind(
            name="memoryagentbench",
            about="MemoryAgentBench: retrieval, learning, long texts and conflicts, from one context a row",
            reader="memoryagentbench",
            by_category=True,
        ),
        Kind(
            name="swebenchcl",
            about="SWE-Bench-CL: the earlier tasks of a repository that a new issue depends on",
            reader="coding:read_sequences",
        ),
        Kind(
            name="swecontextbench",
            about="SWE-ContextBench: the solved tasks that are related to a new issue",
            reader="coding:read_experience",
            clustered=True,
            foreign=True,
        ),
        Kind(
            name="contextbench",
            about="ContextBench: the spans of code that an issue needs",
            reader="coding:read_spans",
            clustered=True,
            by_category=True,
        ),
        Kind(
            name="micro",
            about="100 facts and 50 queries that come along: paraphrase, exact, multi-hit, no match",
            reader="own:read_micro",
            needs_data=False,
        ),
        Kind(
            name="oblique",
            about="the same facts, asked in a roundabout way: harder than the protocol",
            reader="own:read_oblique",
            needs_data=False,
        ),
        Kind(name="own", about="your own data, as documented JSON lines", reader="own", by_category=True),
    )
}

WHOLE = tuple(name for name in KINDS if name not in ("pool", "oblique", "own"))
"""The sets of `all`; without `pool`, which takes as long as all others, `oblique` and `own`."""

"""Small worlds to draw from: few names and few words, so that everything meets everything."""

from hypothesis import strategies as st

from memorywire.model.change import EndReason
from memorywire.model.query import And, Filter, Not, Or, Where
from memorywire.model.record import MemoryType, Scope, Standing
from memorywire_testing.samples import NOW, a_vector, compare

NAMES = [f"m{number}" for number in range(9)]
AGENTS = [Scope(agent=agent, tenant=tenant) for agent in ("ana", "ben") for tenant in ("default", "other")]
ENDINGS = [reason for reason in EndReason if reason is not EndReason.ERASED]

IDS = st.sampled_from(NAMES)
SCOPES = st.builds(
    Scope,
    agent=st.sampled_from(["ana", "ana", "ana", "ben"]),
    user=st.sampled_from([None, None, "u", "v"]),
    tenant=st.sampled_from(["default", "default", "default", "default", "default", "other"]),
)
TEXTS = st.sampled_from(
    ["zebra", "kettle crossing", "user", "会議", "the", "", "nothing of this", "blue zebras"]
)
VECTORS = st.sampled_from(
    [None, a_vector(1), a_vector(1, 1), a_vector(0, 1, 0.2), a_vector(-1, 0.3), a_vector(0, 0, 1)]
)
MOMENTS = st.integers(min_value=NOW - 20, max_value=NOW + 20)
CALLED = st.sampled_from([(), (), ("Zebedee",), ("Nobody", "zebedee"), ("Nobody",)])
TIMES = st.sampled_from([(), (), ((NOW - 2, NOW + 1),), ((NOW - 9, NOW - 3), (NOW + 2, NOW + 9))])
RECORDS = st.fixed_dictionaries(
    {
        "content": st.sampled_from(
            [
                "zebra crossing",
                "zebra  crossing ",
                "the zebra ran to the kettle",
                "a blue kettle",
                "東京で会議",
                "call getUserName",
                "",
                {"do": "boil the kettle", "n": [1, True]},
            ]
        ),
        "type": st.sampled_from(MemoryType),
        "metadata": st.sampled_from(
            [
                {},
                {"k": 1},
                {"k": True},
                {"k": "1"},
                {"k": None},
                {"k": ["a", 1]},
                {"k": {"a": "50%"}},
                {"role": "assistant"},
                {"role": "user"},
                {"speaker": "Zebedee"},
            ]
        ),
        "session_id": st.sampled_from([None, "s", "s", "t"]),
        "occurred_at": st.none() | st.integers(min_value=NOW - 5, max_value=NOW + 5),
        "confidence": st.sampled_from([0.0, 0.25, 1.0]),
        "tags": st.sampled_from([(), ("a",), ("a", "b")]),
        "standing": st.sampled_from([Standing.ACTIVE, Standing.ACTIVE, Standing.DEMOTED, Standing.ARCHIVED]),
        "created_at": MOMENTS,
        "expires_at": st.sampled_from([None, None, None, NOW - 10, NOW, NOW + 10]),
    }
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    st.sampled_from(
        [
            compare("metadata.k", "eq", 1),
            compare("metadata.k", "eq", True),
            compare("metadata.k", "eq", None),
            compare("metadata.k", "in", ["a", "1"]),
            compare("metadata.k", "exists", True),
            compare("metadata.k.a", "prefix", "50%"),
            compare("metadata.k", "gte", 1),
            compare("tags", "contains", "b"),
            compare("content", "contains", "zebra"),
            compare("user_id", "ne", "u"),
            compare("version", "gt", 1),
        ]
    ),
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.tuples(inner, inner))
        | st.builds(Or, st.tuples(inner, inner))
    ),
    max_leaves=3,
)
CONDITIONS: dict[str, st.SearchStrategy[object]] = {
    "as_of": MOMENTS,
    "types": st.frozensets(st.sampled_from(MemoryType), min_size=1),
    "created_since": MOMENTS,
    "created_until": MOMENTS,
    "idle_since": MOMENTS,
    "confidence_below": st.sampled_from([0.25, 0.5]),
    "standings": st.sampled_from([frozenset(Standing), frozenset({Standing.ARCHIVED})]),
    "filter": FILTERS,
}


@st.composite
def wheres(draw: st.DrawFn) -> Where:
    """A scope and a moment, and now and then one or two conditions."""
    chosen = draw(st.lists(st.sampled_from(sorted(CONDITIONS)), max_size=2, unique=True))
    conditions = {name: draw(CONDITIONS[name]) for name in chosen}
    return Where(scope=draw(SCOPES), alive_at=draw(MOMENTS), **conditions)

"""Values and schemas agree on names, required fields, enums and defaults."""

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from memorywire.model import answers, oversight, proposal, requests
from memorywire.model.capabilities import Feature, StoreCapabilities
from memorywire.model.change import Change, EndReason, Version
from memorywire.model.errors import MemorywireError
from memorywire.model.proposal import Decision, Proposal, State
from memorywire.model.query import EVERYTHING, FIELDS, Operator
from memorywire.model.record import RECALLABLE, MemoryType, Record, Standing, Trust
from memorywire.model.space import Space
from memorywire.policy.rules import Condition, Operation, Rule
from memorywire.policy.rules import Verdict as Judged
from memorywire.wire import spec
from memorywire.wire.codec import OPERATIONS, decode, decode_oversight

COMMON = spec.schema("common")["$defs"]
SCOPE = {"agent_id", "user_id"}
WITH_TEAM = {requests.Remember, requests.Recall}
NOTHING = (None, (), EVERYTHING)


def _resolved(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A property with what its reference says, its own words first."""
    target = str(schema.get("$ref", ""))
    if not target.startswith("common.json#/$defs/"):
        return dict(schema)
    return _resolved(COMMON[target.rpartition("/")[2]]) | dict(schema)


def _properties(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: _resolved(part) for name, part in schema["properties"].items()}


REQUESTS = {name: one.request for name, one in OPERATIONS.items() if one.request is not None}

REQUEST_PAIRS = {
    **{
        f"{operation}.request": (kind, spec.schema(f"{operation}.request"))
        for operation, kind in REQUESTS.items()
    },
    "policy": (requests.Policy, spec.schema("expire.request")["properties"]["policy"]),
    "rank": (requests.RankWeights, spec.schema("recall.request")["properties"]["rank"]),
    "message": (requests.Message, spec.schema("context.request")["properties"]["messages"]["items"]),
    "dedup": (requests.Dedup, spec.schema("recall.request")["properties"]["dedup"]),
}
ANSWER_PAIRS = {
    **{
        f"{name}.response": (one.answer, spec.schema(f"{name}.response"))
        for name, one in OPERATIONS.items()
        if one.request is not None and "$ref" not in spec.schema(f"{name}.response")
    },
    "given": (oversight.Given, spec.schema("why.response")["properties"]["results"]["items"]),
    "edition": (oversight.RuleEdition, spec.schema("rules.response")["properties"]["editions"]["items"]),
    "suggestion": (oversight.Suggested, spec.schema("rules.response")["properties"]["suggestions"]["items"]),
    "agent": (oversight.AgentSummary, spec.schema("agents.response")["properties"]["items"]["items"]),
    "facet": (oversight.FacetValue, spec.schema("facets.response")["$defs"]["value"]),
    "recall": (oversight.RecallSummary, spec.schema("recalls.response")["properties"]["items"]["items"]),
    "proposal": (Proposal, COMMON["proposal"]),
    "decision": (Decision, COMMON["decision"]),
    "finding": (answers.Redacted, COMMON["finding"]),
    "record": (Record, spec.schema("record")),
    "line": (answers.ContextLine, spec.schema("context.response")["$defs"]["line"]),
    "slot": (answers.Slot, spec.schema("profile.response")["$defs"]["slot"]),
    "slot value": (answers.SlotValue, spec.schema("profile.response")["$defs"]["value"]),
    "past value": (answers.PastValue, spec.schema("profile.response")["$defs"]["past"]),
    "word_match": (answers.WordMatch, spec.schema("recall.response")["$defs"]["word_match"]),
    "near_miss": (answers.NearMiss, spec.schema("recall.response")["$defs"]["near_miss"]),
    "version": (Version, spec.schema("history.response")["$defs"]["link"]),
    "outcome": (answers.Outcome, COMMON["outcome"]),
    "embedding": (Space, spec.schema("capabilities")["properties"]["embedding"]),
    "store": (StoreCapabilities, spec.schema("capabilities")["properties"]["stores"]["items"]),
}
RENAMED = {"hits": "results", "owners": "scope"}  # a `Scope` is the owner of memories, so it has the name
INTERNAL = {
    "version": {"id", "began", "ended"},  # the chain names the id; commit sequences stay inside
    "proposal": {
        *("request", "change", "features", "key", "proposer"),  # what it says is for who examines it
        *("assignee", "snoozed_until", "comments", "notes"),  # decision 66: notes of reviewers
    },
}
PROJECTED = {
    "proposal": {"erases", "memories", "preview", "reasoning", "risk"},
    "proposal.response": {"request"},
}


def _wire_fields(kind: type, hidden: set[str]) -> dict[str, FieldInfo]:
    """The fields of a value under the names of the wire; a scope is spelt out elsewhere."""
    spelt_out = hidden | {"scope", "reach", "tenant"}
    found = [field for field in fields(kind) if field.name not in spelt_out]
    return {RENAMED.get(field.name, field.name): field for field in found}


def _has_scope(kind: type) -> bool:
    return any(field.name == "scope" for field in fields(kind))


def _owner(kind: type) -> set[str]:
    """How the wire says whose: with a reach, nobody need be named."""
    names = {field.name for field in fields(kind)}
    team = {"team"} if kind in WITH_TEAM else set()
    return SCOPE | team if names & {"scope", "reach"} else set()


def _optional(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def _default(field: FieldInfo) -> Any:
    return field.default_factory() if field.default_factory is not NODEFAULT else field.default


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", REQUEST_PAIRS)
def test_a_request_has_the_names_and_required_fields_of_its_schema(name: str) -> None:
    kind, schema = REQUEST_PAIRS[name]
    found = _wire_fields(kind, set())
    scoped = _has_scope(kind)
    assert set(found) | _owner(kind) == set(schema["properties"])
    required = {n for n, f in found.items() if _default(f) is NODEFAULT} | ({"agent_id"} if scoped else set())
    assert required == set(schema.get("required", []))


@pytest.mark.parametrize("name", REQUEST_PAIRS)
def test_a_request_has_the_defaults_of_its_schema(name: str) -> None:
    kind, schema = REQUEST_PAIRS[name]
    properties = _properties(schema)
    for field_name, field in _wire_fields(kind, set()).items():
        default = _default(field)
        if "default" in properties[field_name]:
            assert _plain(default) == properties[field_name]["default"], field_name
        else:
            assert default is NODEFAULT or default in NOTHING, field_name


def _integer_fields() -> list[tuple[str, str]]:
    return [
        (operation, name)
        for operation in REQUESTS
        for name, part in _properties(spec.schema(f"{operation}.request")).items()
        if part.get("type") == "integer"
    ]


@pytest.mark.parametrize(("operation", "name"), _integer_fields())
def test_a_whole_number_written_with_a_point_becomes_an_integer(operation: str, name: str) -> None:
    """Proves G-10."""
    example = next(iter(spec.examples(operation, "valid").values()))["request"]
    read = decode_oversight if OPERATIONS[operation].oversight else decode
    needs = spec.schema(f"{operation}.request").get("dependentRequired", {}).get(name, [])
    value = getattr(read(operation, example | dict.fromkeys(needs, "m1") | {name: 3.0}), name)
    assert (value, type(value)) == (3, int)


@pytest.mark.parametrize("name", ANSWER_PAIRS)
def test_an_answer_has_the_names_of_its_schema_and_requires_what_is_always_there(name: str) -> None:
    kind, schema = ANSWER_PAIRS[name]
    hints = get_type_hints(kind)
    found = _wire_fields(kind, INTERNAL.get(name, set()))
    scoped = _has_scope(kind)
    projected = PROJECTED.get(name, set())
    assert set(found) | _owner(kind) | projected == set(schema["properties"])
    always = {n for n, f in found.items() if not _optional(hints[f.name])} | (
        {"agent_id"} if scoped else set()
    )
    assumed = {n for n, part in _properties(schema).items() if "default" in part}
    assert always - assumed == set(schema["required"]) - projected


def _kinds(hint: Any) -> set[Any]:
    """The plain types a hint allows, None and the elements of collections aside."""
    if get_origin(hint) in (Union, UnionType):
        return {kind for part in get_args(hint) if part is not NoneType for kind in _kinds(part)}
    if get_origin(hint) is Literal:
        return {type(choice) for choice in get_args(hint)}
    return {get_origin(hint) or hint}


JSON_TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    tuple: "array",
    frozenset: "array",
    Mapping: "object",
}


@pytest.mark.parametrize("name", [*REQUEST_PAIRS, *ANSWER_PAIRS])
def test_every_field_has_the_json_type_of_its_value(name: str) -> None:
    kind, schema = (REQUEST_PAIRS | ANSWER_PAIRS)[name]
    hints = get_type_hints(kind)
    properties = _properties(schema)
    for field_name, field in _wire_fields(kind, INTERNAL.get(name, set())).items():
        kinds = _kinds(hints[field.name])
        part = properties[field_name]
        declared = {part["type"]} if isinstance(part.get("type"), str) else set(part.get("type", ()))
        declared |= {"string"} if "enum" in part else set()
        enums = [k for k in kinds if isinstance(k, type) and issubclass(k, StrEnum)]
        if enums:
            assert part["enum"] == [member.value for member in enums[0]], field_name
        elif kinds <= set(JSON_TYPES):
            # links may be one id without a list; the codec makes it a tuple
            extra = {"null"} if field_name in {"error", "approval_url"} else set()
            linked = name == "remember.request" and field_name in {"supersedes", "derived_from"}
            extra |= {"string"} if linked else set()
            assert declared == {JSON_TYPES[k] for k in kinds} | extra, field_name


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("type", MemoryType),
        ("standing", Standing),
        ("trust", Trust),
        ("fusion", requests.Fusion),
        ("strategy", requests.Strategy),
        ("action", requests.Action),
        ("status", answers.Status),
        ("verdict", answers.Verdict),
        ("reason", EndReason),
        ("feature", Feature),
        ("state", State),
        ("judgement", Judged),
    ],
)
def test_an_enum_has_the_same_members_in_both(definition: str, kind: type[StrEnum]) -> None:
    assert COMMON[definition]["enum"] == [member.value for member in kind]


def test_a_hit_is_a_record_flattened_with_how_well_it_answers() -> None:
    hit = spec.schema("recall.response")["$defs"]["hit"]
    own = {field.name for field in fields(answers.Hit)} - {"record", "signals", "words"} | {
        "source_store",
        "explain",
    }
    of_record = set(spec.schema("record")["properties"])
    assert own <= set(hit["properties"]) <= own | of_record
    always = own - {"explain", "signed", "lender"} | (
        set(spec.schema("record")["required"]) & set(hit["properties"])
    )
    assert set(hit["required"]) == always


def test_the_problem_codes_are_those_of_the_error_tree() -> None:
    """Proves G-8. What another contract answers with has an envelope of its own, and is defined with it."""

    def codes(kind: type[MemorywireError]) -> set[str]:
        own = [child for child in kind.__subclasses__() if child.__module__ == MemorywireError.__module__]
        return {kind.code}.union(*(codes(child) for child in own))

    assert set(spec.schema("problem")["properties"]["code"]["enum"]) == codes(MemorywireError)


def test_the_filter_language_has_the_same_operators_in_both() -> None:
    """Proves FL-3."""
    assert set(COMMON["operators"]["properties"]) == set(Operator)
    assert set(spec.schema("record")["properties"]) >= FIELDS


def test_the_operations_of_the_wire_are_those_that_can_be_decoded() -> None:
    assert COMMON["operation"]["enum"] == [*REQUESTS, "capabilities"]


def test_a_rule_is_written_on_the_wire_as_in_a_file() -> None:
    conditions = {"not" if field.name == "unless" else field.name for field in fields(Condition)}
    own = {field.name for field in fields(Rule)} - {"when"}
    assert set(COMMON["rule"]["properties"]) == conditions | own
    assert set(COMMON["conditions"]["properties"]) == conditions - {"not", "everything"}
    assert COMMON["rule"]["properties"]["operation"]["items"]["enum"] == [kind.value for kind in Operation]
    assert spec.schema("decide.request")["properties"]["verb"]["enum"] == [
        verb.value for verb in proposal.Verb
    ]


def test_the_change_log_shows_no_content() -> None:
    shown = spec.schema("changes.response")["properties"]["changes"]["items"]["properties"]
    assert set(shown) - {"user_id"} <= {field.name for field in fields(Change)} - {"put", "end", "erase"}


def test_only_archived_memories_are_left_out_unless_included() -> None:
    assert set(COMMON["include"]["items"]["enum"]) == set(Standing) - RECALLABLE

"""The addresses of the other contracts, as the description of the door lists them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memorywire.model.record import Json

Parameter = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What one method of one path does; a body is described by the schema `NAME.request`."""

    path: str
    method: str
    name: str
    summary: str
    body: bool = False
    more: Sequence[Parameter] = ()

    @property
    def parameters(self) -> list[Json]:
        return [*(_IN_PATH[part] for part in _IN_PATH if f"{{{part}}}" in self.path), *self.more]


def _parameter(name: str, place: str, said: str, **schema: Json) -> Parameter:
    return {"name": name, "in": place, "required": place == "path", "description": said, "schema": schema}


TEXT = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f]*$"}
_IN_PATH: Mapping[str, Parameter] = {
    "scope": _parameter("scope", "path", "Whose keys.", enum=["agent", "user", "tenant"]),
    "scope_id": _parameter("scope_id", "path", "The agent, the user or the tenant.", **TEXT),
    "key": _parameter("key", "path", "The key.", **TEXT),
    "event_id": _parameter("event_id", "path", "The event.", **TEXT),
    "definition": _parameter("definition", "path", "A digest, or a name: its newest edition.", **TEXT),
    "agent_id": _parameter("agent_id", "path", "The agent.", **TEXT),
}
IF_MATCH = _parameter(
    "If-Match",
    "header",
    "The version that must be current, in quotes, as an ETag said it.",
    type="string",
    pattern='^"[0-9]{1,15}"$',
)
_LIST = (
    _parameter("prefix", "query", "Only keys that begin so.", type="string", maxLength=256),
    _parameter("after", "query", "Only keys behind this one: the `next` of the page before.", type="string"),
    _parameter("limit", "query", "At most this many.", type="integer", minimum=1, maximum=1000, default=100),
)
ENTRY = "/v0/kv/{scope}/{scope_id}/{key}"
ENTRIES = "/v0/kv/{scope}/{scope_id}"

ADDRESSES = (
    Address(path=ENTRY, method="get", name="kv_get", summary="The value under a key."),
    Address(
        path=ENTRY,
        method="put",
        name="kv_set",
        summary="Keep a value under a key.",
        body=True,
        more=(IF_MATCH,),
    ),
    Address(path=ENTRY, method="post", name="kv_incr", summary="Add to the number under a key.", body=True),
    Address(path=ENTRY, method="delete", name="kv_delete", summary="End the entry of a key."),
    Address(path=ENTRIES, method="get", name="kv_list", summary="Entries by their keys.", more=_LIST),
    Address(path=ENTRIES, method="post", name="kv_set_many", summary="Keep many values.", body=True),
    Address(
        path="/v0/kv-search/{scope}/{scope_id}",
        method="post",
        name="kv_search",
        summary="Entries by their meaning.",
        body=True,
    ),
    Address(
        path="/v0/kv-stats/{scope}/{scope_id}",
        method="get",
        name="kv_stats",
        summary="What the entries amount to, and of which model their vectors are.",
    ),
    Address(
        path="/v0/kv-reembed/{scope}/{scope_id}",
        method="post",
        name="kv_reembed",
        summary="Make the vectors that are missing.",
        body=True,
    ),
    Address(path="/v0/layer/add", method="post", name="layer_add", summary="Take messages in.", body=True),
    Address(
        path="/v0/layer/recall",
        method="post",
        name="layer_recall",
        summary="Ask what conversations gave away.",
        body=True,
    ),
    Address(
        path="/v0/layer/events/{event_id}",
        method="get",
        name="layer_event",
        summary="What became of messages.",
        more=(
            _parameter("agent_id", "query", "Only if it is of this agent.", **TEXT),
            _parameter("user_id", "query", "Only if it is of this user.", **TEXT),
        ),
    ),
    Address(path="/v0/backends", method="get", name="backend_list", summary="Definitions of backends."),
    Address(
        path="/v0/backends", method="post", name="backend_create", summary="Define a backend.", body=True
    ),
    Address(path="/v0/backends/{definition}", method="get", name="backend_get", summary="One definition."),
    Address(
        path="/v0/backends/{definition}/fork",
        method="post",
        name="backend_fork",
        summary="Define a backend like another.",
        body=True,
    ),
    Address(
        path="/v0/backends/{definition}/retire",
        method="post",
        name="backend_retire",
        summary="Let no agent be bound to it any more.",
        body=True,
    ),
    Address(
        path="/v0/bindings/{agent_id}",
        method="put",
        name="backend_bind",
        summary="Keep an agent's memories in a backend.",
        body=True,
    ),
    Address(
        path="/v0/bindings/{agent_id}",
        method="delete",
        name="backend_unbind",
        summary="Keep an agent's memories here again.",
    ),
)

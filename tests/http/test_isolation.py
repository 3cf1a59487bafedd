"""Two tenants on one server: what is the other's is answered exactly like what is not there.

The matrix is made from the table of routes and from the schemas: every route, every field that takes an
id, every kind of id that the other tenant has.
"""

import json
from collections.abc import Iterator
from itertools import count
from urllib.parse import quote, urlencode

import pytest

from memorywire.journal.operators import Right
from memorywire.model.errors import Forbidden, NotFound
from memorywire_server.auth import Caller
from memorywire_server.http import audit as books
from memorywire_server.http.endpoint import Limits, Service
from memorywire_server.http.openapi import openapi
from memorywire_server.http.peers import store_mount
from memorywire_server.http.routes import EVERYWHERE, Wire, names_agent, wire_routes
from tests.http.server import Client, at, serving
from tests.http.tenants import (
    AGENT,
    MARK,
    OWED,
    World,
    absent,
    id_fields,
    plain,
    with_id,
    without_id,
    world_of,
)
from tests.http.test_isolation_contracts import HERE

_agents = count()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with serving(policy="balanced", mounts=lambda container: [store_mount(container)]) as server:
        yield world_of(server)


def payload(operation: str, field: str, id: str) -> dict[str, object]:
    body = with_id(operation, field, id)
    if operation == "remember":  # into a memory of its own
        return {**body, "agent_id": f"agent {next(_agents):04}"}
    return {**body, "agent_id": AGENT} if names_agent(operation) else body


def cells() -> list[tuple[Wire, str]]:
    return [
        (route, field)
        for route in wire_routes()
        if route.operation not in EVERYWHERE
        for field in ([route.field] if route.field else id_fields(route.operation))
    ]


def ask(client: Client, route: Wire, field: str, id: str) -> tuple[int, bytes]:
    body = payload(route.operation, field, id)
    path = route.path
    if route.field:
        path = path.replace(f"{{{route.field}}}", quote(id, safe=""))
        del body[route.field]
    if route.by_query:
        reply = client.send("GET", f"{path}?{urlencode(body, doseq=True)}")
    else:
        reply = client.send(
            route.method, path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
    return reply.status, without_id(reply.body, id)


def same(one: tuple[int, bytes], other: tuple[int, bytes]) -> bool:
    """Problems to the byte; answers but for the ids and moments that every answer mints."""
    if one[0] >= 400:
        return one == other
    return one[0] == other[0] and plain(one[1]) == plain(other[1])


@pytest.mark.parametrize(("route", "field"), cells(), ids=lambda it: getattr(it, "path", it))
def test_not_yours_is_answered_like_not_there(world: World, route: Wire, field: str):
    client = world.of_tenant() if route.operation == "remember" else world.mine
    for kind, id in world.ids.items():
        theirs = ask(client, route, field, id)
        nobodys = ask(client, route, field, absent(id))
        assert same(theirs, nobodys), (route, field, kind, theirs, nobodys)
        assert MARK.encode() not in theirs[1]


def test_the_matrix_covers_every_route_with_an_id_and_is_of_some_size():
    elsewhere = ("/v0/procedures/", "/v0/reviews/", *HERE)  # a callback is signed, and has no token
    with_id = {path for path in openapi()["paths"] if "{" in path and not path.startswith(elsewhere)}
    assert with_id == {route.path for route, _ in cells() if "{" in route.path}
    assert len(cells()) >= 20


def test_their_procedure_cannot_be_triggered(world: World):
    step = {"agent_id": AGENT, "trigger": "boil"}
    ids = (world.ids["procedure"], absent())
    replies = [world.mine.post(at("procedures", id, "trigger"), step) for id in ids]
    bodies = [reply.body.replace(id.encode(), b"<id>") for reply, id in zip(replies, ids, strict=True)]
    assert (replies[0].status, bodies[0]) == (404, bodies[1])


LISTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("/v0/list", {"agent_id": AGENT}),
    ("/v0/changes", {"agent_id": AGENT}),
    ("/v0/facets", {"agent_id": AGENT}),
    ("/v0/context", {"agent_id": AGENT, "prompt": "what is the secret plan?"}),
    ("/v0/profile", {"agent_id": AGENT}),
    ("/v0/recall", {"agent_id": AGENT, "query": "what is the word?", "min_relevance": "off"}),
    ("/v0/proposals", {}),
    ("/v0/recalls", {}),
    ("/v0/agents", {}),
    ("/v0/rules", {}),
    ("/v0/capabilities", {}),
)


@pytest.mark.parametrize(("path", "asked"), LISTS, ids=lambda it: it if isinstance(it, str) else "")
def test_what_is_theirs_is_in_no_list(world: World, path: str, asked: dict[str, object]):
    reply = world.mine.post(path, asked)
    assert reply.status == 200
    assert traces(world, reply.body) == []


def test_what_is_theirs_is_in_no_book(world: World):
    assert traces(world, world.mine.get("/v0/audit").body) == []
    assert world.mine.get("/v0/debts").json == {"debts": []}
    assert OWED in world.theirs.get("/v0/debts").body.decode()  # the positive control


def test_one_entry_is_for_whom_it_concerns_and_who_may_review():
    """As the console shows it, by its number."""
    with serving() as server:
        theirs = server.operator("theirs", tenants=["t2"])
        theirs.remember("the word is theirs", "a")
        [entry] = theirs.get("/v0/audit").json["entries"]
        service = Service(server.container, Limits())

        def shown(tenant: str, rights: frozenset[Right] = frozenset(Right), agents: str = "*") -> object:
            caller = Caller(name="somebody", tenant=tenant, rights=rights, agents=(agents,))
            return server.run(books.entry(service, caller, entry["seq"]))

        assert shown("t2") == entry
        with pytest.raises(NotFound):
            shown("t1")
        with pytest.raises(NotFound):
            shown("t2", agents="b")
        with pytest.raises(Forbidden):
            shown("t2", rights=frozenset({Right.READ}))


def traces(world: World, body: bytes) -> list[str]:
    """What an answer tells of the other tenant; numbers are everywhere, so they tell nothing."""
    told = [id for id in world.ids.values() if not id.isdecimal() and id.encode() in body]
    return [*told, *([MARK] if MARK.encode() in body else [])]


@pytest.mark.parametrize("field", ["memory", "actor", "agent_id", "user_id", "operation", "kind", "before"])
def test_the_books_cannot_be_searched_for_what_is_theirs(world: World, field: str):
    """Entries of the other tenant are no entries here, by whatever they are looked for."""
    for kind, id in world.ids.items():
        if field == "before" and not id.isdecimal():
            continue
        theirs, nobodys = (world.mine.get("/v0/audit", **{field: one}) for one in (id, absent(id)))
        if field == "before":
            assert theirs.json["entries"] == [], kind
        else:
            assert (theirs.status, theirs.body) == (nobodys.status, nobodys.body), kind
    assert world.theirs.get("/v0/audit", memory=world.ids["memory"]).json["entries"]  # they can


def test_from_the_number_of_their_event_on_nothing_of_theirs_is_heard(world: World):
    receipt = world.mine.remember("mine alone", "listened")
    after = int(world.ids["entry"]) - 1
    assert traces(world, heard_until(world.mine, receipt["change_id"], after)) == []


def heard_until(client: Client, word: str, after: int = 0) -> bytes:
    """What a stream of events says from there on, until it says this."""
    listening = client.connect()
    listening.request("GET", f"/v0/events?after={after}", headers={"Authorization": f"Bearer {client.token}"})
    stream = listening.getresponse()
    heard = b""
    while word.encode() not in heard:
        heard += stream.readline()
    listening.close()
    return heard


def test_who_may_come_in_is_told_only_to_who_is_of_every_tenant(world: World):
    """Naming operators is written down beside the entries of the default tenant."""
    first, whole = world.of_tenant("default"), world.of_tenant("*")
    assert whole.get("/v0/audit", operation="operator").json["entries"]
    assert first.get("/v0/audit", operation="operator").json["entries"] == []
    receipt = first.remember("a mark in the stream", "listened")
    assert traces(world, heard_until(first, receipt["change_id"])) == []
    assert b"of-umbrella" in heard_until(whole, receipt["change_id"])


def test_their_store_is_closed_and_what_is_theirs_is_not_in_mine(world: World):
    """The store behind the address, with the right to manage one tenant."""
    theirs, mine = ({"tenant": tenant, "agent": AGENT} for tenant in ("umbrella", "acme"))
    for verb, rest in (("get", [["ID"]]), ("history", ["ID"]), ("footprint", ["ID"]), ("committed", ["ID"])):
        for id in world.ids.values():
            bodies = [json.dumps([mine, *rest]).replace("ID", one) for one in (id, absent(id))]
            found, nothing = (world.mine.post(f"/v0/store/{verb}", body.encode()) for body in bodies)
            assert (found.status, found.body) == (nothing.status, nothing.body) == (200, nothing.body)
            bodies = [body.replace("acme", "umbrella") for body in bodies]
            found, nothing = (world.mine.post(f"/v0/store/{verb}", body.encode()) for body in bodies)
            assert (found.status, found.body) == (nothing.status, nothing.body) == (403, nothing.body)
    kept = world.theirs.post("/v0/store/get", [theirs, [world.ids["memory"]]])
    assert MARK in kept.body.decode()  # the positive control
    assert world.mine.post("/v0/store/health", []).json == {"answer": {"ok": True}}


@pytest.mark.parametrize("operation", ["activate_rule", "revert_rule"])
def test_a_rule_of_theirs_is_no_rule_here(world: World, operation: str):
    rule = {"name": MARK, "verdict": "hold", "source": ["x"], "tenant": ["umbrella"]}
    assert world.theirs.post("/v0/set_rules", {"rules": [rule]}).status == 200
    replies = [(name, world.mine.post(f"/v0/{operation}", {"name": name})) for name in (MARK, "nobodys-rule")]
    (status, one), (other_status, other) = (
        (reply.status, without_id(reply.body, name)) for name, reply in replies
    )
    assert (status, one) == (other_status, other)
    assert status in (404, 409, 422)


def test_their_idempotency_key_and_their_words_are_free(world: World):
    receipt = world.mine.remember(f"the word is {MARK}", "other-agent", idempotency_key=MARK)
    assert receipt["status"] == "committed"
    assert receipt["id"] not in world.ids.values()


def test_what_was_theirs_is_still_as_it_was(world: World):
    """The positive control: after all of the above, its owner finds everything, so the ids were real."""
    mine = world.theirs
    assert mine.get(at("memories", world.ids["memory"]), agent_id=AGENT).json["version"] == 1
    assert mine.get(at("memories", world.ids["procedure"]), agent_id=AGENT).json["version"] == 1
    assert mine.get(at("proposals", world.ids["proposal"])).json["proposal"]["state"] == "pending"
    assert mine.get(at("recalls", world.ids["recall"])).status == 200
    assert mine.post(at("undo", world.ids["change"]), {"agent_id": AGENT}).status == 200


def test_without_a_token_every_route_but_the_public_ones_is_closed(world: World):
    nobody = Client(world.mine.url)
    for path, methods in openapi()["paths"].items():
        for method, said in methods.items():
            reply = nobody.send(method.upper(), path.replace("{", "").replace("}", ""))
            assert (reply.status == 401) is ("security" not in said), (method, path)
    assert nobody.get("/v0/events").status == 401


def test_rules_of_one_tenant_are_not_shown_to_another(world: World):
    rule = {"name": MARK, "verdict": "hold", "source": ["x"], "tenant": ["umbrella"]}
    assert world.theirs.post("/v0/set_rules", {"rules": [rule]}).status == 200
    assert MARK in world.theirs.get("/v0/rules").body.decode()
    assert MARK not in world.mine.get("/v0/rules").body.decode()

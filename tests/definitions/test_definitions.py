"""Definitions of backends are named by their content, never change, and are refused when they are unsafe."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from memorywire.app import Backends, Governance, Rules, open_container
from memorywire.app.backends.opening import Hosts
from memorywire.model.clock import system_clock
from memorywire.model.definition import definition_of
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    Forbidden,
    InvalidRequest,
    MemorywireError,
    NotFound,
    StoreUnavailable,
)
from memorywire.model.record import Scope
from tests.engine.quick import Quick

A = TypeVar("A")
_PREFIX = {"kind": "shared_key_with_prefix", "pattern": "t-{tenant_id}-"}
_LOCAL = {"name": "files", "url": "sqlite:///tmp/x.db", "tenancy": _PREFIX}


def _play(story: Callable[[Backends], Awaitable[A]], rules: Rules | None = None) -> A:
    async def run() -> A:
        container = await open_container(
            stores=["sqlite://"],
            embedder=Quick(),
            embedder_key=None,
            clock=system_clock,
            governance=Governance(policy="open"),
            backends=rules or Rules(),
        )
        try:
            assert container.backends is not None
            return await story(container.backends)
        finally:
            await container.close()

    return asyncio.run(run())


def _public(host: str, port: int) -> list[str]:
    return ["8.8.8.8"]


def test_the_same_definition_has_the_same_name_however_it_was_written() -> None:
    async def story(book: Backends) -> None:
        first = await book.create("t", _LOCAL, "person:ana")
        again = await book.create("t", dict(reversed(_LOCAL.items())), "person:ben")
        elsewhere = await book.create("u", _LOCAL, "person:ana")
        other = await book.create("t", {**_LOCAL, "description": "more"}, "person:ana")
        assert first.digest == again.digest == elsewhere.digest
        assert first.digest.startswith("sha256:")
        assert (first.number, again.number, other.number) == (1, 1, 2)
        assert (again.made_by, elsewhere.made_by) == ("person:ana", "person:ana")
        assert other.digest != first.digest

    _play(story)


def test_a_fork_names_its_parent_and_the_newest_edition_answers_to_the_name() -> None:
    async def story(book: Backends) -> None:
        first = await book.create("t", _LOCAL, "me")
        fork = await book.fork("t", "files", {"health_seconds": 30}, "me")
        assert (fork.parent, fork.number) == (first.digest, 2)
        assert (await book.get("t", "files")).digest == fork.digest
        assert (await book.get("t", first.digest)).definition.health_seconds == 0
        with pytest.raises(NotFound):
            await book.get("u", first.digest)

    _play(story)


def test_what_serves_an_agent_is_not_retired_and_what_is_retired_serves_nobody() -> None:
    async def story(book: Backends) -> None:
        made = await book.create("t", _LOCAL, "me")
        assert (await book.bind("t", made.digest, "bot", "me")).agents == ("bot",)
        with pytest.raises(Conflict):
            await book.retire("t", made.digest, "me")
        await book.unbind("t", "bot", "me")
        with pytest.raises(NotFound):
            await book.unbind("t", "bot", "me")
        assert (await book.retire("t", made.digest, "me")).retired_at is not None
        with pytest.raises(Conflict):
            await book.bind("t", made.digest, "bot", "me")
        assert [one.digest for one in await book.list("t")] == [made.digest]

    _play(story)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Über"}, "name"),
        ({"tenancy": {"kind": "shared_key_with_prefix", "pattern": ""}}, "tenancy.pattern"),
        ({"tenancy": {"kind": "shared_key_with_prefix", "pattern": "all"}}, "tenancy.pattern"),
        ({"tenancy": {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}/x"}}, "tenancy.pattern"),
        ({"tenancy": {"kind": "none", "pattern": "{tenant_id}"}}, "tenancy.kind"),
        ({"tenancy": None}, "tenancy"),
        ({"health_seconds": -1}, "health_seconds"),
        ({"key_env": "lower"}, "key_env"),
        ({"fallback": "yes"}, "fallback"),
        ({"url": "no scheme"}, "url"),
        ({"url": "https://far\t.example"}, "url"),
        ({"description": "one line\nand another"}, "description"),
        ({"key_env": 5}, "key_env"),
        ({"colour": "red"}, None),
    ],
)
def test_a_definition_that_is_none_is_refused(changes: dict[str, Any], field: str | None) -> None:
    assert definition_of(_LOCAL).name == "files"
    with pytest.raises(InvalidRequest) as caught:
        definition_of({**_LOCAL, **changes})
    assert caught.value.field == field


_KEYED = {"name": "far", "url": "https://{key}@far.example", "tenancy": _PREFIX, "key_env": "FAR_KEY"}


@pytest.mark.parametrize(
    ("document", "rules", "error"),
    [
        (_KEYED, Rules(resolve=_public), Forbidden),
        ({**_KEYED, "key_env": "MEMORYWIRE_EMBEDDER_KEY"}, Rules(keys=("*",), resolve=_public), Forbidden),
        ({**_KEYED, "key_env": None}, Rules(resolve=_public), InvalidRequest),
        ({**_KEYED, "url": "https://far.example"}, Rules(keys=("FAR_*",), resolve=_public), InvalidRequest),
        (
            {**_KEYED, "url": "ftp://{key}@far.example"},
            Rules(keys=("FAR_*",), resolve=_public),
            InvalidRequest,
        ),
        ({**_KEYED, "url": "mem9://{key}@far.example"}, Rules(keys=("FAR_*",)), CapabilityUnsupported),
        (
            {**_KEYED, "url": "mem9://{key}@far.example", "preview": True},
            Rules(keys=("FAR_*",), resolve=_public),
            CapabilityUnsupported,
        ),
    ],
    ids=["not allowed", "our own", "no key", "no place", "scheme", "preview", "half a preview"],
)
def test_what_may_not_be_used_is_refused_when_it_is_defined(
    document: dict[str, Any], rules: Rules, error: type[MemorywireError]
) -> None:
    async def story(book: Backends) -> None:
        with pytest.raises(error):
            await book.create("t", document, "me")
        assert await book.list("t") == []

    _play(story, rules)


def test_what_may_be_used_is_kept_without_its_key() -> None:
    rules = Rules(keys=("FAR_*",), resolve=_public, env={"FAR_KEY": "s3cret-value"})

    async def story(book: Backends) -> None:
        made = await book.create("t", _KEYED, "me")
        assert "s3cret-value" not in repr(made)
        assert "s3cret-value" not in repr(rules)

    _play(story, rules)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "fd00::1",
        "fe80::1%eth0",
        "::ffff:127.0.0.1",
        "224.0.0.1",
        "100.64.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2002:7f00:1::",
        "::7f00:1",
        "fec0::1",
        "ff02::1",
    ],
)
def test_a_host_with_an_address_of_our_own_is_refused_unless_it_was_named(address: str) -> None:
    rules = Rules(keys=("FAR_*",), resolve=lambda host, port: ["8.8.8.8", address])

    async def story(book: Backends) -> None:
        with pytest.raises(Forbidden):
            await book.create("t", _KEYED, "me")

    async def named(book: Backends) -> None:
        await book.create("t", _KEYED, "me")

    _play(story, rules)
    _play(named, Rules(keys=rules.keys, resolve=rules.resolve, hosts=frozenset({"far.example"})))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_a_host_out_in_the_world_needs_no_word(address: str) -> None:
    async def story(book: Backends) -> None:
        assert (await book.create("t", _KEYED, "me")).number == 1

    _play(story, Rules(keys=("FAR_*",), resolve=lambda host, port: [address]))


def test_a_database_is_connected_to_at_the_address_that_was_judged() -> None:
    url = "postgresql://me:word@far.example/memories?schema=ours"
    hosts = Hosts(named=frozenset(), resolve=lambda host, port: ["8.8.8.8"])
    assert hosts.pin_address(url) == f"{url}&hostaddr=8.8.8.8"
    inside = Hosts(named=frozenset(), resolve=lambda host, port: ["127.0.0.1"])
    with pytest.raises(Forbidden):
        inside.pin_address(url)
    assert Hosts(named=frozenset({"far.example"}), resolve=inside.resolve).pin_address(url) == url


@pytest.mark.parametrize(
    "url", ["https://{key}@far.example", "postgresql://me:{key}@far.example/m"], ids=["http", "postgres"]
)
def test_a_name_that_changes_its_mind_is_judged_again_when_it_is_used(url: str) -> None:
    answers = iter([["8.8.8.8"], ["8.8.8.8"], ["127.0.0.1"]])
    rules = Rules(keys=("FAR_*",), resolve=lambda host, port: next(answers), env={"FAR_KEY": "k"})

    async def story(book: Backends) -> None:
        made = await book.create("t", {**_KEYED, "url": url}, "me")
        await book.bind("t", made.digest, "bot", "me")
        with pytest.raises((StoreUnavailable, Forbidden), match="not a public address"):
            await book.store_of(Scope(tenant="t", agent="bot"))

    _play(story, rules)


def test_a_key_that_is_not_there_is_told_by_the_name_of_its_variable() -> None:
    rules = Rules(keys=("FAR_*",), resolve=_public)

    async def story(book: Backends) -> None:
        await book.create("t", _KEYED, "me")
        await book.bind("t", "far", "bot", "me")
        with pytest.raises(StoreUnavailable) as caught:
            await book.store_of(Scope(tenant="t", agent="bot"))
        assert "FAR_KEY" in caught.value.detail

    _play(story, rules)

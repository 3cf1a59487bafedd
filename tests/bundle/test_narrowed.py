"""An export or a move that is narrowed tells nothing about what is outside of its scope."""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memorywire.sync import Memory
from tests.cli.shell import Inside

USERS = ("useranaq", "userbenq", "usercydq")
AGENTS = ("agentonex", "agenttwox", "agentthreex")
TENANTS = ("default", "tenantacmez")
OWNERS = {
    "default": {"agentonex": USERS[:2], "agenttwox": USERS[1:2], "agentthreex": USERS[2:]},
    "tenantacmez": {"agenttwox": USERS[1:], "agentthreex": USERS[:1]},
}
"""The users of each agent of each tenant: most pairs do not occur."""


@dataclass(frozen=True)
class Narrowing:
    options: tuple[str, ...]
    tenant: str = "default"
    agent: str | None = None
    user: str | None = None

    def is_inside(self, tenant: str, agent: str, user: str) -> bool:
        return tenant == self.tenant and self.agent in (None, agent) and self.user in (None, user)


NARROWINGS = [
    Narrowing(("--user", USERS[0]), user=USERS[0]),
    Narrowing(("--user", USERS[2]), user=USERS[2]),
    Narrowing(("--agent", AGENTS[1]), agent=AGENTS[1]),
    Narrowing(("--agent", AGENTS[0], "--user", USERS[1]), agent=AGENTS[0], user=USERS[1]),
    Narrowing(("--tenant", TENANTS[1]), tenant=TENANTS[1]),
    Narrowing(("--tenant", TENANTS[1], "--user", USERS[0]), tenant=TENANTS[1], user=USERS[0]),
]


def list_owners() -> list[tuple[str, str, str]]:
    return [
        (tenant, agent, user)
        for tenant, agents in OWNERS.items()
        for agent, users in agents.items()
        for user in users
    ]


def find_outside_names(narrowing: Narrowing) -> set[str]:
    """Names, ids and words that occur only outside of the scope."""
    inside = {owner for owner in list_owners() if narrowing.is_inside(*owner)}
    names = {name for owner in list_owners() for name in (*owner, "".join(owner))}
    names -= {name for owner in inside for name in (*owner, "".join(owner))}
    for tenant, agents in OWNERS.items():
        for agent, users in agents.items():
            is_all_inside = all(narrowing.is_inside(tenant, agent, user) for user in users)
            names |= set() if is_all_inside else {name_reason(tenant, agent)}
            names |= set() if is_all_inside and narrowing.user is None else {name_successor(tenant, agent)}
    return names - {"default"}


def name_reason(tenant: str, agent: str) -> str:
    """The reason of a change of all users of an agent."""
    return f"reason-{tenant}-{agent}"


def name_successor(tenant: str, agent: str) -> str:
    """The memory without a user that replaced memories of users."""
    return f"successor-{tenant}-{agent}"


def find_names(names: Iterable[str], data: bytes) -> set[str]:
    return {name for name in names if name.encode() in data}


def read_all(path: Path) -> bytes:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return b"\n".join(str(file).encode() + (file.read_bytes() if file.is_file() else b"") for file in files)


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Memories, proposals, keys and changes of several users at once, in each scope of OWNERS."""
    home = tmp_path_factory.mktemp("narrowed")
    for tenant, agents in OWNERS.items():
        for agent, users in agents.items():
            with Memory(agent, f"sqlite://{home}/memory.db", tenant=tenant) as memory:
                ids = []
                for user in users:
                    word = f"{tenant}{agent}{user}"
                    memory.remember(f"{word} likes tea", id=f"live-{word}", user_id=user, source="chat:1")
                    ids.append(memory.remember(f"{word} ends", id=f"end-{word}", user_id=user).id)
                    memory.remember(f"{word} moved", id=f"moved-{word}", user_id=user)
                    held = memory.remember(f"{word} waits", id=f"h-{word}", user_id=user, source="web:forum")
                    assert held.status == "staged"
                    memory.kv.of("user", user).set(f"key-{word}", word)
                end = memory.forget(ids, reason=name_reason(tenant, agent))
                memory.undo(str(end.change_id))
                memory.forget(ids, reason=name_reason(tenant, agent))
                moved = [f"moved-{tenant}{agent}{user}" for user in users]
                memory.remember("replaces them", id=name_successor(tenant, agent), supersedes=moved)
    return home


@pytest.fixture
def shell(filled_home: Path, tmp_path: Path) -> Inside:
    shutil.copytree(filled_home, tmp_path / "home")
    return Inside(tmp_path / "home")


@pytest.mark.parametrize("narrowing", NARROWINGS, ids=lambda one: " ".join(one.options))
@pytest.mark.parametrize("format_", ["bundle", "markdown", "csv", "okf"])
def test_a_narrowed_export_has_no_byte_from_outside(
    shell: Inside, tmp_path: Path, narrowing: Narrowing, format_: str
) -> None:
    path = tmp_path / "out"
    vectors = ("--with-vectors",) if format_ == "bundle" else ()
    result = shell("export", str(path), "--format", format_, *vectors, *narrowing.options)
    assert result.code == 0, result.err
    data = read_all(path)
    outside = find_outside_names(narrowing)
    assert find_names(outside, data) == set()
    inside = ["".join(owner) for owner in list_owners() if narrowing.is_inside(*owner)]
    assert find_names(inside, data) == set(inside)


def test_an_export_of_everything_has_every_name_of_the_tenant(shell: Inside, tmp_path: Path) -> None:
    """The control: the search finds names that are there."""
    path = tmp_path / "all.jsonl"
    assert shell("export", str(path)).code == 0
    names = {
        *USERS,
        *AGENTS,
        *(f(TENANTS[0], agent) for f in (name_reason, name_successor) for agent in AGENTS),
    }
    assert find_names(names, read_all(path)) == names
    assert shell("export", str(path), "--with-ledger", "--replace").code == 0
    assert find_names([TENANTS[1]], read_all(path)) == {TENANTS[1]}


@pytest.mark.parametrize("narrowing", NARROWINGS, ids=lambda one: " ".join(one.options))
def test_a_narrowed_move_leaves_no_byte_from_outside_in_the_target(
    shell: Inside, tmp_path: Path, narrowing: Narrowing
) -> None:
    source, target = f"sqlite://{shell.home}/memory.db", tmp_path / "target"
    target.mkdir()
    result = shell("migrate", source, f"sqlite://{target}/memory.db", *narrowing.options)
    assert result.code == 0, result.err
    data = read_all(target)
    assert find_names(find_outside_names(narrowing), data) == set()
    inside = ["".join(owner) for owner in list_owners() if narrowing.is_inside(*owner)]
    assert find_names(inside, data) == set(inside)


@pytest.mark.parametrize("narrowing", NARROWINGS, ids=lambda one: " ".join(one.options))
def test_the_ledger_of_all_is_refused_in_a_narrowed_export(
    shell: Inside, tmp_path: Path, narrowing: Narrowing
) -> None:
    result = shell("export", str(tmp_path / "out"), "--with-ledger", *narrowing.options)
    assert (result.code, "the ledger covers all tenants" in result.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_memory_that_an_agent_wide_forget_ended_has_ended_in_the_users_bundle(
    shell: Inside, tmp_path: Path
) -> None:
    path, other = tmp_path / "ana.jsonl", Inside(tmp_path / "other")
    assert shell("export", str(path), "--user", USERS[0]).code == 0
    assert other("import", str(path), "--trusted").code == 0
    items = other("list", "--agent", AGENTS[0], "--all", "--json").json["items"]
    word = f"default{AGENTS[0]}{USERS[0]}"
    assert f"live-{word}" in {item["id"] for item in items}
    assert not {f"end-{word}", f"moved-{word}"} & {item["id"] for item in items}

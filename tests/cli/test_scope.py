"""Every scope option of every command narrows what the command reads and changes, or is refused.

The commands and their options are read from the command line: a new one without a row in CASES fails.
"""

import csv
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import click
import pytest

from memorywire.cli.command import memorywire
from memorywire.sync import Memory
from tests.cli.shell import Done, Inside, Shell

SCOPE = ("agent", "user", "tenant")
TENANTS, AGENTS, USERS = ("default", "acme"), ("a", "b"), ("ana", "ben", "cyd")
HOME = ("default", "a", "ana")
"""Whose objects the commands name: tenant, agent, user."""
TARGET = {"agent": "b", "user": "ben", "tenant": "acme"}
"""What the option under test says; nothing of HOME may then be shown or changed."""


def marker(tenant: str, agent: str, user: str) -> str:
    return f"x{tenant}x{agent}x{user}x"


MARKERS = {key: marker(*key) for key in product(TENANTS, AGENTS, USERS)}


@dataclass(frozen=True)
class World:
    """A home with memories of three users, two agents and two tenants, and the ids of what is in it."""

    home: Path
    ids: dict[str, str]

    @property
    def shell(self) -> Shell:
        return Inside(self.home)

    @property
    def url(self) -> str:
        return f"sqlite://{self.home}/memory.db"


@dataclass(frozen=True)
class Case:
    """How a command is called, and what its answer or its effect must not contain.

    `shows`: without the option the answer has markers of HOME; with it, only markers of the target.
    `names`: the command names an object of HOME; with the option it is refused.
    `writes`: the command writes; what it writes is the target's.
    `checks` is a check of its own.
    """

    kind: str
    words: Callable[[World], Sequence[str]] = lambda world: ()
    stdin: bytes = b""
    checks: Callable[[World, str], None] | None = None


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))


COMMANDS = dict(leaves(memorywire))


def options_of(command: click.Command) -> set[str]:
    return {param.name for param in command.params if isinstance(param, click.Option)} & set(SCOPE)


def named(*words: str) -> Callable[[World], Sequence[str]]:
    """Words in which `@name` stands for an id of the world, `%name` for a new file."""

    def fill(world: World) -> list[str]:
        values = {"@url": world.url, **{f"@{name}": id for name, id in world.ids.items()}}
        return [
            str(world.home / word[1:]) if word.startswith("%") else values.get(word, word) for word in words
        ]

    return fill


def shows(*words: str, **rest: bytes) -> Case:
    return Case("shows", named(*words), **rest)


def names(*words: str) -> Case:
    return Case("names", named(*words))


def check_migrated(world: World, option: str) -> None:
    target = f"sqlite://{world.home}/target.db"
    done = world.shell("migrate", world.url, target, *narrowed(option))
    assert done.code == 0, done.err
    tenants = [TARGET["tenant"]] if option == "tenant" else ["default"]
    found = set()
    for tenant, agent in product(tenants, AGENTS):
        with Memory(agent, target, tenant=tenant) as memory:
            found |= {key for key, text in MARKERS.items() if text in str(memory.list(limit=1000).items)}
    assert found == expected(option)


def check_exported(world: World, option: str) -> None:
    for format_ in ("bundle", "csv", "markdown", "okf"):
        path = world.home / f"out-{format_}"
        done = world.shell("export", str(path), "--format", format_, *narrowed(option))
        assert done.code == 0, done.err
        files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        text = "".join(file.read_text() for file in files)
        assert markers_in(text) == expected(option), format_
    refused = world.shell("export", "-", "--with-ledger", *narrowed(option))
    assert refused.code == 2


def check_imported(world: World, option: str) -> None:
    path = world.home / "all.jsonl"
    assert world.shell("export", str(path)).code == 0
    fresh = Inside(world.home / "fresh")
    done = fresh("import", str(path), *narrowed(option))
    if option == "tenant":
        assert done.code == 0, done.err
        assert fresh("list", "--agent", "a", "--json").json["items"] == []
        return
    assert done.code == 2
    assert "the file has memories of" in done.err
    assert not fresh("list", "--agent", "a", "--json").json["items"]


def check_written(*words: str, stdin: bytes = b"") -> Callable[[World, str], None]:
    def check(world: World, option: str) -> None:
        fresh = Inside(world.home / "fresh")
        done = fresh(*named(*words)(world), *narrowed(option), stdin=stdin)
        assert done.code == 0, done.err
        tenant = ("--tenant", TARGET["tenant"]) if option == "tenant" else ()
        table = fresh.home / "all.csv"
        assert fresh("export", str(table), "--format", "csv", *tenant).code == 0
        rows = [*csv.DictReader(table.read_text().splitlines())]
        assert rows
        assert option == "tenant" or {row[f"{option}_id"] for row in rows} == {TARGET[option]}

    return check


def check_key(*words: str) -> Callable[[World, str], None]:
    """A user's key is given only under --of user; the agent and the tenant have keys of their own."""

    def check(world: World, option: str) -> None:
        if option == "user":
            assert world.shell("kv", *words, *narrowed("user")).code == 2
            assert world.shell("kv", *words, "--of", "tenant", *narrowed("agent")).code == 2
            assert world.shell("kv", *words, "--of", "user", "--user", "ana", *narrowed("agent")).code == 2
            return
        before = world.shell("kv", "list", "--agent", "a", "--json").out
        done = world.shell("kv", *words, *narrowed(option))
        assert "colour of default a" not in done.out
        assert world.shell("kv", "list", "--agent", "a", "--json").out == before

    return check


def check_call(world: World, option: str) -> None:
    shown = world.shell("call", "list", '{"limit": 1000}', *narrowed(option)).out
    assert markers_in(shown) == expected(option, agent="a")
    if option == "tenant":
        return
    whose = {"agent_id": "a", "user_id": "ana"}
    assert world.shell("call", "list", json.dumps(whose), *narrowed(option)).code == 2
    both = world.shell("call", "list", json.dumps({"agent_id": "a"}), "--user", "ben")
    assert markers_in(both.out) == {("default", "a", "ben")}
    assert world.shell("call", "rules", "{}", *narrowed(option)).code == 2
    assert markers_in(world.shell("call", "proposals", "{}", *narrowed(option)).out) == expected(option)


def check_audit_log(world: World, option: str) -> None:
    shown = world.shell("audit", "log", "--limit", "1000", "--json", *narrowed(option)).json["entries"]
    field = {"agent": "agent", "user": "user", "tenant": "tenant"}[option]
    assert {entry.get(field) for entry in shown} == {TARGET[option]}
    about = world.shell("audit", "log", "--subject", world.ids["change"], *narrowed(option))
    assert (about.code, about.out) == (0, "") or about.code == 2 or "no entry matches" in about.out
    if option == "agent":
        assert world.shell("audit", "log", "--all-agents", *narrowed(option)).code == 2


def check_audit_export(world: World, option: str) -> None:
    done = world.shell("audit", "export", *narrowed(option))
    entries = [line["entry"] for line in map(json.loads, done.out.splitlines()) if "entry" in line]
    said = [json.loads(entry) if isinstance(entry, str) else entry for entry in entries]
    assert {entry.get(option) for entry in said if isinstance(entry, dict)} <= {TARGET[option]}
    assert world.shell("audit", "export", "--whole", *narrowed(option)).code == 2


def check_audit_prove(world: World, option: str) -> None:
    own = world.shell("audit", "log", "--subject", world.ids["change"], "--json").json["entries"][0]["seq"]
    assert world.shell("audit", "prove", str(own)).code == 0
    assert world.shell("audit", "prove", str(own), *narrowed(option)).code == 3


def check_audit_verify(world: World, option: str) -> None:
    assert world.shell("audit", "verify", *narrowed(option)).code == 2
    assert world.shell("audit", "verify", "--contents", *narrowed(option)).code == 0


def check_erase(world: World, option: str) -> None:
    done = world.shell("erase", "ana", "--yes", "--json", *narrowed(option))
    assert done.code == 0, done.err
    left = {key for key in MARKERS if markers_in(everything(world, key[0])) >= {key}}
    gone = {
        key for key in MARKERS if key[2] == "ana" and key[{"agent": 1, "tenant": 0}[option]] == TARGET[option]
    }
    if option == "agent":
        gone = {key for key in gone if key[0] == "default"}
    assert left == set(MARKERS) - gone


def everything(world: World, tenant: str) -> str:
    return "".join(
        world.shell("list", "--agent", agent, "--tenant", tenant, "--all", "--json").out for agent in AGENTS
    )


def check_nothing_changed(*words: str) -> Callable[[World, str], None]:
    """What the command does to the target leaves the memories of HOME as they were."""

    def check(world: World, option: str) -> None:
        before = world.shell("list", "--agent", "a", "--user", "ana", "--all", "--json").out
        done = world.shell(*named(*words)(world), *narrowed(option))
        assert done.code in (0, 1, 3), done.err
        assert marker(*HOME) not in done.out
        assert world.shell("list", "--agent", "a", "--user", "ana", "--all", "--json").out == before

    return check


def check_backends(world: World, option: str) -> None:
    definition = json.dumps(
        {
            "name": "files",
            "url": f"sqlite://{world.home}/elsewhere.db",
            "tenancy": {"kind": "shared_key_with_prefix", "pattern": "t-{tenant_id}"},
        }
    ).encode()
    made = world.shell("backends", "create", "-", "--tenant", "acme", "--json", stdin=definition)
    assert made.code == 0, made.err
    assert world.shell("backends", "list", "--json").json["definitions"] == []
    assert len(world.shell("backends", "list", "--tenant", "acme", "--json").json["definitions"]) == 1
    for verb in (["show"], ["retire"], ["bind"]):
        assert world.shell("backends", *verb, "files").code == 3
    assert world.shell("backends", "fork", "files", "{}").code == 3
    bound = world.shell("backends", "bind", "files", "--agent", "b", "--tenant", "acme", "--json")
    assert bound.json["agents"] == ["b"]
    world.shell("backends", "unbind", "--agent", "a", "--tenant", "acme")
    assert world.shell("backends", "show", "files", "--tenant", "acme", "--json").json["agents"] == ["b"]


def check_webhooks(world: World, option: str) -> None:
    made = world.shell("webhook", "add", "https://example.org/hook", "--tenant", "acme", "--json").json["id"]
    assert world.shell("webhook", "list", "--tenant", "default", "--json").json["webhooks"] == []
    assert len(world.shell("webhook", "list", "--tenant", "acme", "--json").json["webhooks"]) == 1
    for verb in ("letters", "remove"):
        assert world.shell("webhook", verb, made, "--tenant", "default").code == 3
        assert world.shell("webhook", verb, made, "--tenant", "acme").code == 0


def check_hook(world: World, option: str) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "what does x like?"}
    done = world.shell("hook", *narrowed(option), stdin=json.dumps(event).encode())
    assert markers_in(done.out) <= expected(option, agent="a")


def check_mcp(world: World, option: str) -> None:
    config = world.shell("mcp", "--print-config", *narrowed(option)).out
    assert f"--{option}" in config
    assert TARGET[option] in config


def check_dream(world: World, option: str) -> None:
    check_nothing_changed("dream", "--dry-run", "--json")(world, option)
    behind = world.shell("dream", *narrowed(option), "runs")
    assert (behind.code, "after runs" in behind.err) == (2, True)


def check_policy(world: World, option: str) -> None:
    """A rule that the tenant `umbra` gave is neither shown to another tenant nor taken back by it."""
    own_rule, empty = world.home / "umbra.toml", world.home / "none.toml"
    own_rule.write_text('[[rule]]\nname = "umbral"\nverdict = "hold"\ntenant = ["umbra"]\n')
    empty.write_text("")
    given = world.shell("policy", "set", str(own_rule), "--tenant", "umbra", "--json").json
    for verb in ("show", "editions", "suggestions"):
        assert "umbral" not in world.shell("policy", verb, *narrowed(option)).out
    assert world.shell("policy", "restore", str(given["edition"]), *narrowed(option)).code == 3
    assert world.shell("policy", "set", str(empty), "--none", *narrowed(option)).code == 0
    for verb in ("activate", "revert"):
        assert world.shell("policy", verb, "umbral", *narrowed(option)).code in (2, 3)
    assert "umbral" in world.shell("policy", "show", "--tenant", "umbra").out


def check_person(*words: str) -> Callable[[World, str], None]:
    """A command that shows what is known about one user."""

    def check(world: World, option: str) -> None:
        scope = {"tenant": "default", "agent": "a", "user": "ana"} | {option: TARGET[option]}
        options = [word for name, value in scope.items() for word in (f"--{name}", value)]
        shown = world.shell(*words, *options, "--json").out
        owner = tuple(scope.values())
        assert [key for key in MARKERS if marker(*key) in shown] == [owner]

    return check


def check_profile(world: World, option: str) -> None:
    scope = {"tenant": "default", "agent": "a", "user": "ana"}
    here, there = (
        [word for name, value in one.items() for word in (f"--{name}", value)]
        for one in (scope, scope | {option: TARGET[option]})
    )
    fact = ("lives in Zwolle", "--kind", "identity", "--slot", "home")
    assert world.shell("remember", *fact, *there).code == 0
    assert "Zwolle" in world.shell("profile", *there).out
    assert "Zwolle" not in world.shell("profile", *here).out


def check_users(world: World, option: str) -> None:
    scope = {"agent": "a", "tenant": "default"}
    other = scope | {option: TARGET[option]}
    words = [word for name, value in other.items() for word in (f"--{name}", value)]
    assert world.shell("remember", "dora likes tea", "--user", "dora", *words).code == 0
    there = world.shell("users", *words, "--json").json["items"]
    here = world.shell("users", "--agent", "a", "--tenant", "default", "--json").json["items"]
    assert "dora" in {one["user_id"] for one in there}
    assert "dora" not in {one["user_id"] for one in here}


def check_agents(world: World, option: str) -> None:
    assert world.shell("remember", "a new agent", "--agent", "zed", *narrowed(option)).code == 0
    there, here = (world.shell("agents", *words, "--json").json for words in (narrowed(option), ()))
    assert "zed" in {one["agent_id"] for one in there["items"]}
    assert "zed" not in {one["agent_id"] for one in here["items"]}


def check_grant(world: World, option: str) -> None:
    own = ("--agent", "a", "--user", "ana")
    other = (*(() if option == "agent" else own[:2]), *narrowed(option))
    id = world.shell("share", "b", world.ids["memory"], *own, "--json").json["share_id"]
    there = world.shell("shares", *other, "--json").json["items"]
    assert [one["borrower"] for one in there] == (["b"] if option == "agent" else [])
    assert [world.shell("unshare", id, *words).code for words in (other, own)] == [3, 0]


def own(check: Callable[[World, str], None]) -> Case:
    return Case("own", checks=check)


TURN = json.dumps({"role": "user", "content": "I like tea"}).encode()

CASES: dict[str, Case] = {
    "capabilities": own(check_nothing_changed("capabilities", "--json")),
    "remember": own(check_written("remember", "a new memory")),
    "import-lines": own(check_written("import-lines", "%lines.txt")),
    "layer add": own(check_written("layer", "add", "--verbatim", stdin=TURN)),
    "recall": shows("recall", "likes", "-k", "50", "--min-relevance", "off", "--json"),
    "context": own(check_person("context", "what do you know about me?", "--budget", "9999")),
    "profile": own(check_profile),
    "layer recall": shows("layer", "recall", "likes", "--top-k", "50", "--json"),
    "list": shows("list", "--all", "--json"),
    "users": own(check_users),
    "agents": own(check_agents),
    "changes": own(lambda world, option: _no_shared_changes(world, option)),
    "scan": own(lambda world, option: _scanned(world, option)),
    "review list": shows("review", "list", "--json"),
    "dream rules": shows("dream", "rules", "--json"),
    "recover": shows("recover", "--source", "chat*", "--since", "1d", "--dry-run", "--json"),
    "expire": shows("expire", "--type", "semantic", "--dry-run", "--json"),
    "forget": names("forget", "@memory"),
    "get": names("get", "@memory"),
    "history": names("history", "@memory"),
    "merge": names("merge", "@memory", "@second"),
    "undo": names("undo", "@change"),
    "share": names("share", "b", "@memory"),
    **dict.fromkeys(("unshare", "shares"), own(check_grant)),
    "why": names("why", "@recall"),
    "review show": names("review", "show", "@proposal"),
    "review approve": names("review", "approve", "@proposal"),
    "review reject": names("review", "reject", "@proposal"),
    "review reopen": names("review", "reopen", "@rejected"),
    "review edit": names("review", "edit", "@proposal", "other words"),
    "review merge": names("review", "merge", "@proposal", "@memory"),
    "review supersede": names("review", "supersede", "@proposal", "@memory"),
    "layer event": names("layer", "event", "@event"),
    "procedure show": names("procedure", "show", "@procedure"),
    "procedure draw": names("procedure", "draw", "@procedure"),
    "procedure allowed": names("procedure", "allowed", "@procedure"),
    "procedure history": names("procedure", "history", "@procedure"),
    "procedure trigger": names("procedure", "trigger", "@procedure", "go"),
    "dream": own(check_dream),
    "dream promote": own(check_nothing_changed("dream", "promote", "--dry-run", "--json")),
    "dream runs": own(lambda world, option: _no_runs(world, option)),
    "dream show": names("dream", "show", "@run"),
    "dream undo": names("dream", "undo", "@run"),
    "kv get": own(check_key("get", "colour")),
    "kv set": own(check_key("set", "colour", "blue")),
    "kv incr": own(check_key("incr", "count")),
    "kv delete": own(check_key("delete", "colour")),
    "kv list": own(check_key("list")),
    "kv search": own(check_key("search", "colour")),
    "kv stats": own(check_key("stats")),
    "kv reembed": own(check_key("reembed")),
    "call": own(check_call),
    "erase": own(check_erase),
    "export": own(check_exported),
    "migrate": own(check_migrated),
    "import": own(check_imported),
    "audit log": own(check_audit_log),
    "audit export": own(check_audit_export),
    "audit prove": own(check_audit_prove),
    "audit verify": own(check_audit_verify),
    "calibrate": own(check_nothing_changed("calibrate", "--file", "%questions.jsonl")),
    "hook": own(check_hook),
    "mcp": own(check_mcp),
    "demo": own(lambda world, option: _is_refused(world.shell("demo", *narrowed(option)))),
    "policy test": own(lambda world, option: _trial(world, option)),
    **dict.fromkeys(
        (
            f"policy {verb}"
            for verb in ("show", "set", "editions", "restore", "suggestions", "activate", "revert")
        ),
        own(check_policy),
    ),
    **dict.fromkeys(
        (f"backends {verb}" for verb in ("list", "create", "show", "fork", "retire", "bind", "unbind")),
        own(check_backends),
    ),
    **dict.fromkeys(
        (f"webhook {verb}" for verb in ("add", "list", "letters", "remove")), own(check_webhooks)
    ),
}


def _is_refused(done: Done) -> None:
    assert done.code == 2


def _no_shared_changes(world: World, option: str) -> None:
    words = ("changes", "--json", *(() if option == "agent" else ("--agent", "a")))
    own_changes = world.shell("changes", "--agent", "a", "--user", "ana", "--json").json["changes"]
    others = world.shell(*words, *narrowed(option)).json["changes"]
    assert own_changes
    assert not {one["id"] for one in own_changes} & {one["id"] for one in others}


def _scanned(world: World, option: str) -> None:
    words = ("--json", *(() if option == "agent" else ("--agent", "a")), *narrowed(option))
    listed = world.shell("list", "--all", "--include-archived", *words).json["total"]
    assert world.shell("scan", *words).json["memories"] == listed


def _no_runs(world: World, option: str) -> None:
    words = () if option == "agent" else ("--agent", "a")
    assert world.ids["run"] in world.shell("dream", "runs", "--agent", "a", "--user", "ana").out
    assert world.ids["run"] not in world.shell("dream", "runs", *words, *narrowed(option)).out


def _trial(world: World, option: str) -> None:
    rule = json.dumps({"name": "x", "verdict": "hold", "source": ["chat*"]})
    words = ("policy", "test", rule, "--json")
    assert world.ids["change"] in world.shell(*words, "--agent", "a").json["sample"]
    agent = () if option == "agent" else ("--agent", "a")
    assert world.ids["change"] not in world.shell(*words, *agent, *narrowed(option)).json["sample"]


def narrowed(option: str) -> tuple[str, str]:
    return (f"--{option}", TARGET[option])


def markers_in(text: str) -> set[tuple[str, str, str]]:
    return {key for key, word in MARKERS.items() if word in text}


def expected(option: str, agent: str | None = None) -> set[tuple[str, str, str]]:
    """Whose memories a command shows that is narrowed by this option; of `agent` where one is the default."""
    place = {"tenant": 0, "agent": 1, "user": 2}[option]
    tenant = TARGET["tenant"] if option == "tenant" else "default"
    return {
        key
        for key in MARKERS
        if key[place] == TARGET[option]
        and key[0] == tenant
        and (option == "agent" or agent in (None, key[1]))
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    home = tmp_path_factory.mktemp("scope")
    url = f"sqlite://{home}/memory.db"
    ids: dict[str, str] = {}
    for tenant, agent in product(TENANTS, AGENTS):
        with Memory(agent, url, tenant=tenant) as memory:
            for user in USERS:
                word = marker(tenant, agent, user)
                ids |= _filled(memory, word, user, first=(tenant, agent, user) == HOME)
            memory.kv.set("colour", f"colour of {tenant} {agent}", embed=True)
            memory.kv.set("count", 1)
    shell = Inside(home)
    night = ("dream", "--agent", "a", "--user", "ana", "--json")
    ids["run"] = shell(*night).json["run"]
    questions = "\n".join(
        json.dumps({"query": query, "answerable": known})
        for query, known in (("who likes tea?", True), ("which planet is ninth?", False))
    )
    (home / "lines.txt").write_text("a new line")
    (home / "questions.jsonl").write_text(questions)
    (home / "memorywire.toml").write_text('agent = "a"\n')
    return World(home, ids)


def _filled(memory: Memory, word: str, user: str, *, first: bool) -> dict[str, str]:
    """Memories of one user: plain, twice the same, held, a procedure, a rule, and a session."""
    receipt = memory.remember(f"{word} likes tea", id=f"m{word}", user_id=user, source="chat:1")
    memory.remember(f"{word} likes rice", id=f"t{word}", user_id=user, source="chat:1")
    memory.remember(f"never call {word}", id=f"r{word}", user_id=user, tags=["blacklist"])
    held = memory.remember(f"{word} waits", id=f"h{word}", user_id=user, source="web:forum")
    if not first:
        return {}
    for ending in ("", "!"):  # which a dream merges
        memory.remember(f"{word} drinks coffee{ending}", user_id=user)
    rejected = memory.remember(f"{word} was rejected", user_id=user, source="web:forum")
    memory.decide([rejected.proposal_id], "reject")
    machine = {"name": "m", "initial": "off", "states": ["off", "on"], "transitions": [["go", "off", "on"]]}
    memory.remember(machine, id=f"p{word}", user_id=user, type="procedural")
    return {
        "memory": f"m{word}",
        "second": f"t{word}",
        "procedure": f"p{word}",
        "change": receipt.change_id,
        "proposal": held.proposal_id,
        "rejected": rejected.proposal_id,
        "recall": memory.recall(word, user_id=user).recall_id,
        "event": memory.layer.add([{"role": "user", "content": word}], infer=False, user_id=user).id,
    }


@pytest.fixture
def world(built: World, tmp_path: Path) -> World:
    home = tmp_path / "home"
    shutil.copytree(built.home, home)
    return World(home, built.ids)


def test_every_command_with_a_scope_option_is_checked():
    assert {name for name, command in COMMANDS.items() if options_of(command)} == set(CASES)


@pytest.mark.parametrize("option", SCOPE)
def test_a_scope_option_that_narrows_nothing_is_refused(world: World, option: str):
    for name, command in COMMANDS.items():
        if option not in options_of(command):
            done = world.shell(*name.split(), f"--{option}", TARGET[option])
            assert done.code == 2, name
            assert option in done.err, name


@pytest.mark.parametrize(
    ("name", "option"),
    [(name, option) for name in CASES for option in SCOPE if option in options_of(COMMANDS[name])],
)
def test_a_scope_option_narrows_what_a_command_reads_and_changes(world: World, name: str, option: str):
    case = CASES[name]
    if case.checks is not None:
        case.checks(world, option)
        return
    words = case.words(world)
    agent = () if option == "agent" or name.startswith("review") else ("--agent", "a")
    before = everything(world, "default")
    done = world.shell(*words, *agent, *narrowed(option), stdin=case.stdin)
    if case.kind == "names":
        assert done.code in (2, 3), done.out
        echo = [line for line in done.out.splitlines() if not any(word in line for word in words)]
        assert marker(*HOME) not in "\n".join(echo)
        assert everything(world, "default") == before
        own_scope = () if name.startswith(("review", "why")) else ("--agent", "a", "--user", "ana")
        proper = world.shell(*words, *own_scope, stdin=case.stdin)
        assert proper.code == 0, proper.err
        return
    shown = expected(option, agent=None if name.startswith("review") else "a")
    assert markers_in(done.out) == shown, done.err

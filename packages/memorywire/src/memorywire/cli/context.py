"""The context of a command: where the memory is, whose it is, and how the answer is printed."""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.cli.inputs import EXISTING_FILE, add_options, option
from memorywire.cli.problems import problems
from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.record import DEFAULT_TENANT, PERSON, Json

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.app.settings import Settings
    from memorywire.client.remote import BlockingClient
    from memorywire.client.sync import Memory

Answer = dict[str, Json]
Render = Callable[[Answer], Iterable[str]]

_READ_OPERATIONS = frozenset({"recall", "context", "profile", "get", "history", "changes"})
_UNDOABLE = ("sqlite:", "graph:", "memory:", "postgresql:", "postgres:", "pgvector:")
"""Stores that can always undo. For others, an undo is suggested only if their capabilities include it."""

_SCOPE = {
    "agent": option("--agent ID", "The agent whose memory is used."),
    "user": option("--user ID", "Only this user of the agent; default: all users."),
    "tenant": option("--tenant NAME", "The tenant, if several share a store."),
}
_STORE = option("--store URL", "The store to use; repeatable.", name="stores", multiple=True)
_OUTPUT = (
    option("--json", "Print the wire response as one JSON document.", name="as_json"),
    option(
        "--config",
        "The settings file to read instead of the default one.",
        type=EXISTING_FILE,
    ),
)


class CliContext(Struct, frozen=True, kw_only=True):
    """The settings of a command, the form of its answer, and the memory that it has open.

    The memory is opened when it is first used and closed when the command ends, so that a command with
    several requests opens it once.
    """

    read_settings: Callable[[], "Settings"]
    as_json: bool
    server: str | None = None
    """The address of a memorywire server to ask instead of opening a store."""
    options: tuple[str, ...] = ()
    """The typed options that select the store and the scope, as name and value in turn."""
    tenant_option: str | None = None
    cleanup: ExitStack = field(default_factory=ExitStack)
    memories: dict[tuple[str, Clock], "Memory"] = field(default_factory=dict)

    @property
    def settings(self) -> "Settings":
        """The settings, read when they are first needed."""
        return self.read_settings()

    @property
    def local_settings(self) -> "Settings":
        """The settings, for a command that needs the store itself; CapabilityUnsupported for a server."""
        if self.server is not None:
            raise CapabilityUnsupported(
                "this command needs the store itself, but MEMORYWIRE_URL is set to a server",
                field="store",
                fix="run it where the store is, or name the store with --store",
            )
        return self.settings

    @property
    def tenant(self) -> str:
        """The tenant: the typed one, else that of the server or store address, else that of the settings."""
        if self.tenant_option is not None:
            return self.tenant_option
        urls = self.settings.stores if self.server is None else (self.server,)
        addresses = [url.partition("#")[0] for url in urls if url.startswith(("http://", "https://"))]
        default = self.settings.tenant or DEFAULT_TENANT
        if not addresses:
            return default
        from memorywire.stores.remote.client import tenant_named

        return tenant_named(addresses) or default

    def for_agent(self, agent: str) -> "CliContext":
        """Return this context with suggested commands that name the agent."""
        if agent == self.settings.agent:
            return self
        pairs = zip(self.options[::2], self.options[1::2], strict=True)
        others = [word for pair in pairs if pair[0] != "--agent" for word in pair]
        return replace(self, options=(*others, "--agent", agent))

    @contextmanager
    def with_settings(self, settings: "Settings") -> Iterator["CliContext"]:
        """Yield this context under other settings, whose stores are opened here and closed at the end."""
        with ExitStack() as cleanup:
            yield replace(self, read_settings=lambda: settings, server=None, cleanup=cleanup, memories={})

    def memory(self, clock: Clock = system_clock, *, caller: str = PERSON) -> "Memory":
        """Return the memory of the settings, or of the server, where the token names the caller."""
        key = (caller, clock)
        if key not in self.memories:
            self.memories[key] = self.cleanup.enter_context(self._open(clock, caller))
        return self.memories[key]

    def _open(self, clock: Clock, caller: str) -> "Memory":
        if self.server is not None:
            if clock is not system_clock:
                raise CapabilityUnsupported("a server uses its own clock", field="clock")
            return self.client(self.server)
        from memorywire.client.sync import Memory

        return Memory(settings=self.settings, tenant=self.tenant, caller=caller, clock=clock)

    def readable_memory(self) -> "Memory":
        """Return the memory for a command that only reads, with notes about its stores for a person.

        A typed store that does not exist is an error; the default one is created by its first use.
        """
        if self.memories:
            return self.memory()
        from memorywire.cli.app import require_store, store_notes

        for url in self.settings.stores if "--store" in self.options else ():
            require_store(url)
        notes = [] if self.as_json or self.server is not None else store_notes(self.settings.stores)
        memory = self.memory()
        for line in notes:
            click.echo(line, err=True)
        return memory

    def client(self, address: str) -> "BlockingClient":
        """Return a client of the server at that address, for this scope."""
        from memorywire.client.remote import BlockingClient

        token, agent, user = os.environ.get("MEMORYWIRE_TOKEN"), self.settings.agent, self.settings.user
        tenant = None if self.tenant_option is None and self.settings.tenant is None else self.tenant
        return BlockingClient(address, agent, token=token, user_id=user, tenant=tenant)

    def call(self, operation: str, **fields: Json) -> Answer:
        """Send one request in this scope and return the answer; leaves out fields that are not set."""
        memory = self.readable_memory() if operation in _READ_OPERATIONS else self.memory()
        return memory.call(operation, self.payload(**fields))

    def payload(self, **fields: Json) -> Answer:
        """Return the request of this scope; without fields that are not set. Zero is a value."""
        values = {name: value for name, value in fields.items() if value is not None and value is not False}
        return {**self.scope(), **{name: value for name, value in values.items() if value != []}}

    def scope(self) -> Answer:
        user = {} if self.settings.user is None else {"user_id": self.settings.user}
        return {"agent_id": self.settings.agent, **user}

    def typed_scope(self) -> Answer:
        """Return the agent and the user that were typed; empty for all agents and users."""
        typed = dict(zip(self.options[::2], self.options[1::2], strict=True))
        scope = {"agent_id": typed.get("--agent"), "user_id": typed.get("--user")}
        return {name: value for name, value in scope.items() if value is not None}

    def refuse_scope(self, reason: str, *, names: Sequence[str] = tuple(_SCOPE)) -> None:
        """Raise InvalidRequest if one of these scope options was typed: the mode ignores them."""
        for name in names:
            if f"--{name}" in self.options[::2]:
                raise InvalidRequest(
                    f"--{name} has no effect here: {reason}", field=name, fix=f"leave out --{name}"
                )

    def show(self, answer: Answer, lines: Render | Iterable[str]) -> None:
        """Print the wire response as JSON, or the lines that explain it, or that a function makes of it."""
        if self.as_json:
            self.print_json(answer)
            return
        from memorywire.cli.terminal import style

        pending = answer.get("pending_approval")
        if pending:
            click.echo(style(f"held by rule {answer.get('rule')}: a person must approve it", colour="yellow"))
        for line in lines(answer) if callable(lines) else lines:
            click.echo(line)
        if pending:
            click.echo(f"  review with: {self.suggest('review', 'show', answer['proposal_id'])}")
        is_erased = answer.get("hard_delete") or answer.get("erased")
        if answer.get("change_id") and not is_erased and self._can_undo():
            click.echo(style(f"  undo with: {self.suggest('undo', answer['change_id'])}", dim=True))
        missing = [name for name in answer.get("degraded", ()) if name != "language"]  # has its own line
        if missing:
            click.echo(style(f"(incomplete answer: {', '.join(missing)})", colour="yellow"))

    def _can_undo(self) -> bool:
        """Return whether the stores can undo a change; a server is not asked."""
        if self.server is not None or all(url.startswith(_UNDOABLE) for url in self.settings.stores):
            return True
        return "undo" in self.memory().call("capabilities", {})["features"]

    def suggest(self, *words: str) -> str:
        """Return a command to type next, with the same store and scope; without passwords of addresses."""
        from memorywire.cli.terminal import mask_secrets

        return shlex.join(["memorywire", *words, *map(mask_secrets, self.options)])

    @staticmethod
    def print_json(document: Json) -> None:
        """Print JSON as UTF-8, whatever the encoding of the terminal."""
        click.echo(json.dumps(document, ensure_ascii=False, indent=2).encode())


def shared(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the common options, a CLI context, and problems instead of tracebacks."""
    return scoped(*_SCOPE)(function)


def shared_for_user(help: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `shared`, for a command that without `--user` is not about all users; the help says what it does."""
    user = option("--user ID", help)
    return partial(_add_context, add_options(_STORE, _SCOPE["agent"], user, _SCOPE["tenant"], *_OUTPUT))


def shared_for_owner(function: Callable[..., None]) -> Callable[..., None]:
    """As `shared`, for a command that stores memories: `--user` is their owner."""
    return shared_for_user("The user that the memories belong to; default: none.")(function)


def without_scope(function: Callable[..., None]) -> Callable[..., None]:
    """As `shared`, for a command about a whole store: without agent, user and tenant."""
    return scoped()(function)


def scoped(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `shared`, with only these of the options `agent`, `user` and `tenant`.

    The others are refused: an option that is accepted and ignored would make the answer cover more
    memories than the caller asked for.
    """
    return partial(_add_context, add_options(_STORE, *(_SCOPE[name] for name in names), *_OUTPUT))


def _add_context(
    decorate: Callable[[Callable[..., None]], Callable[..., None]], function: Callable[..., None]
) -> Callable[..., None]:
    @wraps(function)
    def run(
        *,
        stores: tuple[str, ...],
        agent: str | None = None,
        user: str | None = None,
        tenant: str | None = None,
        as_json: bool,
        config: Path | None,
        **rest: Json,
    ) -> None:
        with problems(as_json=as_json), ExitStack() as cleanup:
            scope = {"agent": agent, "user": user, "tenant": tenant, "config": config}
            options = [("--store", url) for url in stores]
            options += [(f"--{name}", str(value)) for name, value in scope.items() if value is not None]
            cli = CliContext(
                read_settings=cache(partial(_load_settings, config, stores, agent, user)),
                as_json=as_json,
                server=None if stores else os.environ.get("MEMORYWIRE_URL") or None,
                options=tuple(word for pair in options for word in pair),
                tenant_option=tenant,
                cleanup=cleanup,
            )
            function(cli, **rest)

    return decorate(run)


def _load_settings(
    config: Path | None, stores: tuple[str, ...], agent: str | None, user: str | None
) -> "Settings":
    """Return the settings; typed options come before the environment and the file."""
    from memorywire.app.settings import load_settings

    settings = load_settings(env=os.environ, config=config)
    return replace(
        settings,
        stores=stores or settings.stores,
        agent=settings.agent if agent is None else agent,
        user=settings.user if user is None else user,
    )


def store_names(outcomes: Iterable[Mapping[str, Json] | str]) -> str:
    """Return the stores of a receipt as text."""
    return ", ".join(one if isinstance(one, str) else one["store"] for one in outcomes) or "no store"

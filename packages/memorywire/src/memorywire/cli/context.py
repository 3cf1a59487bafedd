"""What every verb shares: where the memory is, whose it is, and how the answer is handed over."""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct
from msgspec.structs import replace

from memorywire.cli.problems import problems
from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.record import DEFAULT_TENANT, Json

if TYPE_CHECKING:  # the house is opened by verbs that need it, not to show --help
    from memorywire.app.settings import Settings
    from memorywire.client.remote import BlockingClient
    from memorywire.client.sync import Memory

PERSON = "person:local"
"""Who asks on a command line: the person at this machine, who is an operator by being there."""

Answer = dict[str, Json]
Render = Callable[[Answer], Iterable[str]]

_READING = frozenset({"recall", "get", "history", "changes"})

_SCOPE = {
    "agent": click.option("--agent", metavar="ID", help="Whose memory."),
    "user": click.option(
        "--user", metavar="ID", help="The one user of the agent who is meant; default: all of them."
    ),
    "tenant": click.option(
        "--tenant", metavar="NAME", help="Whose, where several tenants share a store or a server."
    ),
}
_STORE = click.option(
    "--store", "stores", multiple=True, metavar="URL", help="Where memories are kept; repeatable."
)
_OUTPUT = (
    click.option("--json", "as_json", is_flag=True, help="Print the wire response as one JSON document."),
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A settings file to read instead of the usual one.",
    ),
)


class CliContext(Struct, frozen=True, kw_only=True):
    """Where a verb works: its settings, and the form of its answer."""

    read: Callable[[], "Settings"]
    as_json: bool
    server: str | None = None
    """The address of a memorywire to ask instead of opening a store."""
    typed: tuple[str, ...] = ()
    """The options that say where and whose, as they were typed."""
    named: str | None = None
    """The tenant that was typed."""

    @property
    def settings(self) -> "Settings":
        """Read when they are first needed."""
        return self.read()

    @property
    def here(self) -> "Settings":
        """The settings, for a verb that needs the store itself; CapabilityUnsupported if a server has it."""
        if self.server is not None:
            raise CapabilityUnsupported(
                "this needs the store itself, and MEMORYWIRE_URL names a server",
                field="store",
                fix="run it where the store is, or name the store with --store",
            )
        return self.settings

    @property
    def tenant(self) -> str:
        """Whose memories: the tenant that was typed, that the address of the server or of a store names, or
        that the settings name."""
        if self.named is not None:
            return self.named
        known = self.settings.stores if self.server is None else (self.server,)
        far = [url.partition("#")[0] for url in known if url.startswith(("http://", "https://"))]
        otherwise = self.settings.tenant or DEFAULT_TENANT
        if not far:
            return otherwise
        from memorywire.stores.remote.client import tenant_named

        return tenant_named(far) or otherwise

    def of(self, agent: str) -> "CliContext":
        """The same desk; the commands it suggests name this agent."""
        if agent == self.settings.agent:
            return self
        pairs = zip(self.typed[::2], self.typed[1::2], strict=True)
        others = [word for pair in pairs if pair[0] != "--agent" for word in pair]
        return replace(self, typed=(*others, "--agent", agent))

    def under(self, settings: "Settings") -> "CliContext":
        """The same desk under other settings, whose stores are opened here."""
        return replace(self, read=lambda: settings, server=None)

    @contextmanager
    def memory(self, clock: Clock = system_clock, *, caller: str = PERSON) -> Iterator["Memory"]:
        """The memory of the settings, or of the server, where the token says who asks."""
        if self.server is not None:
            if clock is not system_clock:
                raise CapabilityUnsupported("a server has a clock of its own", field="clock")
            with self.client(self.server) as client:
                yield client
            return
        from memorywire.client.sync import Memory

        opening = {**self.settings.opening, "tenant": self.tenant, "caller": caller, "clock": clock}
        with Memory(**opening) as memory:
            yield memory

    @contextmanager
    def reading(self) -> Iterator["Memory"]:
        """The memory for a verb that changes nothing; a person is told what is odd about its stores.

        A store that was typed and is not there was misspelt; the usual one is made by its first use.
        """
        from memorywire.cli.app import require_store, store_notes

        for url in self.settings.stores if "--store" in self.typed else ():
            require_store(url)
        odd = [] if self.as_json or self.server is not None else store_notes(self.settings.stores)
        with self.memory() as memory:
            for line in odd:
                click.echo(line, err=True)
            yield memory

    def client(self, address: str) -> "BlockingClient":
        """The same memory at the server of that address."""
        from memorywire.client.remote import BlockingClient

        token, agent, user = os.environ.get("MEMORYWIRE_TOKEN"), self.settings.agent, self.settings.user
        tenant = None if self.named is None and self.settings.tenant is None else self.tenant
        return BlockingClient(address, agent, token=token, user_id=user, tenant=tenant)

    def call(self, operation: str, **fields: Json) -> Answer:
        """Send one request in this scope; fields that were not given are left out.

        For a reader, a change also says whether the stores here could take it back.
        """
        with self.reading() if operation in _READING else self.memory() as memory:
            answer = memory.call(operation, self.payload(**fields))
            if answer.get("change_id") and not self.as_json:
                answer["can_undo"] = "undo" in memory.call("capabilities", {})["features"]
            return answer

    def payload(self, **fields: Json) -> Answer:
        return {**self.scope(), **{name: value for name, value in fields.items() if _given(value)}}

    def scope(self) -> Answer:
        user = {} if self.settings.user is None else {"user_id": self.settings.user}
        return {"agent_id": self.settings.agent, **user}

    def reach(self) -> Answer:
        """Whose proposals and recalls: everybody's, but for the agent or the user that was typed."""
        typed = dict(zip(self.typed[::2], self.typed[1::2], strict=True))
        named = {"agent_id": typed.get("--agent"), "user_id": typed.get("--user")}
        return {name: value for name, value in named.items() if value is not None}

    def refuse_scope(self, why: str, *, names: Sequence[str] = tuple(_SCOPE)) -> None:
        """Raise InvalidRequest if one of these scope options was typed, for a mode that does not narrow."""
        for name in names:
            if f"--{name}" in self.typed[::2]:
                raise InvalidRequest(
                    f"--{name} does not narrow this: {why}", field=name, fix=f"leave out --{name}"
                )

    def show(self, answer: Answer, render: Render) -> None:
        """Print the wire response itself, or what it means to a reader."""
        if self.as_json:
            self.print_json(answer)
            return
        if answer.get("pending_approval"):
            click.echo(f"held for a person by rule {answer.get('rule')}; nothing has changed yet")
        for line in render(answer):
            click.echo(line)
        if answer.get("pending_approval"):
            click.echo(f"  review with: {self.again('review', 'show', answer['proposal_id'])}")
        erased = answer.get("hard_delete") or answer.get("erased")
        if answer.get("change_id") and answer.get("can_undo", True) and not erased:
            click.echo(f"  undo with: {self.again('undo', answer['change_id'])}")
        if answer.get("degraded"):
            click.echo(f"(not everything that was asked for could be done: {', '.join(answer['degraded'])})")

    def again(self, *words: str) -> str:
        """A command to suggest next, about the same memory; a password in an address is not shown."""
        from memorywire.cli.terminal import without_secrets

        return shlex.join(["memorywire", *words, *map(without_secrets, self.typed)])

    @staticmethod
    def print_json(document: Json) -> None:
        """As UTF-8 whatever the terminal speaks, because JSON is UTF-8."""
        click.echo(json.dumps(document, ensure_ascii=False, indent=2).encode())


def shared(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options all verbs have, a desk to work at, and problems instead of tracebacks."""
    return scoped(*_SCOPE)(function)


def of_everybody(function: Callable[..., None]) -> Callable[..., None]:
    """As `shared`, for a verb about a store with all that are in it: whose memory is not asked."""
    return scoped()(function)


def scoped(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `shared`, for a verb that only these of `agent`, `user` and `tenant` narrow.

    The verb refuses the other scope options: an option that is accepted and ignored would make the answer
    cover more memories than the caller asked for.
    """
    options = (_STORE, *(_SCOPE[name] for name in names), *_OUTPUT)
    return partial(_with, options)


def _with(
    options: Sequence[Callable[..., Callable[..., None]]], function: Callable[..., None]
) -> Callable[..., None]:
    @wraps(function)
    def at_a_desk(
        *,
        stores: tuple[str, ...],
        agent: str | None = None,
        user: str | None = None,
        tenant: str | None = None,
        as_json: bool,
        config: Path | None,
        **rest: Json,
    ) -> None:
        with problems(as_json=as_json):
            read = cache(partial(_settings, config, stores, agent, user))
            typed = _typed(stores, {"agent": agent, "user": user, "tenant": tenant, "config": config})
            server = None if stores else os.environ.get("MEMORYWIRE_URL") or None
            cli = CliContext(read=read, as_json=as_json, server=server, typed=typed, named=tenant)
            function(cli, **rest)

    for option in reversed(options):
        option(at_a_desk)
    return at_a_desk


def _settings(
    config: Path | None, stores: tuple[str, ...], agent: str | None, user: str | None
) -> "Settings":
    """The settings, with typed options over the environment and the file."""
    from memorywire.app.settings import load_settings

    settings = load_settings(env=os.environ, config=config)
    return replace(
        settings,
        stores=stores or settings.stores,
        agent=settings.agent if agent is None else agent,
        user=settings.user if user is None else user,
    )


def _typed(stores: tuple[str, ...], others: Mapping[str, Json]) -> tuple[str, ...]:
    options = [("--store", url) for url in stores]
    options += [(f"--{name}", str(value)) for name, value in others.items() if value is not None]
    return tuple(word for option in options for word in option)


def _given(value: Json) -> bool:
    """Whether an option was given; zero is a value."""
    return value is not None and value is not False and value != []


def names(outcomes: Iterable[Mapping[str, Json] | str]) -> str:
    """The stores of a receipt, in words."""
    return ", ".join(one if isinstance(one, str) else one["store"] for one in outcomes) or "no store"

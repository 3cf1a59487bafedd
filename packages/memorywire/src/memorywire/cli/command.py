"""The table of commands, and the boundary of the process: exit codes, problems, no tracebacks."""

import gc
import importlib
import io
import os
import sys
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING

import click

from memorywire import __version__
from memorywire.cli.problems import INTERRUPTED, REFUSED, STORE_FAILURE, USAGE, UsageHint, bug, problem_lines
from memorywire.model.text import install_hint

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


_SECTIONS = {
    "Memory": "remember recall context:prompt_context profile:prompt_context get:lookup list:lookup "
    "history:lookup agents:lookup users:lookup forget merge:forget expire:forget changes "
    "undo:changes share unshare:share shares:share kv layer procedure",
    "Review and audit": "review policy why:lookup audit archive scan:recover recover erase:forget",
    "Serve": "serve mcp hook operator webhook call capabilities:about",
    "Move data": "export import:import_ import-lines:import_ migrate:import_ backup restore:backup",
    "Maintain": "doctor dream calibrate reembed debts backends conformance",
    "About": "demo version:about completion:about",
}
SECTIONS: dict[str, dict[str, str]] = {
    title: {name: module or name for name, _, module in (word.partition(":") for word in words.split())}
    for title, words in _SECTIONS.items()
}
"""The commands as `memorywire --help` groups them, each with the module of this package that defines it.

The module of a command in SATELLITES is not used.
"""

COMMANDS = {name: module for section in SECTIONS.values() for name, module in section.items()}

ALIASES = {
    **dict.fromkeys(("search", "find"), "recall"),
    **dict.fromkeys(("add", "save"), "remember"),
    **dict.fromkeys(("rm", "delete"), "forget"),
    **{"ls": "list", "show": "get", "log": "changes"},
}
"""Other words for commands. They are not listed in the help."""

HINTS = {
    "stats": "`memorywire agents` and `memorywire users` count memories, `memorywire kv stats` counts keys",
    "status": "`memorywire doctor` examines the store, `memorywire review list` shows what waits for you",
    "update": "`memorywire remember TEXT --id ID --if-version N` writes the next version of a memory",
    "edit": "`memorywire remember TEXT --id ID --if-version N` writes the next version of a memory",
    "verify": "`memorywire audit verify` checks the ledger, with --state the memories as well",
    "approve": "`memorywire review approve ID` approves a proposal",
    "reject": "`memorywire review reject ID` rejects a proposal",
    "config": "settings come from memorywire.toml and MEMORYWIRE_ variables; `memorywire doctor` shows which",
}
"""Words that people type and that several commands answer."""

GROUP = "memorywire.commands"
"""Entry points of this group add commands; each names a click command.

Its module may have EXAMPLES, as this one.
"""

SATELLITES = {
    **dict.fromkeys(("archive", "mcp", "operator", "serve", "webhook"), "memorywire-server"),
    **dict.fromkeys(("bench", "calibrate", "eval"), "memorywire-evals"),
    "conformance": "memorywire-testing",
    "dream": "memorywire-consolidate",
    "shards": "memorywire-postgres",
}
"""Commands of packages that may not be installed, so that an error can say what to install."""

BRIEF = (
    frozenset("remember recall context forget merge get list history undo changes kv why hook".split())
    | ALIASES.keys()
)
"""Commands that end too soon for garbage collection to pay off."""

_NO_COMMAND: tuple[type[click.ClickException], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])  # since click 8.2
)


class HelpContext(click.Context):
    """A context whose help ends with examples."""

    def get_help(self) -> str:

        lines = EXAMPLES.get(self.command_path.removeprefix("memorywire").strip(), ())
        heading = "Example:" if len(lines) == 1 else "Examples:"
        block = ["", heading, *(f"  {line}" for line in lines)] if lines else []
        return "\n".join([super().get_help(), *block])


class Commands(click.Group):
    """Loads the module of a command when the command is named, so that the others cost nothing."""

    context_class = HelpContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        points = _list_added()
        own = [name for name in COMMANDS if name not in SATELLITES or name in points]
        return [*own, *sorted(points.keys() - COMMANDS.keys())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name in COMMANDS and name not in SATELLITES:
            module = importlib.import_module(f"memorywire.cli.{COMMANDS[name]}")
            command: click.Command | None = getattr(module, f"{name.replace('-', '_')}_command")
        else:
            point = _list_added().get(name)
            command = None if point is None else point.load()
            if point is not None:
                EXAMPLES.update(getattr(sys.modules[point.module], "EXAMPLES", {}))
        if command is not None:
            _use_help_context(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = {"Added by other packages": sorted(_list_added().keys() - COMMANDS.keys())}
        width = max(map(len, [*COMMANDS, *self.list_commands(ctx)]))
        for title, names in {**SECTIONS, **others}.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            rows = [
                (
                    name.ljust(width),
                    f"(needs the package {SATELLITES[name]})"
                    if command is None
                    else command.get_short_help_str(limit=formatter.width - 6 - width),
                )
                for name, command in commands.items()
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of the pipe, such as `head`, has closed it
            _silence()
            return 0

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if word == "help":
            args = [*args[1:], "--help"]
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            word = args[0]
        if word in SATELLITES or (word not in COMMANDS and word not in ALIASES):
            self._refuse_unknown(ctx, word)
        name, command, rest = super().resolve_command(ctx, args)
        return name if command is None else command.name, command, rest

    def _refuse_unknown(self, ctx: click.Context, word: str) -> None:
        """Raise UsageError with a hint, unless an installed package adds the command."""
        import difflib

        names = self.list_commands(ctx)
        if word in names or word.startswith("-"):
            return
        if package := SATELLITES.get(word):
            reason = f"`memorywire {word}` needs the package {package}"
            raise UsageHint(reason, ctx, install_hint(package))
        if word in HINTS:
            raise click.UsageError(f"no command {word!r}: {HINTS[word]}", ctx)
        similar = difflib.get_close_matches(word, [*names, *ALIASES, *HINTS], n=1)
        hint = f"; did you mean {similar[0]!r}?" if similar else ""
        raise click.UsageError(f"no command {word!r}{hint}", ctx)


def _use_help_context(command: click.Command) -> None:
    command.context_class = HelpContext
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _use_help_context(inner)


@cache
def _list_added() -> dict[str, "EntryPoint"]:
    """Return the commands that other installed packages add, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="Exit codes: 0 done, 1 a check found faults, 2 wrong usage or request, "
    "3 refused or not found, 4 store failure, 130 interrupted.",
)
@click.version_option(__version__, message="memorywire %(version)s")
@click.pass_context
def memorywire(context: click.Context) -> None:
    """Memory for AI agents, with a receipt for every write."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit(USAGE)


def run() -> None:
    sys.excepthook = _last_resort
    if BRIEF.isdisjoint(sys.argv[1:2]):
        gc.enable()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that lack a character
    code = _exit_code()
    if code == INTERRUPTED:  # do not wait for threads that wait for the network
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    gc.freeze()  # the process ends: skip the last collection
    sys.exit(code)


def _exit_code() -> int:
    try:
        code = memorywire.main(prog_name="memorywire", standalone_mode=False)
    except click.Abort as error:
        click.echo("stopped; nothing more was done", err=True)
        return INTERRUPTED if isinstance(error.__context__, KeyboardInterrupt) else REFUSED
    except click.ClickException as error:
        _show_usage(error)
        return USAGE
    except OSError as error:
        _silence()
        reason = error.strerror or str(error)
        problem = {"code": "store_unavailable", "detail": f"the answer could not be written: {reason}"}
        if error.filename is not None:
            problem["detail"] = f"{os.fsdecode(error.filename)}: {reason}"
            problem["fix"] = "check the name, the permissions and the free space, then retry"
        for line in problem_lines(problem, as_json="--json" in sys.argv[1:]):
            click.echo(line, err=True)
        return STORE_FAILURE
    return code if isinstance(code, int) else 0


def _silence() -> None:
    """Drop unwritten output, so that Python does not try to write it when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _show_usage(error: click.ClickException) -> None:
    """Print wrong options as a problem, in the form of wrong requests."""
    if isinstance(error, _NO_COMMAND):
        click.echo(error.format_message())  # a group without a command shows its help
        return
    problem, as_json = (
        {"code": "validation_error", "detail": error.format_message()},
        "--json" in sys.argv[1:],
    )
    if as_json and isinstance(error, click.BadParameter) and error.param is not None and error.param.name:
        problem["field"] = error.param.name.rstrip(
            "_"
        )  # the name on the wire; as text, click names the option
    if isinstance(error, click.UsageError) and error.ctx is not None:
        problem["fix"] = (
            error.fix if isinstance(error, UsageHint) else f"see `{error.ctx.command_path} --help`"
        )
        if isinstance(error, click.NoSuchOption) and isinstance(error.ctx.command, click.Group):
            problem["fix"] += f"; put {error.option_name} after the command"
    for line in problem_lines(problem, as_json=as_json):
        click.echo(line, err=True)


def _last_resort(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if sys.flags.dev_mode or issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    for line in problem_lines(bug(error), as_json="--json" in sys.argv[1:]):
        click.echo(line, err=True)


EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "memorywire remember 'Ana likes green tea' --user ana",
        "memorywire recall 'what does Ana drink?'",
        "memorywire help recall",
    ),
    "remember": (
        "memorywire remember 'Ana likes green tea' --user ana --tag taste",
        "git log -1 --format=%B | memorywire remember - --type episodic --source git",
    ),
    "recall": (
        "memorywire recall 'what does Ana drink?' -k 3",
        """memorywire recall 'open incidents' --filter '{"tags": {"contains": "incident"}}' --explain""",
    ),
    "context": (
        "memorywire context 'Which snacks can I eat?' --user ana",
        "memorywire context 'Set up a new database' --budget 256 --explain",
    ),
    "profile": ("memorywire profile --user ana --history",),
    "get": ("memorywire get 01a1e811-37c3",),
    "list": ("memorywire list --user ana --limit 50",),
    "history": ("memorywire history 01a1e811-37c3",),
    "agents": ("memorywire agents",),
    "users": ("memorywire users --agent support",),
    "forget": (
        "memorywire forget 01a1e811-37c3 --reason 'no longer true'",
        """memorywire forget --filter '{"tags": {"contains": "draft"}}' --dry-run""",
    ),
    "merge": ("memorywire merge 01a1e811-37c3 01a1e811-389f",),
    "expire": ("memorywire expire --older-than-days 90 --type episodic --action archive --dry-run",),
    "changes": ("memorywire changes -k 5",),
    "undo": ("memorywire undo --last", "memorywire undo 01a1e811-3886"),
    "share": (
        "memorywire share support --tag runbook --expires 30d",
        "memorywire share support 01a1e811-37c3 --agent ops --reasoning 'they are on call'",
    ),
    "unshare": ("memorywire unshare grant-2765324cf13f94564652a7faafdfb903",),
    "shares": ("memorywire shares --agent support",),
    "kv": ("memorywire kv set theme dark", "memorywire kv get theme"),
    "kv get": ("memorywire kv get theme --of user --user ana",),
    "kv set": ("""memorywire kv set limits '{"rows": 50}' --ttl 3600""",),
    "kv incr": ("memorywire kv incr visits 1",),
    "kv delete": ("memorywire kv delete theme",),
    "kv list": ("memorywire kv list settings/ -k 20",),
    "kv search": ("memorywire kv search 'colour scheme' -k 3",),
    "kv stats": ("memorywire kv stats",),
    "kv reembed": ("memorywire kv reembed",),
    "layer": ("memorywire layer add --file chat.jsonl", "memorywire layer recall 'what did Ana order?'"),
    "layer add": ("memorywire layer add --file chat.jsonl --session s1",),
    "layer event": ("memorywire layer event 01a1e811-37c3-7000-937e-ee3ca3f930e9",),
    "layer recall": ("memorywire layer recall 'what did Ana order?' -k 3",),
    "layer work": ("memorywire layer work",),
    "procedure": ("memorywire procedure show refund",),
    "procedure show": ("memorywire procedure show refund",),
    "procedure trigger": ("memorywire procedure trigger refund pay --fact approved=true",),
    "procedure allowed": ("memorywire procedure allowed refund --fact approved=true",),
    "procedure history": ("memorywire procedure history refund",),
    "procedure draw": ("memorywire procedure draw refund --as svg > refund.svg",),
    "review": ("memorywire review list", "memorywire review approve 01a1e811-37c3"),
    "review list": ("memorywire review list --rule untrusted-source",),
    "review show": ("memorywire review show 01a1e811-37c3",),
    "review approve": ("memorywire review approve 01a1e811-37c3 --reason 'checked with Ana'",),
    "review reject": ("memorywire review reject --all --rule untrusted-source",),
    "review reopen": ("memorywire review reopen 01a1e811-37c3",),
    "review edit": ("memorywire review edit 01a1e811-37c3 'Ana likes black tea'",),
    "review merge": ("memorywire review merge 01a1e811-37c3 01a1e811-389f",),
    "review supersede": ("memorywire review supersede 01a1e811-37c3 01a1e811-389f",),
    "policy": ("memorywire policy show", "memorywire policy set rules.toml"),
    "policy show": ("memorywire policy show",),
    "policy check": ("memorywire policy check rules.toml",),
    "policy test": ("""memorywire policy test '{"name": "web", "verdict": "hold", "source": ["web*"]}'""",),
    "policy set": ("memorywire policy set rules.toml --if-edition 3",),
    "policy editions": ("memorywire policy editions",),
    "policy restore": ("memorywire policy restore 2",),
    "policy suggestions": ("memorywire policy suggestions",),
    "policy activate": ("memorywire policy activate learned-warehouse",),
    "policy revert": ("memorywire policy revert learned-warehouse",),
    "why": ("memorywire why 01a1e811-37c3",),
    "audit": ("memorywire audit log", "memorywire audit verify"),
    "audit log": ("memorywire audit log --operation forget --since 7d -k 50",),
    "audit verify": ("memorywire audit verify --state",),
    "audit verify-hit": ("memorywire audit verify-hit answer.json --key KEY",),
    "audit checkpoint": ("memorywire audit checkpoint > checkpoint.txt",),
    "audit prove": ("memorywire audit prove 42 --output proof.jsonl",),
    "audit export": ("memorywire audit export --whole --output ledger.jsonl",),
    "scan": ("memorywire scan --fix",),
    "recover": ("memorywire recover --source 'web:*' --since 7d --dry-run",),
    "erase": ("memorywire erase ana --dry-run",),
    "hook": ('echo \'{"hook_event_name": "SessionStart", "session_id": "s"}\' | memorywire hook',),
    "call": ("""memorywire call recall '{"query": "what does Ana drink?"}'""",),
    "capabilities": ("memorywire capabilities",),
    "export": ("memorywire export memory.jsonl --with-ledger", "memorywire export notes --format markdown"),
    "import": ("memorywire import memory.jsonl --dry-run", "memorywire import conversations.json --agent me"),
    "import-lines": ("memorywire import-lines facts.txt --source handbook",),
    "migrate": ("memorywire migrate sqlite:///./old.db postgresql://me@db/memory --dry-run",),
    "backup": ("memorywire backup backup.db",),
    "restore": ("memorywire restore backup.db --replace",),
    "doctor": ("memorywire doctor", "memorywire doctor --url http://127.0.0.1:8377"),
    "reembed": ("memorywire reembed --dry-run",),
    "debts": ("memorywire debts", "memorywire debts pay"),
    "backends": ("memorywire backends create team.json", "memorywire backends bind team --agent support"),
    "backends list": ("memorywire backends list",),
    "backends create": ("memorywire backends create team.json",),
    "backends show": ("memorywire backends show team",),
    "backends fork": ("""memorywire backends fork team '{"name": "team-2"}'""",),
    "backends retire": ("memorywire backends retire team",),
    "backends bind": ("memorywire backends bind team --agent support",),
    "backends unbind": ("memorywire backends unbind --agent support",),
    "demo": ("memorywire demo",),
    "version": ("memorywire version",),
    "completion": (
        'eval "$(memorywire completion bash)"  # in ~/.bashrc',
        'eval "$(memorywire completion zsh)"  # in ~/.zshrc',
        "memorywire completion fish > ~/.config/fish/completions/memorywire.fish",
    ),
}

"""The table of commands, and the boundary of the process: exit codes, problems, no tracebacks."""

import gc
import importlib
import io
import json
import os
import sys
from functools import cache
from pathlib import Path
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
"""Aliases of commands, which the help does not list."""

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

Its module may have EXAMPLES by the path of a command.
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
"""Commands that are too short for garbage collection to pay off."""

_NO_COMMAND: tuple[type[click.ClickException], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])  # since click 8.2
)


class HelpContext(click.Context):
    """A context whose help ends with examples."""

    def get_help(self) -> str:

        lines = load_examples().get(self.command_path.removeprefix("memorywire").strip(), ())
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
                load_examples().update(getattr(sys.modules[point.module], "EXAMPLES", {}))
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


@cache
def load_examples() -> dict[str, tuple[str, ...]]:
    """Return the examples of each command, by its path; satellites add theirs."""
    document = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
    return {path: tuple(lines) for path, lines in document.items()}

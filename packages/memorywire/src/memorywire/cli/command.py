"""The table of verbs, and the boundary of the process: exit codes, problems, no tracebacks."""

import difflib
import gc
import importlib
import io
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

import click

from memorywire import __version__
from memorywire.cli.problems import INTERRUPTED, REFUSED, STORE_FAILURE, USAGE, bug, problem_lines

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SECTIONS: dict[str, dict[str, str]] = {
    "Memory": {
        "remember": "remember",
        "recall": "recall",
        "get": "lookup",
        "list": "lookup",
        "history": "lookup",
        "forget": "forget",
        "merge": "forget",
        "expire": "forget",
        "changes": "changes",
        "undo": "changes",
        "kv": "kv",
        "layer": "layer",
        "procedure": "procedure",
    },
    "Review and audit": {
        "review": "review",
        "policy": "policy",
        "why": "lookup",
        "audit": "audit",
        "scan": "recover",
        "recover": "recover",
        "erase": "forget",
    },
    "Serve": {
        "serve": "serve",
        "mcp": "mcp",
        "hook": "hook",
        "operator": "operator",
        "webhook": "webhook",
        "call": "call",
        "capabilities": "about",
    },
    "Move data": {
        "export": "export",
        "import": "import_",
        "import-lines": "import_",
        "migrate": "migrate",
        "backup": "backup",
        "restore": "backup",
    },
    "Maintain": {
        "doctor": "doctor",
        "dream": "dream",
        "calibrate": "calibrate",
        "reembed": "reembed",
        "debts": "debts",
        "backends": "backends",
        "shards": "shards",
        "conformance": "conformance",
    },
    "About": {
        "demo": "demo",
        "version": "about",
        "completion": "about",
    },
}
"""The commands as `memorywire --help` groups them, each with the module of this package that defines it."""

COMMANDS = {name: module for section in SECTIONS.values() for name, module in section.items()}

GROUP = "memorywire.commands"
"""Entry points of this group add commands; each names a click command."""

SATELLITES = {"bench": "memorywire-evals", "eval": "memorywire-evals"}
"""Commands of packages that may not be installed, so that an error can say what to install."""

BRIEF = frozenset(
    (
        "remember",
        "recall",
        "forget",
        "merge",
        "get",
        "list",
        "history",
        "undo",
        "changes",
        "kv",
        "why",
        "hook",
    )
)
"""Verbs that end so soon that looking for garbage would take longer than all they do."""


_NO_COMMAND: tuple[type[click.ClickException], ...] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])  # since click 8.2
)


class Verbs(click.Group):
    """Loads a verb's file when the verb is named, so that no command pays for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *sorted(_added())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return _load_added(cmd_name)
        module = importlib.import_module(f"memorywire.cli.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read has seen enough
            _silence()
            return 0

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = COMMANDS if args[0] in COMMANDS else self.list_commands(ctx)
        near = difflib.get_close_matches(args[0], names, n=1)
        if args[0] in SATELLITES and args[0] not in names:
            raise click.UsageError(f"`memorywire {args[0]}` needs: pip install {SATELLITES[args[0]]}", ctx)
        if near and args[0] not in names:
            raise click.UsageError(f"no such command {args[0]!r}; did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)


def _added() -> dict[str, "EntryPoint"]:
    """The commands that other installed packages add, by name."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=GROUP)}


def _load_added(name: str) -> click.Command | None:
    point = _added().get(name)
    if point is None:
        return None
    command: click.Command = point.load()
    return command


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="Exit codes: 0 done, 1 what was examined is not sound, 2 wrong usage or request, "
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
            stream.reconfigure(errors="backslashreplace")  # a terminal without the letter is no failure
    code = _exit_code()
    if code == INTERRUPTED:
        _leave(code)
    gc.freeze()  # what is left goes with the process: nobody need look through it first
    sys.exit(code)


def _leave(code: int) -> NoReturn:
    """Exit at once: after a Ctrl-C nobody should wait for a thread that waits for the network."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


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
        for line in problem_lines(_failed(error), as_json="--json" in sys.argv[1:]):
            click.echo(line, err=True)
        return STORE_FAILURE
    return code if isinstance(code, int) else 0


def _failed(error: OSError) -> dict[str, str]:
    """Show what the system refused: a named file, or else standard output."""
    reason = error.strerror or str(error)
    if error.filename is None:
        return {"code": "store_unavailable", "detail": f"the answer could not be written: {reason}"}
    return {
        "code": "store_unavailable",
        "detail": f"{os.fsdecode(error.filename)}: {reason}",
        "fix": "check the name, the permissions and the free space, then retry",
    }


def _silence() -> None:
    """Drop what could not be written, so that Python does not try again when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _show_usage(error: click.ClickException) -> None:
    """Show wrong options as a problem, so that they read like wrong requests."""
    if isinstance(error, _NO_COMMAND):
        click.echo(error.format_message())  # what there is to choose from is no error
        return
    problem = {"code": "validation_error", "detail": error.format_message()}
    if isinstance(error, click.BadParameter) and error.param is not None and error.param.name:
        problem["field"] = error.param.name.rstrip("_")  # as the wire spells it
    if isinstance(error, click.UsageError) and error.ctx is not None:
        problem["fix"] = f"see `{error.ctx.command_path} --help`"
        if isinstance(error, click.NoSuchOption) and isinstance(error.ctx.command, click.Group):
            problem["fix"] += f"; {error.option_name} belongs behind the command it is meant for"
    for line in problem_lines(problem, as_json="--json" in sys.argv[1:]):
        click.echo(line, err=True)


def _last_resort(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if sys.flags.dev_mode or issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    for line in problem_lines(bug(error), as_json="--json" in sys.argv[1:]):
        click.echo(line, err=True)

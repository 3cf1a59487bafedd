"""Writes docs/reference from the program itself; `--check` only says whether it is current."""

import inspect
import re
import sys
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

import click
from msgspec.structs import fields

from memorywire.app import settings
from memorywire.cli.about import version_command
from memorywire.cli.command import ALIASES, COMMANDS, SATELLITES, SECTIONS, load_examples, memorywire
from memorywire.cli.problems import exit_code
from memorywire.model import errors
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.wire import spec
from memorywire.wire.codec import OPERATIONS

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
_TREE_LINE = re.compile(r"(\w+)\s{2,}(\S.*)$", re.MULTILINE)

_SETTINGS = {
    "home": "The folder of the default store and of `memorywire.toml`.",
    "stores": "The URL of the store.",
    "agent": "The agent, if a request does not name one.",
    "user": "One user of the agent; without it, all users.",
    "tenant": "The [tenant](../how-to/operators.md#tenants), if several share a store; by default `default`.",
    "embedder": "`minilm`, or `minilm?threads=1` to use one processor; `none`, for key-value entries "
    "only; or an endpoint: `openai+https://HOST/v1?model=NAME&dimension=N`.",
    "embedder_key": "The key of that endpoint. Environment only.",
    "floor": "The threshold of `min_relevance: auto`, 0 to 1, from `memorywire calibrate`.",
    "match": "The relevance from which the verdict is `match`, 0 to 1, from `memorywire calibrate`.",
    "policy": "The policy: `open`, `balanced`, `strict`, or the path of a TOML file.",
    "journal": "The URL of the journal, if the store cannot contain it.",
    "personal_data": "`redact` removes card and account numbers, national ids, phone numbers and e-mail "
    "addresses from memories; `keep` does not.",
    "secrets": "Names of environment variables, separated by commas, whose values are always redacted.",
    "console": "The address of the console, for links in receipts; a server sets it by itself.",
    "witnesses": "Where to send each checkpoint of the ledger, separated by commas: `file:///PATH`, "
    "`https://HOST/PATH` (POST), `put+https://HOST/PATH` (an object store, PUT). "
    "See [how to audit](../how-to/audit.md#keep-a-checkpoint-elsewhere).",
    "archive": "Where the ledger is [archived](../how-to/audit.md#archive-the-ledger): `file:///FOLDER` or "
    "`s3+https://HOST/BUCKET/PREFIX`.",
    "mcp_tools": "Groups of [MCP tools](../how-to/mcp.md#groups-of-tools) beside the usual ones, with commas "
    "between: `kv`, `layer`, `procedures`.",
    "extractor": "What extracts facts from conversations: `auto`, `builtin`, `off`, or "
    "`openai+https://HOST/v1?model=NAME`, `anthropic+https://HOST/v1?model=NAME`.",
    "extractor_key": "The key of that endpoint. Environment only.",
    "extractor_calls": "The maximum number of calls of that endpoint per day.",
    "consolidation": "The table `[dream]`: settings of the consolidation, see below. The model may be in "
    "`MEMORYWIRE_DREAM_MODEL`; its key is in `MEMORYWIRE_DREAM_KEY`.",
    "several": "The table `[router]`: settings for [several stores](../how-to/several-stores.md).",
}


_ENVIRONMENT = {
    "URL": "The address of a `memorywire serve` that commands use [instead of a store](../how-to/remote.md).",
    "TOKEN": "The token for that server.",
    "DREAM_KEY": "The key of the model in `[dream]`.",
    "BACKEND_KEYS": "Variables that [backend definitions](../how-to/backends.md) may use as keys.",
    "BACKEND_HOSTS": "Hosts in your own network that such backends may use.",
    "BACKEND_PREVIEWS": "Preview adapters that definitions may use.",
    "READER_KEY": "The key of the model that answers in [`memorywire eval answer`](../how-to/evaluate.md).",
    "JUDGE_KEY": "The key of the judge there, if it is on another host.",
    "REFERENCE_KEY": "The key of the reference there.",
    "TARGET_KEY": "The key of the target there.",
}

# The one key of each table that the environment gives.
_VARIABLES = {"several": "write", "consolidation": "dream_model"}
_TABLES = {"several": "`[router]`", "consolidation": "`[dream]`"}

_DREAM = {
    "keep": "Days after which an unused memory of a type is archived.",
    "most": "The maximum number of memories of a type per user; the least valuable are archived.",
    "half_life": "Days after which an unused memory counts half, when the least valuable are selected.",
    "pins": "Tags of memories that are not changed, in addition to `pinned`.",
    "changes": "The maximum number of memories that one run changes.",
    "ratio": "The maximum share of memories that one run changes, if there are more than 25.",
    "seconds": "The time after which a run starts no further step.",
    "model": "The model that writes summaries and procedures.",
    "tokens": "The maximum number of tokens per run.",
    "price": "The price of a million tokens.",
    "cost": "The maximum cost of one run at that price.",
    "promote": "How often a server looks through short-term memory.",
    "window": "How many of the newest memories of each user are short-term, beside notes with the tag.",
    "consolidator": "Which installed [consolidator](../how-to/dream.md) does the work.",
    "night": "When a server consolidates the memory of every agent.",
}


def cli_page() -> Iterator[str]:
    yield "# Command line"
    yield f"{memorywire.help} {memorywire.epilog}"
    context = click.Context(memorywire, info_name="memorywire")
    commands = {name: memorywire.get_command(context, name) for name in COMMANDS}
    shared = {option.opts[0]: option for option in _options(version_command, context)}
    others = [
        name for name, command in commands.items() if not shared.keys() <= _names(_options(command, context))
    ]
    yield f"Every command except {', '.join(f'`{name}`' for name in others)} has these options:"
    yield "\n".join(_option_rows(shared.values()))
    aliases = ", ".join(f"`{alias}` for `{name}`" for alias, name in ALIASES.items())
    yield f"Other words for commands: {aliases}. `memorywire help COMMAND` is `memorywire COMMAND --help`."
    yield "The beginning of a memory, change, proposal or recall id is enough, if no other id begins so."
    for section, names in SECTIONS.items():
        yield f"## {section}"
        for name in names:
            yield from _command(commands[name], context, name, {} if name in others else shared)
    yield "## Other packages"
    yield f"`shards` is in the package `{SATELLITES['shards']}`. `eval` and `bench` have pages of their own."
    yield from _command(memorywire.get_command(context, "shards"), context, "shards", {})


def _command(
    command: click.Command, parent: click.Context, name: str, known: Container[str], level: int = 3
) -> Iterator[str]:
    """The usage, help, options and examples of a command; of a group, those of its commands too."""
    context = click.Context(command, parent=parent, info_name=name)
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    yield f"{'#' * level} {name}\n\n```text\n{usage}\n```"
    yield inspect.cleandoc(command.help or "")
    own = [option for option in _options(command, context) if option.opts[0] not in known]
    yield "\n".join(_option_rows(own))
    yield "```sh\n" + "\n".join(load_examples()[context.command_path.removeprefix("memorywire ")]) + "\n```"
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _command(command.get_command(context, inner), context, inner, {}, level + 1)


def _options(command: click.Command, context: click.Context) -> list[click.Option]:
    return [
        option
        for option in command.get_params(context)
        if isinstance(option, click.Option) and not option.hidden and "--help" not in option.opts
    ]


def _names(options: Iterable[click.Option]) -> set[str]:
    return {option.opts[0] for option in options}


def _option_rows(options: Iterable[click.Option]) -> Iterator[str]:
    rows = [
        f"| {', '.join(f'`{name}`' for name in option.opts)} | {_value(option)} | {option.help} |"
        for option in options
    ]
    if rows:
        yield "| option | value | |\n|---|---|---|"
        yield from rows


def _value(option: click.Option) -> str:
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{choice}`" for choice in option.type.choices)
    return (option.metavar or option.type.name.upper()).replace("|", "\\|")


def errors_page() -> Iterator[str]:
    yield "# Errors"
    yield "Every error is `{code, detail, field?, fix?}`: raised in Python, printed by the command line."
    said = dict(_TREE_LINE.findall(errors.__doc__ or ""))
    rows = [
        f"| `{kind.code}` | `{kind.__name__}` | {said[kind.__name__]} | {exit_code(kind)} |"
        for kind in dict.fromkeys(_descendants(errors.MemorywireError))  # one may have two parents
    ]
    yield "\n".join(["| code | class | meaning | exit code |", "|---|---|---|---|", *rows])
    yield "Import the classes from `memorywire`; each is a `MemorywireError`."


def _descendants(kind: type[errors.MemorywireError]) -> Iterator[type[errors.MemorywireError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


def settings_page() -> Iterator[str]:
    yield "# Settings"
    yield (
        "An option takes precedence over the environment, then a TOML file, then the default. "
        f"The file is `--config FILE`, else `MEMORYWIRE_CONFIG`, else `{settings.CONFIG_NAME}` in the home "
        "folder, if it exists. A file with an unknown key is refused. A URL in the file may contain "
        "`${NAME}`, which is replaced with the value of that variable: do not write a password into a file."
    )
    yield (
        "Commands, servers, hooks and `Memory(...)` in Python use these settings. An argument or option that "
        "you give wins over a variable, a variable over the settings file."
    )
    keys = {field: key for key, field in settings._KEYS.items()}
    rows = ["| option | environment | TOML | default | |", "|---|---|---|---|---|"]
    for field in fields(settings.Settings):
        if field.name != "sources":
            key = keys.get(field.name)
            option = f"`--{key}`" if key in ("store", "agent", "user") else ""
            toml = _TABLES.get(field.name, f"`{key}`" if key else "")
            variable = f"`MEMORYWIRE_{_VARIABLES.get(field.name, key or field.name).upper()}`"
            rows.append(f"| {option} | {variable} | {toml} | {_default(field)} | {_SETTINGS[field.name]} |")
    yield "\n".join(rows)
    yield "These are read from the environment only:"
    names = [f"| `MEMORYWIRE_{name}` | {said} |" for name, said in _ENVIRONMENT.items()]
    yield "\n".join(["| environment | |", "|---|---|", *names])
    yield "## [dream]"
    yield "Settings of the [consolidation](../how-to/dream.md)."
    said = [
        f"| `{key}` | {_slept(key)} | {settings.WANTED[key]} | {_DREAM[key]} |" for key in settings.WANTED
    ]
    yield "\n".join(["| key | default | takes | |", "|---|---|---|---|", *said])
    yield '```toml\n# memorywire.toml\nstore = "sqlite:///srv/agents/memory.db"\nagent = "support"\n```'


def _slept(key: str) -> str:
    """The default of a key of `[dream]`, as it is written there."""
    usual = ConsolidationSettings()
    kept = usual.retention
    found = {
        "keep": ", ".join(f"{kind} {days}" for kind, days in kept.days.items()),
        "most": f"{max(kept.most.values())} each",
        "half_life": kept.half_life_days,
        "pins": "pinned",
        "changes": usual.limits.changes,
        "ratio": usual.limits.ratio,
        "seconds": usual.limits.seconds,
        "model": usual.model,
        "tokens": usual.spending.tokens,
        "promote": usual.promote,
        "consolidator": usual.consolidator,
        "night": "off",
    }
    return f"`{found[key]}`" if key in found else ""


def _default(field: object) -> str:
    name, default = getattr(field, "name", ""), getattr(field, "default", None)
    if name == "home":
        return "the platform's data folder"
    if name == "stores":
        return "`memory.db` in the home folder"
    if name == "journal":
        return "a file for each store, in `journals` of the home folder"
    if name in ("secrets", *_TABLES):
        return ""
    return f"`{default}`" if default is not None else ""


def operations_page() -> Iterator[str]:
    yield "# Operations"
    yield (
        "The fields of every request, from the schemas in `wire/spec/v0/schemas`; the rules are in "
        "[the specification](../spec/v0.md). "
        "Send one with `memory.call(operation, payload)` or `memorywire call`."
    )
    for operation in (name for name, one in OPERATIONS.items() if one.request is not None):
        schema = spec.schema(f"{operation}.request")
        rows = ["| field | | |", "|---|---|---|"]
        for name, rule in schema["properties"].items():
            need = "required" if name in schema.get("required", []) else _implied(rule)
            rows.append(f"| `{name}` | {need} | {_meaning(rule)} |")
        yield f"## {operation}\n\n" + ("\n".join(rows) if schema["properties"] else "It has no fields.")


def _implied(rule: dict[str, object]) -> str:
    return f"default `{str(rule['default']).lower()}`" if "default" in rule else ""


def _meaning(rule: dict[str, object]) -> str:
    return str(rule.get("description", "")).replace("|", "\\|")


PAGES = {
    "cli.md": cli_page,
    "errors.md": errors_page,
    "operations.md": operations_page,
    "settings.md": settings_page,
}


def main() -> int:
    stale = []
    for name, page in PAGES.items():
        text = "\n\n".join(part.strip() for part in page() if part) + "\n"
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    print(f"stale: {', '.join(stale)}" if stale else "docs/reference is current")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())

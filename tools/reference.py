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
from memorywire.cli.command import COMMANDS, memorywire
from memorywire.cli.problems import exit_code
from memorywire.model import errors
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.wire import spec
from memorywire.wire.codec import OVERSIGHT, REQUESTS

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
_TREE_LINE = re.compile(r"(\w+)\s{2,}(\S.*)$", re.MULTILINE)

_SETTINGS = {
    "home": "The folder of the default store and of `memorywire.toml`.",
    "stores": "Where memories are kept: the URL of a store.",
    "agent": "Whose memory, when a request does not say.",
    "user": "The one user of the agent who is meant; without it, all of them.",
    "tenant": "Whose memories commands work on, where several [tenants](../how-to/operators.md#tenants) "
    "share a store; without it, `default`.",
    "embedder": "`minilm`, which `minilm?threads=1` keeps to one processor; `none`, for keys and values "
    "alone; or an endpoint: `openai+https://HOST/v1?model=NAME&dimension=N`.",
    "embedder_key": "The key of that endpoint. Environment only, so that it is in no file.",
    "floor": "What `min_relevance: auto` means, 0 to 1, as `memorywire calibrate` fitted it.",
    "match": "The relevance from which the verdict is `match`, 0 to 1, fitted together with the floor.",
    "policy": "What judges every change: `open`, `balanced`, `strict`, or the path of a TOML file.",
    "journal": "Where the journal is kept, when the store cannot keep it beside the memories.",
    "personal_data": "`redact` takes card and account numbers, national ids, phone numbers and e-mail "
    "addresses out of what is remembered; `keep` does not.",
    "secrets": "Names of environment variables, with commas between, whose values must never be kept.",
    "console": "The address of the console, for the links of receipts; a server that has one knows it.",
    "witnesses": "Where each checkpoint of the ledger also goes, with commas between: `file:///PATH`, "
    "`https://HOST/PATH` (POST), `put+https://HOST/PATH` (an object store, PUT). "
    "See [how to audit](../how-to/audit.md#keep-a-checkpoint-elsewhere).",
    "extractor": "Who reads conversations for facts: `auto`, `builtin`, `off`, or "
    "`openai+https://HOST/v1?model=NAME`, `anthropic+https://HOST/v1?model=NAME`.",
    "extractor_key": "The key of that endpoint. Environment only, so that it is in no file.",
    "extractor_calls": "How often a day that endpoint is asked at most.",
    "sleep": "The table `[dream]`: how memory is put in order, see below. The model and its key may be in "
    "`MEMORYWIRE_DREAM_MODEL` and `MEMORYWIRE_DREAM_KEY`; the key is in no file.",
    "several": "The table `[router]`: how several stores work together, see the how-to page.",
}


_ENVIRONMENT = {
    "URL": "The address of a `memorywire serve` that commands ask [instead of a store](../how-to/remote.md).",
    "TOKEN": "The token for it.",
    "DREAM_KEY": "The key of the model that `[dream]` names.",
    "BACKEND_KEYS": "Variables whose keys [definitions of backends](../how-to/backends.md) may use.",
    "BACKEND_HOSTS": "Hosts of your own network on which such backends may be.",
    "BACKEND_PREVIEWS": "Adapters in preview that definitions may use.",
    "READER_KEY": "The key of the model that answers in [`memorywire eval answer`](../how-to/evaluate.md).",
    "JUDGE_KEY": "The key of the model that judges there, where it is at another host.",
    "REFERENCE_KEY": "The key of the reference, likewise.",
    "TARGET_KEY": "The key of the target, likewise.",
}

_VARIABLES = {"several": "write", "sleep": "dream_model"}  # the one key of a table that the environment gives
_TABLES = {"several": "`[router]`", "sleep": "`[dream]`"}

_DREAM = {
    "keep": "How many days an unused memory of a kind stays before it is archived.",
    "most": "How many memories of a kind one user may have; the least worth are archived.",
    "half_life": "In how many days an unused memory is worth half, when the least worth is looked for.",
    "pins": "Tags of memories that stay as they are, besides `pinned`.",
    "changes": "How many memories one run touches at most.",
    "ratio": "Which share of them, once there are more than a few.",
    "seconds": "After how long a run begins no further step.",
    "model": "Who writes summaries and procedures.",
    "tokens": "How many tokens of it one run may take.",
    "price": "What a million of them cost.",
    "cost": "What one run may cost at that price.",
    "promote": "How often a server looks through the notes of sessions.",
    "night": "When a server dreams for every agent.",
}


def cli_page() -> Iterator[str]:
    yield "# Command line"
    yield f"{memorywire.help} {memorywire.epilog}"
    context = click.Context(memorywire, info_name="memorywire")
    verbs = {verb: memorywire.get_command(context, verb) for verb in COMMANDS}
    shared = {option.opts[0]: option for option in _options(version_command, context)}
    others = [
        verb for verb, command in verbs.items() if not shared.keys() <= _names(_options(command, context))
    ]
    yield f"Every verb but {' and '.join(f'`{verb}`' for verb in others)} takes these:"
    yield "\n".join(_option_rows(shared.values()))
    for verb, command in verbs.items():
        yield from _command(command, context, verb, {} if verb in others else shared)


def _command(
    command: click.Command, parent: click.Context, name: str, known: Container[str], level: int = 2
) -> Iterator[str]:
    """The usage, help and options of a verb; of a verb with verbs of its own, theirs too."""
    context = click.Context(command, parent=parent, info_name=name)
    usage = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    yield f"{'#' * level} {name}\n\n```text\n{usage}\n```"
    yield inspect.cleandoc(command.help or "")
    own = [option for option in _options(command, context) if option.opts[0] not in known]
    yield "\n".join(_option_rows(own))
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
    yield "Every problem is `{code, detail, field?, fix?}`: raised in Python, printed by the command line."
    said = dict(_TREE_LINE.findall(errors.__doc__ or ""))
    rows = [
        f"| `{kind.code}` | `{kind.__name__}` | {said[kind.__name__]} | {exit_code(kind)} |"
        for kind in dict.fromkeys(_descendants(errors.MemorywireError))  # one may have two parents
    ]
    yield "\n".join(["| code | class | meaning | exit code |", "|---|---|---|---|", *rows])
    yield "The classes are in `memorywire.model.errors`; each is a `MemorywireError`."


def _descendants(kind: type[errors.MemorywireError]) -> Iterator[type[errors.MemorywireError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


def settings_page() -> Iterator[str]:
    yield "# Settings"
    yield (
        "What is typed as an option comes first, then the environment, then a TOML file, then the default. "
        f"The file is `--config FILE`, else `MEMORYWIRE_CONFIG`, else `{settings.CONFIG_NAME}` in the home "
        "folder when there is one. A file with an unknown key is refused. A URL in the file may hold "
        "`${NAME}`, which stands for the value of that variable: a password has no place in a file."
    )
    yield (
        "Commands, servers and hooks go by these. In Python `Memory(...)` goes by its arguments, and reads "
        "`MEMORYWIRE_HOME` and the `MEMORYWIRE_BACKEND_` variables alone; "
        "`Memory(**memorywire.configured())` goes by all of them, like a command."
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
    yield "These are read from the environment alone:"
    names = [f"| `MEMORYWIRE_{name}` | {said} |" for name, said in _ENVIRONMENT.items()]
    yield "\n".join(["| environment | |", "|---|---|", *names])
    yield "## [dream]"
    yield "How memory is [put in order](../how-to/dream.md)."
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
    for operation in [*REQUESTS, *OVERSIGHT]:
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

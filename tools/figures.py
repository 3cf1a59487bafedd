"""Prints how large the core is, how long its paths are and how its names read, each beside its limit.

    python tools/figures.py                  every figure
    python tools/figures.py --names PACKAGE  the names that count against a package, with their places
    python tools/figures.py --lone           modules that one sibling alone imports

The limits are gates in tests/gates/test_figures.py.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "packages" / "memorywire" / "src"
CORE = SOURCE / "memorywire"

LIMITS = {
    "lines": 58_000,
    "modules": 420,
    "lone": 30,
    "import depth": 18,
    "driver packages": 2,
    "participle names": 3.0,
    "participle functions": 3.0,
    "remember modules": 38,
    "remember functions": 180,
    "remember depth": 15,
    "recall modules": 42,
    "recall depth": 15,
}
"""What the renovation aims at; `make figures` shows each figure beside its limit."""

# Irregular past forms that are used as names. Regular ones end in -ed.
_IRREGULAR = frozenset(
    """found said kept known told done seen given shown left held made written begun chosen taken began gone
    meant broken sent heard bound hidden drawn lent sought undone spent overseen lost paid built spelt spoken
    brought caught thought felt stood understood won led met sold slept forgotten overwritten withdrawn
    rewritten stolen torn worn woken grown thrown blown flown frozen driven ridden risen sworn beaten eaten
    fallen proven sewn mown dealt dreamt learnt burnt leant leapt lit bred fed fled sped bled""".split()
)
# Words that end in -ed and are base verbs, nouns or adjectives of the field.
_NOT_PAST = frozenset("embed seed need feed speed shed exceed proceed succeed reembed hundred indeed".split())
_DRIVERS = ("apsw", "sqlite3")


@cache
def is_participle(word: str) -> bool:
    return word in _IRREGULAR or (word.endswith("ed") and len(word) > 3 and word not in _NOT_PAST)


@dataclass
class Module:
    """One file: its dotted name, its tree, and the modules of the core that it imports."""

    name: str
    path: Path
    tree: ast.Module
    lines: int
    imports: set[str] = field(default_factory=set)

    @property
    def package(self) -> str:
        return self.name.rpartition(".")[0]


def read_modules() -> dict[str, Module]:
    modules = {}
    for path in sorted(CORE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules[name] = Module(name, path, ast.parse(text), text.count("\n"))
    for module in modules.values():
        module.imports = {target for node in ast.walk(module.tree) for target in _targets(node, modules)} - {
            module.name
        }
    return modules


def _targets(node: ast.AST, modules: dict[str, Module]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            if inner in modules:
                yield inner
            elif node.module in modules:
                yield node.module


def find_lone(modules: dict[str, Module]) -> list[tuple[str, str]]:
    """Modules with exactly one importer, which is a sibling, with that importer."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        for target in module.imports:
            importers[target].add(module.name)
    return [
        (name, only)
        for name, (only, *others) in sorted((name, sorted(users)) for name, users in importers.items())
        if not others
        and modules[only].package == modules[name].package
        and modules[name].path.name != "__init__.py"
        and modules[only].path.name != "__init__.py"
    ]


def measure_import_depth(modules: dict[str, Module]) -> int:
    """The longest chain of modules that import each other when they are loaded."""
    loaded = {
        module.name: {
            target
            for node in _run_at_import(module.tree)
            for target in _targets(node, modules)
            if target != module.name
        }
        for module in modules.values()
    }

    @cache
    def depth(name: str) -> int:
        return 1 + max(map(depth, loaded[name]), default=0)

    return max(map(depth, modules))


def _run_at_import(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements that run when a module is loaded; those for type checkers are left out."""
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node


def find_driver_packages(modules: dict[str, Module]) -> set[str]:
    """The packages of the core that import the SQLite driver, at any place in their code."""
    return {
        module.name.split(".")[1]
        for module in modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
        if name.split(".")[0] in _DRIVERS
    }


@dataclass
class Names:
    """Bound names and functions of some modules, and those among them that are participles."""

    bound: int = 0
    functions: int = 0
    participles: list[tuple[str, str]] = field(default_factory=list)
    participle_functions: list[tuple[str, str]] = field(default_factory=list)


def read_names(modules: list[Module]) -> Names:
    names = Names()
    for module in modules:
        for node in ast.walk(module.tree):
            place = f"{module.path.relative_to(CORE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                _count_function(names, node, place)
            elif isinstance(node, ast.arg) or (
                isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ):
                name = node.arg if isinstance(node, ast.arg) else node.id
                names.bound += 1
                if is_participle(name.strip("_").lower()) and "_" not in name.strip("_"):
                    names.participles.append((name, place))
    return names


def _count_function(names: Names, node: ast.FunctionDef | ast.AsyncFunctionDef, place: str) -> None:
    if node.name.startswith("__") or any("property" in ast.unparse(one) for one in node.decorator_list):
        return
    names.functions += 1
    if is_participle(node.name.strip("_").split("_")[0]):
        names.participle_functions.append((node.name, place))


@dataclass
class Trace:
    """What one call ran through: functions of the core, and how deep they were nested.

    It is a profile function for every thread that starts while it is installed, because a memory
    hands work to threads of its own; it records only while it is `on`.
    """

    on: bool = False
    functions: set[CodeType] = field(default_factory=set)
    depth: int = 0

    @property
    def modules(self) -> set[str]:
        return {code.co_filename for code in self.functions}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if not self.on or event != "call" or not _is_core(frame):
            return
        self.functions.add(frame.f_code)
        depth, outer = 0, frame
        while outer is not None:
            depth += _is_core(outer)
            outer = outer.f_back
        self.depth = max(self.depth, depth)

    async def record(self, call: Awaitable[object]) -> Trace:
        """Run a call, with what other threads do for it, and return what was recorded."""
        self.on, self.functions, self.depth = True, set(), 0
        await call
        await asyncio.sleep(0.05)
        self.on = False
        return replace(self)


def _is_core(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(str(CORE))


def trace_paths() -> dict[str, Trace]:
    """One `remember` and one `recall` of a local memory in SQLite, both warm."""
    from memorywire import Memory

    async def run() -> dict[str, Trace]:
        trace = Trace()
        threading.setprofile(trace)
        sys.setprofile(trace)
        try:
            with tempfile.TemporaryDirectory() as folder:
                async with Memory("ana", f"sqlite:///{folder}/memory.db") as memory:
                    await memory.remember("Ana drinks green tea in the morning")
                    await memory.recall("what does Ana drink?")
                    return {
                        "remember": await trace.record(memory.remember("Ana's dog is called Bruno")),
                        "recall": await trace.record(memory.recall("what is the dog called?")),
                    }
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    return asyncio.run(run())


def measure() -> dict[str, float]:
    """Every figure by its name in LIMITS."""
    return measure_source() | measure_paths()


def measure_source() -> dict[str, float]:
    modules = read_modules()
    names = read_names(list(modules.values()))
    return {
        "lines": sum(module.lines for module in modules.values()),
        "modules": len(modules),
        "lone": len(find_lone(modules)),
        "import depth": measure_import_depth(modules),
        "driver packages": len(find_driver_packages(modules)),
        "participle names": 100 * len(names.participles) / names.bound,
        "participle functions": 100 * len(names.participle_functions) / names.functions,
    }


def measure_paths() -> dict[str, float]:
    paths = trace_paths()
    return {
        "remember modules": len(paths["remember"].modules),
        "remember functions": len(paths["remember"].functions),
        "remember depth": paths["remember"].depth,
        "recall modules": len(paths["recall"].modules),
        "recall depth": paths["recall"].depth,
    }


def print_names(package: str) -> None:
    modules = [one for one in read_modules().values() if f"{one.name}.".startswith(f"memorywire.{package}.")]
    names = read_names(modules)
    for title, offenders, count in (
        ("bound names", names.participles, names.bound),
        ("functions", names.participle_functions, names.functions),
    ):
        print(f"\n{title}: {len(offenders)} of {count}, {100 * len(offenders) / max(count, 1):.1f} %")
        places: dict[str, list[str]] = defaultdict(list)
        for name, place in offenders:
            places[name].append(place)
        for name, lines in sorted(places.items(), key=lambda item: -len(item[1])):
            print(f"  {name} ({len(lines)}): {', '.join(lines[:6])}{' ...' if len(lines) > 6 else ''}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", metavar="PACKAGE")
    parser.add_argument("--lone", action="store_true")
    parser.add_argument("--paths", action="store_true")
    options = parser.parse_args()
    if options.names:
        print_names(options.names.replace("/", "."))
    elif options.lone:
        for name, importer in find_lone(read_modules()):
            print(f"{name:55} {importer}")
    elif options.paths:
        for name, path in trace_paths().items():
            print(
                f"\n{name}: {len(path.functions)} functions, {len(path.modules)} modules, depth {path.depth}"
            )
            for file, count in Counter(code.co_filename for code in path.functions).most_common():
                print(f"  {count:3} {Path(file).relative_to(CORE)}")
    else:
        for name, value in measure().items():
            shown = f"{value:.1f}" if isinstance(value, float) else f"{value:,}"
            mark = "" if value <= LIMITS[name] else "  <- over"
            print(f"{name:24} {shown:>8}   at most {LIMITS[name]:>8,}{mark}")


if __name__ == "__main__":
    main()

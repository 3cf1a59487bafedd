"""SQL stays in the stores and in the journal: no other package of the core names a driver or runs SQL."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.gates.source import PRODUCT, ROOT, python_files, shown

CORE = ROOT / "packages/memorywire/src/memorywire"
WITH_SQL = ("stores", "journal")
DRIVERS = {"apsw", "sqlite3", "psycopg", "psycopg_pool"}
# What runs statements inside the stores and the journal; their other modules may be imported.
INTERNAL = re.compile(r"memorywire\.(stores\.sqlite\.(file|writer|apply|reads|rows|sql)|stores\.sql)")
# Importers hold SQL for the files of other products, which `stores.sqlite.foreign` executes.
FOREIGN = "migrate/importers/"
_STATEMENT = re.compile(r"\s*(SELECT .+ FROM|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|PRAGMA) ?")


def _breaches(path: Path) -> Iterator[str]:
    """The places of a file that import a driver or an internal module, or that hold SQL."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = (
                [name.name for name in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            for module in modules:
                if module.partition(".")[0] in DRIVERS or INTERNAL.fullmatch(module):
                    yield f"{path}:{node.lineno} imports {module}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _STATEMENT.match(node.value):
            if FOREIGN in str(path):
                continue
            yield f"{path}:{node.lineno} holds SQL"
        elif isinstance(node, ast.Attribute) and node.attr in ("read", "write") and _is_backend(node.value):
            yield f"{path}:{node.lineno} runs a work in the journal's database"


def _is_backend(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "backend"


def test_no_other_package_names_a_driver_or_runs_sql():
    allowed = tuple(CORE / package for package in WITH_SQL)
    files = [path for path in python_files(*PRODUCT) if not any(map(path.is_relative_to, allowed))]
    assert len(files) > 100
    assert [shown(Path(one)) for path in files for one in _breaches(path)] == []


def test_a_module_that_runs_sql_is_noticed(tmp_path: Path):
    file = tmp_path / "broken.py"
    file.write_text(
        "import apsw\nfrom psycopg import sql\nfrom memorywire.stores.sqlite.file import SqliteFile\n"
        "journal.backend.read(lambda db: db.execute('SELECT body FROM ledger'))\n"
    )
    assert [one.partition(":")[2].partition(" ")[0] for one in sorted(_breaches(file))] == [
        "1",
        "2",
        "3",
        "4",
        "4",
    ]

"""Several tenants in one store, as whoever looks after it types."""

from pathlib import Path

import pytest

from memorywire.app.settings import Settings
from memorywire.cli.context import CliContext
from memorywire.sync import Memory
from tests.cli.shell import Inside, Shell


@pytest.fixture
def shared(tmp_path: Path) -> Shell:
    """A store with a memory of `acme` and one of the default tenant, both of agent `a`."""
    for tenant in ("default", "acme"):
        with Memory("a", f"sqlite://{tmp_path}/memory.db", tenant=tenant) as memory:
            memory.remember(f"known to {tenant}", id="m")
    return Inside(tmp_path)


@pytest.mark.parametrize(
    ("typed", "variables", "known"),
    [
        ((), {}, "known to default"),
        (("--tenant", "acme"), {}, "known to acme"),
        ((), {"MEMORYWIRE_TENANT": "acme"}, "known to acme"),
        (("--tenant", "default"), {"MEMORYWIRE_TENANT": "acme"}, "known to default"),
    ],
    ids=["nothing", "typed", "environment", "typed-first"],
)
def test_a_command_is_about_the_tenant_that_is_named(shared: Shell, typed, variables, known: str):
    assert shared("get", "m", "--agent", "a", *typed, "--json", **variables).json["content"] == known


def test_what_to_type_next_names_the_tenant(shared: Shell):
    done = shared("forget", "m", "--agent", "a", "--tenant", "acme")
    assert "undo with: memorywire undo" in done.out
    assert done.out.rstrip().endswith("--agent a --tenant acme")


def test_what_to_type_next_keeps_the_user_of_a_database_and_not_the_password():
    url = "postgresql://ana:hunter2@db.example.org/memories?schema=mine"
    cli = CliContext(read_settings=Settings, as_json=False, options=("--store", url))
    typed = cli.suggest("undo", "c1")
    assert typed == "memorywire undo c1 --store 'postgresql://ana@db.example.org/memories?schema=mine'"


def test_an_export_has_one_tenant_and_says_whom_it_leaves_out(shared: Shell, tmp_path: Path):
    whole = shared("export", str(tmp_path / "default.jsonl"))
    assert "not included: tenants acme; name one with --tenant" in whole.out
    assert shared("export", str(tmp_path / "acme.jsonl"), "--tenant", "acme").code == 0
    assert "known to acme" not in (tmp_path / "default.jsonl").read_text()
    assert "known to acme" in (tmp_path / "acme.jsonl").read_text()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.jsonl")} == {0o600}


def test_an_export_to_standard_output_is_a_bundle_and_nothing_else(shared: Shell, tmp_path: Path):
    done = shared("export", "-")
    assert shared("export", str(tmp_path / "as-a-file.jsonl")).code == 0
    assert done.out == (tmp_path / "as-a-file.jsonl").read_text()
    assert "to standard output" in done.err
    assert "tenants acme" in done.err
    assert "name a file" in shared("export", "-", "--format", "markdown").err


def test_a_move_is_of_one_tenant_and_says_whom_it_leaves_behind(shared: Shell, tmp_path: Path):
    stores = (f"sqlite://{shared.home}/memory.db", f"sqlite://{tmp_path}/other.db")
    moved = shared("migrate", *stores, "--tenant", "acme")
    assert "not included: tenants default; name one with --tenant" in moved.out
    assert moved.out.rstrip().endswith("--tenant acme")
    with Memory("a", stores[1], tenant="acme") as memory:
        assert memory.get("m").content == "known to acme"


def test_an_inbox_says_whose_it_does_not_show(shared: Shell):
    shared.remember("acme waits", "--source", "web:forum", "--tenant", "acme")
    assert shared("review", "list").out.splitlines() == [
        "nothing is waiting",
        "  not included: tenants acme; name one with --tenant",
    ]
    assert "not included" not in shared("review", "list", "--tenant", "acme").out


def test_an_inbox_knows_a_tenant_of_whom_everything_waits(shared: Shell):
    shared.remember("nothing else of theirs", "--source", "web:forum", "--tenant", "newest")
    assert "newest" in shared("review", "list").out


def test_a_log_that_shows_nothing_says_where_else_to_look(shared: Shell):
    said = shared("audit", "log", "--agent", "nobody").out
    assert "of agent nobody; --all-agents" in said
    assert "tenants acme" in said
    assert "committed" in shared("audit", "log", "--agent", "a", "--tenant", "acme").out

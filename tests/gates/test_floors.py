"""The lowest versions that may be installed have none of the faults that are known of their forerunners."""

import re
import tomllib
from pathlib import Path

import pytest

PROJECTS = [
    Path(__file__).parents[2] / "packages" / name / "pyproject.toml"
    for name in ("memorywire", "memorywire-server")
]

REPAIRED = {
    "apsw": (3, 51, 3),  # before: a checkpoint could lose a committed transaction
    "h11": (0, 16),  # before: chunked bodies that end otherwise than they should
    "jinja2": (3, 1, 6),  # before: ways out of the sandbox
    "pyjwt": (2, 12),  # before: an issuer matched in part, unknown critical headers accepted
    "pynacl": (1, 6, 2),  # before: a libsodium that takes some points for valid that are not
    "starlette": (1, 3, 1),  # before: paths and hosts not validated, limits of forms ignored
}
"""The first release of a package without a fault that concerns us."""


def _floors() -> dict[str, list[tuple[int, ...]]]:
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in PROJECTS]
    extras = [extra for project in projects for extra in project["optional-dependencies"].values()]
    named = [one for project in projects for one in project["dependencies"]]
    named += [one for extra in extras for one in extra]
    floors: dict[str, list[tuple[int, ...]]] = {}
    for requirement in named:
        found = re.fullmatch(r"([\w-]+)(?:\[[\w,-]+\])?>=([\d.]+).*", requirement)
        assert found, f"{requirement} has no lowest version"
        floors.setdefault(found[1].lower(), []).append(tuple(map(int, found[2].split("."))))
    return floors


@pytest.mark.parametrize("package", REPAIRED)
def test_no_release_with_a_known_fault_may_be_installed(package: str) -> None:
    assert all(floor >= REPAIRED[package] for floor in _floors()[package])

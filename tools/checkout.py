"""Build hook of the distribution `memorywire-checkout`: the packages of this clone, by path.

`pip install .` in a clone, `pipx install .` and `uvx --from . memorywire` need a project in the folder that
they are given. This one has no code: its requirements are the packages beside it. A relative path is not
allowed in a requirement, so the paths are filled in when it is built.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PACKAGES = Path(__file__).resolve().parents[1] / "packages"
CORE = "memorywire-core"


class Checkout(MetadataHookInterface):
    """Fills in `dependencies` and `optional-dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        projects = {project["name"]: path for path, project in _projects().items()}
        core = _projects()[projects[CORE]]
        metadata["dependencies"] = [
            f"{name} @ {projects[name].as_uri()}" for name in (CORE, "memorywire-minilm")
        ]
        metadata["optional-dependencies"] = {
            extra: sorted({local for one in requirements for local in _localize(one, projects)})
            for extra, requirements in core["optional-dependencies"].items()
        }


def _projects() -> dict[Path, dict[str, Any]]:
    files = sorted(PACKAGES.glob("*/pyproject.toml"))
    return {file.parent: tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files}


def _localize(requirement: str, projects: dict[str, Path]) -> list[str]:
    """Return the requirement by path, and those of our packages that it needs besides the core."""
    match = re.match(r"([\w-]+)(\[[\w,-]+\])?", requirement)
    assert match is not None
    name, extras = match[1], match[2] or ""
    needed = [f"{name}{extras} @ {projects[name].as_uri()}"]
    for other in _projects()[projects[name]]["dependencies"]:
        inner = re.split(r"[\[<>=!~ ]", other)[0]
        if inner in projects and inner not in (CORE, "memorywire-minilm"):
            needed += _localize(inner, projects)
    return needed

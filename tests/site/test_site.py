"""The documentation site, without building it: its menu, Python reference, notebooks and link check."""

import importlib.util
import json
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import memorywire
from tests.gates.source import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("documentation_site", ROOT / "tools" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(site: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    site.stage(folder)
    return folder


def _leaves(menu: Any) -> list[str]:
    if isinstance(menu, str):
        return [menu]
    return [leaf for one in (menu.values() if isinstance(menu, dict) else menu) for leaf in _leaves(one)]


def test_every_page_has_one_place_in_the_menu(site: ModuleType, pages: Path) -> None:
    menu = _leaves(tomllib.loads(site.configuration(pages))["project"]["nav"])
    written = {str(page.relative_to(pages)) for page in pages.rglob("*.md")}
    assert sorted(menu) == sorted(written)


def test_a_page_asks_no_other_host(site: ModuleType, pages: Path) -> None:
    project = tomllib.loads(site.configuration(pages))["project"]
    assert "repo_url" not in project  # each page would ask the forge for the number of stars
    assert project["theme"]["font"] is False


def test_every_exported_name_is_in_the_python_reference(site: ModuleType) -> None:
    text = "\n".join(text for _, text in site.api_pages())
    for name in set(memorywire.__all__) - {"__version__"}:
        assert f"::: {getattr(memorywire, name).__module__}.{name}\n" in text


def test_a_link_out_of_the_documentation_leads_to_the_repository(pages: Path) -> None:
    said = (pages / "explain" / "map.md").read_text(encoding="utf-8")
    assert "](https://github.com/memorywire/memorywire/blob/main/AGENTS.md)" in said
    assert "](https://github.com/memorywire/memorywire/tree/main/packages/memorywire-server)" in said
    assert "](../" not in (pages / "changelog.md").read_text(encoding="utf-8")


def test_a_link_that_leads_nowhere_is_noticed(site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text('<a href="a/#here">1</a> <a href="https://else.where/x">2</a>')
    (tmp_path / "a" / "index.html").write_text('<h1 id="here"><a href="..">1</a></h1>')
    assert site.check_links(tmp_path) == (2, 2, [])
    (tmp_path / "a" / "index.html").write_text('<h1 id="there"><a href="../b/">1</a></h1>')
    assert site.check_links(tmp_path) == (2, 2, ["index.html: a/#here", "a/index.html: ../b/"])


def test_the_newest_version_is_the_one_that_a_visitor_sees(site: ModuleType, tmp_path: Path) -> None:
    for name in ("0.9", "0.10", "0.2.1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    site.write_versions(tmp_path)
    rows = json.loads((tmp_path / "versions.json").read_text())
    assert [row["version"] for row in rows] == ["0.10", "0.9", "0.2.1"]
    assert [row["aliases"] for row in rows] == [["latest"], [], []]
    assert "url=0.10/" in (tmp_path / "index.html").read_text()


def test_models_get_a_list_and_the_text_of_every_guide(site: ModuleType, pages: Path, tmp_path: Path) -> None:
    site.write_for_models(pages, tmp_path)
    listed, text = ((tmp_path / name).read_text() for name in ("llms.txt", "llms-full.txt"))
    for page in (pages / "how-to").glob("*.md"):
        assert f"](how-to/{page.stem}/): " in listed
        assert page.read_text().strip() in text


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_print(
    site: ModuleType, notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path))
    written = notebook.read_text(encoding="utf-8")
    assert '"output_type": "stream"' in written
    assert site.run_notebook(notebook) == written, "write it again: python tools/site.py --notebooks"

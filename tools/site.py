"""Builds the documentation site into build/site/VERSION, without a network.

    python tools/site.py                    the version of the core
    python tools/site.py --version 0.1      another name; --out FOLDER for another place
    python tools/site.py --notebooks        only runs the notebooks and writes what their cells print

The pages are those of docs/, in a copy: links to files outside of docs/ lead to the repository, notebooks
become pages, the Python reference comes from the docstrings, plots from the figures in docs/results. Any
warning ends the build, and afterwards every link of every page is followed. Beside the versions lie
`versions.json`, which the menu of versions reads, and a page that leads to the newest. Needs the dependency
group `docs`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stdout
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from urllib.parse import unquote, urlsplit

import memorywire
from memorywire_evals.charts import bars, latencies

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
SOURCES = ROOT / "packages" / "memorywire" / "src"
FOLDERS = ("start", "tutorials", "how-to", "explain", "reference", "results", "spec", "decisions", "images")
_LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?(\))")
_HOW_TO = re.compile(r"^- \*\*(.+?)\*\*: (.+?)(?=^- |^#|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"\[([^\]]+)\]\((how-to/[^)]+\.md)\)")
_PARAGRAPH = re.compile(r"(?:\A|\n\n)(?!#|\||<|!|- |>|```|\s)(.+?)(?=\n\s*\n|\Z)", re.DOTALL)

API = {
    "memory": ("Memory", ("memorywire.client.memory",)),
    "key-value": ("Key-value entries", ("memorywire.client.kv.KeyValue", "memorywire.model.kv")),
    "conversations": ("Conversations", ("memorywire.client.layer.Layer",)),
    "harness": ("Agent harnesses", ("memorywire.client.harness",)),
    "procedures": ("Procedures", ("memorywire.client.procedures.Procedure",)),
    "remote": ("Over HTTP", ("memorywire.client.remote",)),
    "answers": ("Answers", ("memorywire.model.answers", "memorywire.model.change")),
    "records": ("Records and capabilities", ("memorywire.model.record", "memorywire.model.capabilities")),
    "governance": ("Review and evidence", ("memorywire.model.governance", "memorywire.journal.signed_hits")),
    "settings": ("Settings and rendering", ("memorywire.app", "memorywire.search.render")),
    "stores": ("Stores and embedders", ("memorywire.stores.contract", "memorywire.search.embed")),
    "errors": ("Errors", ("memorywire.model.errors",)),
}
"""Pages of the Python reference: what `memorywire` exports from these modules, and classes named whole."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--version", default=memorywire.__version__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--notebooks", action="store_true")
    options = parser.parse_args()
    if options.notebooks:
        for notebook in NOTEBOOKS:
            notebook.write_text(run_notebook(notebook), encoding="utf-8")
        return
    work = options.out / ".work"
    shutil.rmtree(work, ignore_errors=True)
    stage(work / "pages")
    (work / "zensical.toml").write_text(configuration(work / "pages"), encoding="utf-8")
    command = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"]
    if subprocess.run(command, cwd=work).returncode:
        raise SystemExit("the site has warnings")
    target = options.out / options.version
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(work / "site", target)
    write_for_models(work / "pages", target)
    pages, links, broken = check_links(target)
    shutil.rmtree(work)
    write_versions(options.out)
    print(f"{target}: {pages} pages, {links} links, {len(broken)} broken, 0 warnings")
    if broken:
        raise SystemExit("\n".join(broken))


def stage(pages: Path) -> None:
    """Copy the pages of docs/ and write those that are made from something else."""
    for folder in FOLDERS:
        shutil.copytree(DOCS / folder, pages / folder, ignore=shutil.ignore_patterns("conformance"))
    shutil.copy(DOCS / "README.md", pages / "index.md")
    shutil.copy(ROOT / "CHANGELOG.md", pages / "changelog.md")
    for page in sorted(pages.rglob("*.md")):
        origin = {"index.md": DOCS / "README.md", "changelog.md": ROOT / "CHANGELOG.md"}.get(
            str(page.relative_to(pages)), DOCS / page.relative_to(pages)
        )
        page.write_text(_relink(page, origin, pages), encoding="utf-8")
    for notebook in NOTEBOOKS:
        _write(pages / "notebooks" / f"{notebook.stem}.md", notebook_page(notebook))
    for name, text in api_pages():
        _write(pages / "api" / f"{name}.md", text)
    _write(pages / "results" / "plots.md", plots_page())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _relink(page: Path, origin: Path, pages: Path) -> str:
    """Return the page with links that hold in the copy: to its pages, or to the repository."""
    repository = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text(encoding="utf-8"))
    home = repository["project"]["urls"]["Repository"]

    def lead(match: re.Match[str]) -> str:
        target = (origin.parent / unquote(match[2])).resolve()
        inside = target.relative_to(DOCS) if target.is_relative_to(DOCS) else None
        if target == DOCS / "README.md":
            inside = Path("index.md")
        elif target == ROOT / "CHANGELOG.md":
            inside = Path("changelog.md")
        elif inside is not None and inside.suffix == ".ipynb":
            inside = inside.with_suffix(".md")
        if inside is not None and (inside.suffix == ".md" or (pages / inside).is_file()):
            up = "../" * len(page.relative_to(pages).parent.parts)
            return f"{match[1]}{up}{inside}{match[3] or ''}{match[4]}"
        kind = "tree" if target.is_dir() else "blob"
        return f"{match[1]}{home}/{kind}/main/{target.relative_to(ROOT)}{match[3] or ''}{match[4]}"

    return _LINK.sub(lead, page.read_text(encoding="utf-8"))


def run_notebook(notebook: Path) -> str:
    """Run the cells in order; return the notebook with what each printed."""
    document = json.loads(notebook.read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            with redirect_stdout(StringIO()) as printed:
                exec(compile("".join(cell["source"]), notebook.name, "exec"), names)
            lines = printed.getvalue().splitlines(keepends=True)
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def notebook_page(notebook: Path) -> str:
    """Return the cells of a notebook as a page; what a cell printed when it was written follows it."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = "".join(line for one in cell.get("outputs", ()) for line in one.get("text", ()))
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def api_pages() -> Iterator[tuple[str, str]]:
    """Yield the pages of the Python reference by name; an exported name without a page is an error."""
    left = {name for name in memorywire.__all__ if name != "__version__"}
    for page, (title, places) in API.items():
        blocks = []
        for place in places:
            exported = sorted(name for name in left if _module(name).startswith(place))
            left -= set(exported)
            names = [f"{_module(name)}.{name}" for name in exported]
            if not names or place.rpartition(".")[2][0].isupper():
                names = [place]
            blocks += [f"::: {name}" for name in names]
        yield page, f"# {title}\n\n" + "\n\n".join(blocks) + "\n"
    if left:
        raise SystemExit(f"no page of the Python reference has {', '.join(sorted(left))}")


def _module(name: str) -> str:
    return str(getattr(memorywire, name).__module__)


def plots_page() -> str:
    """Return a page of charts, each drawn from a file of figures in docs/results."""
    parts = [
        "# Plots",
        "Each chart is drawn from the file of figures that it names when this site is built. "
        "[Results](README.md) says how they were measured.",
    ]
    for file in sorted((DOCS / "results").glob("bench-*.json"), reverse=True):
        figures = json.loads(file.read_text(encoding="utf-8"))
        curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for row in figures["latencies_ms"]:
            if row["measure"] in ("recall", "remember") and row["against"] == "reference":
                curves[f"{row['measure']}, ours"].append((row["size"], row["ours"]["p50"]))
                curves[f"{row['measure']}, reference"].append((row["size"], row["other"]["p50"]))
        if curves:
            parts.append(f"## {file.name}\n\nReference: {figures['reference']}.")
            parts.append(_plot(latencies("median milliseconds by number of memories", curves)))
    files = sorted((DOCS / "results").glob("adversarial-results.*.json"))
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    if runs:
        groups: dict[str, dict[str, float]] = defaultdict(dict)
        for run in runs:
            for outcome in run["outcomes"]:
                groups[f"{outcome['injected']} injected"][run["fusion"]] = outcome["recall_at_5"]
        parts.append("## adversarial-results.*.json\n\nRecall in five results while a store of several lies.")
        fusions = [run["fusion"] for run in runs]
        parts.append(_plot(bars("recall@5 by number of poisoned memories", groups, fusions)))
    return "\n\n".join(parts) + "\n"


def _plot(svg: str) -> str:
    """Return a chart as part of a page, readable on dark pages too."""
    return svg.strip().replace("<svg ", '<svg style="overflow: visible; background: white" ', 1)


def configuration(pages: Path) -> str:
    """Return the settings of the site with the menu and the folder of the Python sources filled in."""
    text = (DOCS / "site" / "zensical.toml").read_text(encoding="utf-8")
    groups = {
        name: [_entry(pages / page, " ".join(title.split()).capitalize()) for title, page in items]
        for name, body in _HOW_TO.findall((DOCS / "README.md").read_text(encoding="utf-8"))
        if (items := _ITEM.findall(body))
    }
    named = {page for body in groups.values() for entry in body for page in re.findall(r'= "(.+?)"', entry)}
    for path in sorted((pages / "how-to").glob("*.md")):
        if f"how-to/{path.name}" not in named:
            raise SystemExit(f"docs/README.md does not list how-to/{path.name}")
    menus = {folder: [_entry(path) for path in _ordered(pages / folder)] for folder in _folders(pages)}
    menus["how-to"] = [f'{{ "{name}" = [{", ".join(body)}] }}' for name, body in groups.items()]
    menus["api"] = [_entry(pages / "api" / f"{name}.md") for name in API]
    for folder, entries in menus.items():
        text = text.replace(f'"{folder}/*"', ", ".join(entries))
    return text.replace("paths = []", f"paths = [{json.dumps(str(SOURCES))}]")


def _folders(pages: Path) -> list[str]:
    return sorted(path.name for path in pages.iterdir() if path.is_dir() and any(path.glob("*.md")))


def _ordered(folder: Path) -> list[Path]:
    """Return the pages of a folder, its overview first, dated ones newest first."""
    paths = sorted(folder.glob("*.md"), reverse=folder.name == "results")
    return sorted(paths, key=lambda path: path.name != "README.md")


def _entry(path: Path, title: str = "") -> str:
    place = f"{path.parent.name}/{path.name}"
    return f"{{ {json.dumps(title or _title(path), ensure_ascii=False)} = {json.dumps(place)} }}"


def _title(path: Path) -> str:
    first = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    return first.removeprefix("# ").replace("`", "")


def write_for_models(pages: Path, target: Path) -> None:
    """Write `llms.txt`, a list of the pages with a sentence each, and `llms-full.txt`, their texts."""
    chosen = [
        path
        for folder in ("start", "tutorials", "notebooks", "how-to", "explain", "reference", "spec")
        for path in _ordered(pages / folder)
    ]
    lines = [
        "# memorywire",
        "",
        "> Memory for AI agents, with a receipt for every write: one wire format over many stores.",
        "",
    ]
    for path in chosen:
        heading = f"## {path.parent.name}"
        if heading not in lines:
            lines += [heading, ""] if lines[-1] == "" else ["", heading, ""]
        match = _PARAGRAPH.search(path.read_text(encoding="utf-8"))
        about = " ".join(re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", match[1]).split()) if match else ""
        page = path.relative_to(pages).with_suffix("")
        page = page.parent if page.name == "README" else page
        lines.append(f"- [{_title(path)}]({page}/): {about.split('. ')[0].rstrip('.')}")
    (target / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = [path.read_text(encoding="utf-8").strip() for path in chosen]
    (target / "llms-full.txt").write_text("\n\n---\n\n".join(texts) + "\n", encoding="utf-8")


class _Page(HTMLParser):
    """The links of a page and the places on it that a link can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "__search"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def check_links(site: Path) -> tuple[int, int, list[str]]:
    """Follow the links inside the site; return the numbers of pages and links, and the broken ones."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    count, broken = 0, []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            base = site if path.name == "404.html" else path.parent
            place = unquote(parts.path)
            if path.name == "404.html" and place.startswith("/"):
                place = re.sub(r"^/memorywire/?", "", place)
            target = (base / place).resolve() if place else path
            if place in ("", ".") and path.name == "404.html":
                target = site
            target = target / "index.html" if target.is_dir() else target
            known = pages.get(target)
            if not target.exists() or (known and unquote(parts.fragment) not in known.anchors):
                broken.append(f"{path.relative_to(site)}: {link}")
    return len(pages), count, broken


def write_versions(out: Path) -> None:
    """Write what the menu of versions reads, and the page that leads to the newest."""
    names = sorted((path.name for path in out.iterdir() if (path / "index.html").exists()), key=_order)
    names.reverse()
    rows = [
        {"version": name, "title": name, "aliases": ["latest"] if place == 0 else []}
        for place, name in enumerate(names)
    ]
    (out / "versions.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    refresh = f'<meta http-equiv="refresh" content="0; url={names[0]}/">'
    page = f'<!doctype html><title>memorywire</title>{refresh}<a href="{names[0]}/">{names[0]}</a>\n'
    (out / "index.html").write_text(page, encoding="utf-8")


def _order(name: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", name)]


if __name__ == "__main__":
    main()

"""The dashboard and the alert rules speak of figures that a running server has."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.shell import Shell
from tests.gates.source import ROOT
from tests.http.server import Client, serving

FOLDER = ROOT / "deploy" / "monitoring"
SHIPPED = ROOT / "deploy" / "helm" / "memorywire" / "files"
_METRIC = re.compile(r"\b(memorywire_\w+)")
_USE = re.compile(r"(memorywire_\w+)\{([^}]*)\}")
_OF_PROMETHEUS = {"job", "instance"}


def _expressions() -> Iterator[tuple[str, str]]:
    """Yield each expression beside the panel or alert that has it."""
    dashboard = json.loads((SHIPPED / "memorywire.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]
    for group in yaml.safe_load((SHIPPED / "alerts.yml").read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


EXPRESSIONS = list(_expressions())


@pytest.fixture(scope="module")
def figures() -> dict[str, set[str] | None]:
    """The names of figures with the names of their labels; None for what nothing was counted in yet."""
    with serving() as server:
        server.client.remember("Ana prefers green tea")
        server.client.post("/v0/recall", {"agent_id": "a", "query": "what does Ana like?"})
        text = _counted(server.client)
    found: dict[str, set[str] | None] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = set(sample.labels)
        if not family.samples:  # it has labels, and no sample before the first time
            found[family.name + ("_total" if family.type == "counter" else "")] = None
    return found


def _counted(client: Client) -> str:
    while True:  # a request is counted a moment after its answer
        text = client.get("/metrics").body.decode()
        if 'memorywire_recall_verdicts_total{verdict="match"} 1.0' in text:
            return text


def test_every_figure_of_a_panel_or_an_alert_exists(figures: dict[str, set[str] | None]) -> None:
    named = {(where, name) for where, text in EXPRESSIONS for name in _METRIC.findall(text)}
    assert len(named) > 30
    assert [(where, name) for where, name in sorted(named) if name not in figures] == []


def test_every_label_that_selects_or_groups_is_one_of_its_figure(figures: dict[str, set[str] | None]) -> None:
    wrong = []
    for where, text in EXPRESSIONS:
        selected = [(name, set(re.findall(r"(\w+)=", body))) for name, body in _USE.findall(text)]
        grouped = {label.strip() for by in re.findall(r"by \(([^)]*)\)", text) for label in by.split(",")}
        for name, labels in [*selected, *((name, grouped) for name in _METRIC.findall(text))]:
            known = figures[name]
            if known is not None and labels - known - _OF_PROMETHEUS:
                wrong.append((where, name, labels - known))
    assert wrong == []


def test_the_figures_of_the_server_are_on_the_dashboard(figures: dict[str, set[str] | None]) -> None:
    shown = {name for _, text in EXPRESSIONS for name in _METRIC.findall(text)}
    stems = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in figures}
    assert {stem for stem in stems if stem.startswith("memorywire_")} == {
        re.sub(r"_(total|bucket)$", "", name) for name in shown
    }


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    panels = json.loads((SHIPPED / "memorywire.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


@pytest.mark.long
def test_promtool_accepts_the_rules_and_each_alert_fires_when_it_should() -> None:
    find = [ROOT / "scripts" / "debian-command", "promtool", "prometheus"]
    promtool = subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip()
    for command in (
        ("test", "rules", "alerts_test.yml"),
        ("check", "config", "--syntax-only", "prometheus.yml"),
    ):
        done = subprocess.run([promtool, *command], capture_output=True, text=True, cwd=FOLDER)
        assert done.returncode == 0, done.stdout + done.stderr
    tested = (FOLDER / "alerts_test.yml").read_text(encoding="utf-8")
    rules = yaml.safe_load((SHIPPED / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    assert all(f'alertname="{rule["alert"]}"' in tested for rule in rules)


def test_the_spans_of_the_example_are_one_trace_over_both_services(tmp_path: Path) -> None:
    example = [sys.executable, str(ROOT / "examples" / "opentelemetry_agent.py")]
    environment = Shell(tmp_path / "home").environment()
    server = subprocess.Popen(
        [*example, "serve", "--port", "0", "--json"], env=environment, stdout=PIPE, stderr=PIPE, text=True
    )
    assert server.stdout is not None
    try:
        url = json.loads(server.stdout.readline())["url"]
        asked = subprocess.run([*example, "ask", url], capture_output=True, text=True, env=environment)
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=60)
    finally:
        server.kill()
    assert asked.stdout == "(a model answers with 0 memories)\n", asked.stderr
    lines = map(json.loads, [*asked.stderr.splitlines(), *errors.splitlines()])
    spans = {line["name"]: line for line in lines if "context" in line}
    assert set(spans) == {"invoke_agent assistant", "chat example-model", "search_memory memorywire"}
    agent = spans["invoke_agent assistant"]
    assert {span["context"]["trace_id"] for span in spans.values()} == {agent["context"]["trace_id"]}
    assert spans["search_memory memorywire"]["parent_id"] == agent["context"]["span_id"]
    assert spans["search_memory memorywire"]["attributes"]["gen_ai.operation.name"] == "search_memory"

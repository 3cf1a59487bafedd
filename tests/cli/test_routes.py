"""`calibrate --routes` learns which store a question is for, and the settings put it to use."""

import json
from pathlib import Path

import msgspec
import pytest

from memorywire.app.settings import several_from
from memorywire.model.errors import InvalidRequest
from memorywire.search.reference import floats
from memorywire.stores.router import Kind, LearnedRoute, by_rules, load_route
from memorywire_testing.samples import a_query, a_scope, a_vector
from tests.cli.shell import Shell

RELATIONS = ("who reports to Mira", "who works with Tom", "who knows Ana", "who is her boss", "whose is it")
MEANINGS = ("good music", "tips for dinner", "a nice present", "her mood", "his worries")


def _write(file: Path, relations: tuple[str, ...] = RELATIONS, meanings: tuple[str, ...] = MEANINGS) -> Path:
    rows = [{"query": text, "kind": "relationship"} for text in relations]
    rows += [{"query": text, "kind": "semantic"} for text in meanings]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def test_routes_are_learned_by_a_command_and_chosen_by_a_setting(shell: Shell, tmp_path: Path) -> None:
    routes = tmp_path / "routes.json"
    answer = shell("calibrate", "--routes", str(_write(tmp_path / "q")), "--to", str(routes), "--json").json
    assert (answer["questions"], answer["file"]) == (10, str(routes))
    stores = [f"{kind}://{tmp_path}/{kind}" for kind in ("sqlite", "graph")]
    asked = {}
    for read in ('"fusion"', '"rules"', f'"learned"\nroutes = "{routes}"'):
        settings = tmp_path / "memorywire.toml"
        settings.write_text(f"store = {json.dumps(stores)}\n[router]\nread = {read}\n", encoding="utf-8")
        env = {"MEMORYWIRE_CONFIG": str(settings), "MEMORYWIRE_STORE": ""}
        shell("remember", "Tom works with Lena", **env)
        asked[read[:7]] = shell("recall", "Tom and Lena", "--json", **env).json["stores_queried"]
    assert sorted(asked['"fusion']) == ["graph", "sqlite"]
    assert asked['"rules"'] == ["sqlite"]
    assert asked['"learne'] == ["graph"]


def test_the_built_in_questions_teach_more_than_the_rules_know(shell: Shell) -> None:
    answer = shell("calibrate", "--routes", "--json").json
    assert answer["learned"] > answer["rules"] + 0.1
    assert answer["file"] is None
    assert "nothing was written" in shell("calibrate", "--routes").out


def test_a_question_without_a_vector_is_routed_by_rules(shell: Shell, tmp_path: Path) -> None:
    routes = tmp_path / "routes.json"
    shell("calibrate", "--routes", str(_write(tmp_path / "q")), "--to", str(routes))
    query = a_query(a_scope(), "MAX_RETRY_COUNT")
    assert load_route(str(routes))(query) is by_rules(query)


def test_routes_of_another_embedder_are_refused(shell: Shell, tmp_path: Path) -> None:
    routes = tmp_path / "routes.json"
    route = LearnedRoute(means={Kind.SEMANTIC: (1.0, 0.0)}, space="other/2")
    routes.write_bytes(msgspec.json.encode(route))
    settings = tmp_path / "memorywire.toml"
    stores = json.dumps([f"{kind}://{tmp_path}/{kind}" for kind in ("sqlite", "graph")])
    text = f'store = {stores}\n[router]\nread = "learned"\nroutes = "{routes}"\n'
    settings.write_text(text, encoding="utf-8")
    done = shell("recall", "x", "--json", MEMORYWIRE_CONFIG=str(settings), MEMORYWIRE_STORE="")
    assert (done.code, done.problem["field"]) == (2, "router")
    assert "other/2" in done.problem["detail"]


@pytest.mark.parametrize(
    ("lines", "detail"),
    [
        ([{"query": "who", "kind": "other"}], "line 1"),
        ([{"query": "who"}], "line 1"),
        ([{"query": "who", "kind": "semantic", "more": 1}], "line 1"),
        ([{"query": "who", "kind": "semantic"}], "a kind needs 5"),
        ([{"query": text, "kind": "semantic"} for text in MEANINGS], "two kinds"),
        ([], "two kinds"),
    ],
)
def test_questions_that_teach_nothing_are_refused(
    shell: Shell, tmp_path: Path, lines: list[dict[str, object]], detail: str
) -> None:
    file = tmp_path / "q"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = shell("calibrate", "--routes", str(file), "--to", str(tmp_path / "routes.json"), "--json")
    assert (done.code, done.problem["field"]) == (2, "routes")
    assert detail in done.problem["detail"]
    assert not (tmp_path / "routes.json").exists()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("--to", "routes.json"), "to"),
        (("--routes", "--lookalikes"), "routes"),
        (("--routes", "no-such-file"), "routes"),
        (("--routes", "--to", "/no/such/folder/routes.json"), "to"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(shell: Shell, arguments: tuple[str, ...], field: str) -> None:
    done = shell("calibrate", *arguments, "--json")
    assert (done.code, done.problem["field"]) == (2, field)


@pytest.mark.parametrize(
    "values",
    [
        {"read": "learned"},
        {"routes": "routes.json"},
        {"read": "rules", "routes": "routes.json"},
        {"read": "learned", "routes": 1},
        {"read": "learned", "routes": "/no/such/file"},
    ],
)
def test_a_setting_without_its_file_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        several_from(values, {})
    assert caught.value.field == "router"


@pytest.mark.parametrize(
    "text", ["", "{}", '{"means": {}}', '{"means": {"semantic": [1], "literal": [1, 2]}}']
)
def test_a_file_without_routes_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "routes.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRequest) as caught:
        load_route(str(file))
    assert caught.value.field == "router"


def test_the_vector_decides_and_the_signs_count_beside_it() -> None:
    means = {Kind.RELATIONSHIP: tuple(floats(a_vector(1))), Kind.LITERAL: tuple(floats(a_vector(0, 1)))}
    query = a_query(a_scope(), "MAX_RETRY_COUNT", a_vector(1, 0.9))
    assert LearnedRoute(means=means)(query) is Kind.RELATIONSHIP
    assert LearnedRoute(means=means, signs=0.1)(query) is Kind.LITERAL

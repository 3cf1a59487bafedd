"""The map: the same picture each time, points or a density, and a selection that is changed as one."""

import re
from typing import Any

import numpy as np
from playwright.sync_api import Browser, expect

from memorywire_server.auth import ANYBODY
from memorywire_server.console.pages.memory_map import CELLS, POINTS_MOST
from memorywire_server.console.pictures import Drawn, Pictures
from memorywire_server.console.projection import Colouring, Picture, Points, count_for_fit, pack_view
from memorywire_server.http.endpoint import Limits, Service
from tests.console.stage import PHONE, Stage, shows, visiting, wide

_TEA = [
    f"Ana drinks {kind} tea in the {when}" for kind in ("green", "black") for when in ("morning", "evening")
]
_SERVERS = [f"The {name} server is {state}" for name in ("web", "mail") for state in ("slow", "down")]


def _furnish(stage: Stage) -> None:
    for content in (*_TEA, *_SERVERS):
        stage.call("remember", agent_id="a", type="semantic", content=content)


def _draw(stage: Stage) -> Drawn:
    """What a server that has drawn nothing before draws of the agent."""

    async def draw() -> Drawn | None:
        return (await Pictures(Service(stage.server.container, Limits())).find(ANYBODY, "a"))[0]

    drawn = stage.server.run(draw())
    assert drawn is not None
    return drawn


def _find(drawn: Drawn, stage: Stage, words: str) -> Points:
    texts = {one["id"]: one["content"] for one in stage.call("list", agent_id="a", limit=100)["items"]}
    return drawn.picture.points[[words in texts[id] for id in drawn.picture.ids]]


def test_another_server_draws_the_same_picture_and_old_memories_stay_where_they_are(stage: Stage) -> None:
    _furnish(stage)
    first, second = _draw(stage), _draw(stage)
    assert (first.picture.points == second.picture.points).all()
    stage.call("remember", agent_id="a", type="semantic", content="Ben reads at night")
    third = _draw(stage)
    assert (third.picture.points[:-1] == first.picture.points).all()
    assert third.edition != first.edition


def test_memories_that_say_similar_things_lie_together(stage: Stage) -> None:
    _furnish(stage)
    drawn = _draw(stage)
    tea, servers = _find(drawn, stage, "tea"), _find(drawn, stage, "server")
    between = float(np.linalg.norm(tea.mean(axis=0) - servers.mean(axis=0)))
    within = [float(np.linalg.norm(group - group.mean(axis=0), axis=1).mean()) for group in (tea, servers)]
    assert between > max(within)


def test_the_axes_move_when_the_memories_double_and_no_more_after_4096() -> None:
    assert [count_for_fit(count) for count in (1, 7, 8, 15, 4_095, 4_096, 100_000)] == [
        *(1, 4, 8, 8, 2_048, 4_096, 4_096)
    ]


def _scatter(number: int) -> tuple[Picture, Colouring]:
    points = np.random.default_rng(7).random((number, 2)).astype(np.float32)
    whole = np.zeros(number, np.intp)
    ids = [str(at) for at in range(number)]
    picture = Picture(
        ids=ids, points=points, created=whole, colours={}, regions=(), regions_of=whole, axes=None
    )
    return picture, Colouring(("one", "two"), (np.arange(number) % 2).astype(np.uint8))


def test_many_memories_are_a_density_and_a_part_of_them_points() -> None:
    picture, colouring = _scatter(100_000)
    options: dict[str, Any] = {"most": POINTS_MOST, "cells": CELLS}
    body = pack_view(picture, colouring, (0.0, 0.0, 1.0, 1.0), **options)
    assert np.frombuffer(body, "<u4", 2).tolist() == [1, CELLS]
    assert np.frombuffer(body, "<u2", CELLS * CELLS, 8).sum() == 100_000
    part = pack_view(picture, colouring, (0.0, 0.0, 0.2, 0.2), **options)
    mode, number = np.frombuffer(part, "<u4", 2).tolist()
    assert mode == 0
    indexes = np.frombuffer(part, "<u4", number, 8)
    assert sorted(indexes) == np.flatnonzero((picture.points <= 0.2).all(axis=1)).tolist()
    assert len(body) < 100_000
    assert len(part) < 100_000


def test_a_line_selects_what_is_inside_of_it() -> None:
    picture, _ = _scatter(2_000)
    inside = picture.find_inside([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)])
    expected = np.flatnonzero(picture.points.sum(axis=1) < 1)
    assert inside.tolist() == expected.tolist()


def test_a_line_drawn_with_the_mouse_selects_memories_that_one_change_forgets(
    stage: Stage, browser: Browser
) -> None:
    _furnish(stage)
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/map?agent=a")
        canvas = page.locator("#map canvas")
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 3, box["y"] + 3)
        page.mouse.down()
        for across, down in ((0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.3), (0.01, 0.01)):
            page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"], steps=4)
        page.mouse.up()
        shows(page.locator("#chosen h2"), "8 memories selected")
        assert "shape=" in page.url
        page.get_by_role("button", name="Forget").click()
        shows(page.locator("#notes"), "8 memories were forgotten")
        shows(page.locator("main"), "No memories yet")
        page.get_by_role("button", name="Undo").click()
        shows(page.locator("#notes"), "Undone")
        assert stage.call("list", agent_id="a")["total"] == 8
        assert visit.complaints == []


def test_a_point_says_what_it_is_and_opens_it(stage: Stage, browser: Browser) -> None:
    stage.call("remember", agent_id="a", type="semantic", content="Ana drinks tea")
    with visiting(browser) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/map?agent=a")
        canvas = page.locator("#map canvas")
        spot = canvas.evaluate(
            "(one) => { const c = one.getContext('2d'); for (let y = 0; y < one.height; y += 2)"
            " for (let x = 0; x < one.width; x += 2) if (c.getImageData(x, y, 1, 1).data[3]) return {x, y}; }"
        )
        canvas.click(position=spot)
        shows(page.locator("h1"), "Ana drinks tea")


def test_without_scripts_a_region_is_selected_and_changed(stage: Stage, browser: Browser) -> None:
    _furnish(stage)
    with visiting(browser, java_script_enabled=False, viewport=PHONE) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/map?agent=a&by=age")
        assert wide(page) <= PHONE["width"]
        page.locator(".regions a").first.click()
        number = int(re.search(r"\d+", page.locator("#chosen h2").inner_text())[0])
        page.get_by_label("Tag", exact=True).fill("seen")
        page.get_by_role("button", name="Add tag").click()
        shows(page.locator("#notes"), f"{number} memories were tagged seen" if number > 1 else "tagged seen")
    tagged = stage.call("list", agent_id="a", filter={"tags": {"contains": "seen"}})
    assert tagged["total"] == number


def test_names_are_joined_where_one_memory_has_both(stage: Stage, browser: Browser) -> None:
    for content in ("Yesterday Ana met Ben.", "Then Ana called Cleo.", "We saw Ben in Porto."):
        stage.call("remember", agent_id="a", type="semantic", content=content)
    with visiting(browser, java_script_enabled=False) as visit:
        visit.open(stage.link)
        page = visit.open(f"{stage.url}/map/names?agent=a")
        rows = {row.split("\t")[0].strip(): row for row in page.locator("tbody tr").all_inner_texts()}
        assert {"Ana", "Ben", "Cleo", "Porto"} == set(rows)
        assert "Cleo" in rows["Ana"]
        assert "Cleo" not in rows["Ben"]
        page.get_by_role("row").get_by_role("link", name="Porto").click()
        expect(page.get_by_role("region", name="Memories with this name").locator("tbody tr")).to_have_count(
            1
        )

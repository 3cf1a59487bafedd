"""No memory can break out of a page: 125 hostile texts on every one of them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from memorywire_server.console.render import untrusted
from tests.console.pages import PAGES
from tests.console.stage import MOST_BYTES, PHONE, visiting, wide
from tests.console.world import World, hostile_world

_BREACHES = """(doc) => {
  const foreign = "script, iframe, img, image, style, link, object, embed, video, audio, base, template";
  const found = [...doc.querySelectorAll(foreign)].filter((one) => !one.closest("head"));
  const told = found.map((one) => one.outerHTML.slice(0, 80));
  for (const one of doc.querySelectorAll("*")) {
    for (const {name, value} of one.attributes) {
      const leads = /href|src|action/.test(name) && /^\\s*(javascript|data|vbscript):/i.test(value);
      const runs = leads || /^on|^style$|^srcdoc$/.test(name);
      if (runs) told.push(`${one.tagName} ${name}=${value.slice(0, 80)}`);
    }
  }
  return told.slice(0, 5);
}"""
"""Whatever a text could have become in a document, had it not stayed a text."""

_ALL_BREACHES = f"""async (addresses) => {{
  const look = {_BREACHES};
  const told = [];
  for (const address of addresses) {{
    const answer = await fetch(address);
    const html = await answer.text();
    const found = look(new DOMParser().parseFromString(html, "text/html"));
    told.push(...found.map((one) => `${{address}}: ${{one}}`));
    if (answer.status !== 200) told.push(`${{address}}: ${{answer.status}}`);
  }}
  return told;
}}"""

_RENDERED = 8
"""So many fillings of a page are drawn; of the others the document is looked through."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[World]:
    with hostile_world() as shown:
        yield shown


@pytest.mark.parametrize("page", PAGES)
def test_hostile_memories_stay_texts(hostile: World, browser: Browser, page: str):
    with visiting(browser, viewport=PHONE) as visit:
        addresses = hostile.addresses(page)
        for address in addresses[:: max(1, len(addresses) // _RENDERED)]:
            opened, weight = visit.weighed(address)
            assert not opened.evaluate(f"({_BREACHES})(document)"), address
            assert wide(opened) <= PHONE["width"], address
            assert opened.get_by_role("main").is_visible(), address
            assert 0 < weight < MOST_BYTES, address
        assert not opened.evaluate(_ALL_BREACHES, addresses)
        assert not visit.complaints


def test_the_eyes_that_look_for_breaches_see(hostile: World, browser: Browser):
    with visiting(browser) as visit:
        opened = visit.open(hostile.addresses("/inbox")[0])
        with opened.expect_console_message():
            opened.evaluate(
                "document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=x onload=y>')"
            )
        assert len(opened.evaluate(f"({_BREACHES})(document)")) == 2
        assert visit.complaints


def test_a_line_of_a_megabyte_is_cut():
    shown = untrusted("<b>" * 350_000, raw="/all")
    assert len(shown) < 30_000
    assert "1,050,000 characters" in shown
    assert 'href="/all"' in shown


def test_what_is_no_text_does_not_come_in(hostile: World):
    client = hostile.stage.server.client
    broken = b'{"agent_id": "hostile", "type": "semantic", "content": "broken \\ud800 half"}'
    whole = b'{"agent_id": "hostile", "type": "semantic", "content": "whole \\ud83d\\ude00 pair"}'
    assert client.post("/v0/remember", broken).status in (400, 422)
    assert client.post("/v0/remember", whole).status == 200

"""A served console with real memories behind it, and real browsers before it."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from memorywire.app import Container
from memorywire.model.consolidation import ConsolidationSettings
from memorywire_consolidate.background import BackgroundWork
from memorywire_server.console.mount import Console, console_mount
from memorywire_server.http.app import MountedApp
from tests.gates.source import ROOT
from tests.http.server import Server, serving

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
PATIENCE = 60_000
"""Milliseconds: a machine that is busy with other tests is no fault of a page."""
MOST_BYTES = 200_000
"""What a page may weigh with all it refers to, before it is packed for the way."""


@dataclass
class Stage:
    """A server with a console; `url` is where the console is."""

    server: Server
    console: Console

    @property
    def url(self) -> str:
        return f"{self.server.client.url}/console"

    @property
    def link(self) -> str:
        """Signs in whoever opens it first."""
        return self.console.link(self.server.client.url)

    def hold(self, content: str, agent: str = "a", **fields: Any) -> str:
        """The id of a proposal that waits."""
        receipt = self.server.client.remember(content, agent, approval_required=True, **fields)
        return str(receipt["proposal_id"])

    def call(self, operation: str, **payload: Any) -> dict[str, Any]:
        reply = self.server.client.post(f"/v0/{operation}", payload)
        assert reply.status in (200, 202), reply.body
        answer: dict[str, Any] = reply.json
        return answer


@contextmanager
def staged(
    store: str = "sqlite://",
    policy: str = "balanced",
    tending: ConsolidationSettings | None = None,
    **options: Any,
) -> Iterator[Stage]:
    made: list[Console] = []

    def mounts(container: Container) -> list[MountedApp]:
        work = None if tending is None else BackgroundWork(container, tending)
        made.append(console_mount(container, local=True, tending=work))
        return [made[0].mounted]

    with serving(store, policy=policy, mounts=mounts, **options) as server:
        yield Stage(server, made[0])


@contextmanager
def browsing() -> Iterator[Browser]:
    """A real Chromium, the one that scripts/chromium finds or installs."""
    known = (shutil.which("chromium-headless-shell"), shutil.which("chromium"))
    path = (
        next(filter(None, known), None)
        or subprocess.run(
            [ROOT / "scripts" / "chromium"], capture_output=True, check=True, text=True
        ).stdout.strip()
    )
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visiting(browser: Browser, **options: Any) -> Iterator["Watched"]:
    """A page in a browser of its own, which notices every violation and error."""
    context = browser.new_context(**{"viewport": DESKTOP, **options})
    context.set_default_timeout(PATIENCE)
    try:
        yield Watched(context)
    finally:
        context.close()


class Watched:
    """A page, and everything that went wrong on it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))

    def sign_in(self, stage: Stage, token: str | None) -> Page:
        """The inbox of whoever has the token, or the home of those who do not review."""
        page = self.open(f"{stage.url}/sign-in")
        page.get_by_label("Token", exact=True).fill(token or "")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/console/(?!sign-in)"))
        inbox = page.locator('#sections a[href$="/inbox"]')
        if inbox.count():
            page.goto(f"{stage.url}/inbox")
        return page

    def open(self, url: str) -> Page:
        """The page, loaded."""
        self.page.goto(url, wait_until="load")
        return self.page

    def weighed(self, url: str) -> tuple[Page, int]:
        """The page, loaded, and how many bytes it took in all."""
        seen: list[Any] = []

        def note(response: Any) -> None:
            if response.request.is_navigation_request():
                seen.clear()  # what the page before was still loading is not part of this one
            seen.append(response)

        self.page.on("response", note)
        self.open(url)
        self.page.remove_listener("response", note)
        return self.page, sum(len(one.body()) for one in seen if one.ok and "/events" not in one.url)


def shows(place: Locator, words: str) -> None:
    """These words are seen there once the page is whole: a click waits until it begins to come, no longer."""
    expect(place).to_contain_text(words, use_inner_text=True)


def wide(page: Page) -> int:
    """How much room the page takes; more than the window has means that something sticks out."""
    width: int = page.evaluate("document.documentElement.scrollWidth")
    return width

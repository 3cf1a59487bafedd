"""`memorywire serve --demo` as a process: it tells a story, opens a console, and leaves nothing behind."""

import re
import signal
import subprocess
from pathlib import Path

from playwright.sync_api import Browser

from tests.cli.shell import COMMAND, Shell
from tests.console.stage import visiting
from tests.http.server import Client


def test_the_demo_opens_with_its_token_shows_work_and_leaves_nothing_behind(tmp_path: Path, browser: Browser):
    environment = Shell(tmp_path / "home").environment() | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*COMMAND, "serve", "--demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    try:
        said = ""
        while "console:" not in said:
            line = process.stdout.readline()
            assert line, process.communicate()
            said += line
        [link] = re.findall(r"http://\S+", said.splitlines()[-1])
        assert list(tmp_path.glob("memorywire-demo-*"))
        assert "key=" not in said
        with visiting(browser) as visit:
            [token] = re.findall(r"mw_\S+", said)
            page = visit.open(link)
            assert page.title() == "Sign in · memorywire"
            page.get_by_label("Token", exact=True).fill(token)
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url("**/home")
            page.get_by_role("link", name="Inbox 18", exact=True).first.click()
            assert page.locator(".item").count() == 18
            assert not visit.complaints
        held = Client(link.partition("/console")[0], token).remember("Ana likes rain", approval_required=True)
        address = f"{link}/proposal?id={held['proposal_id']}&tenant=default"
        assert held["approval_url"] == address
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    assert not list(tmp_path.glob("memorywire-demo-*"))


def test_the_demo_does_not_touch_a_store_that_was_named(tmp_path: Path):
    done = Shell(tmp_path / "home")("serve", "--demo", "--store", f"sqlite://{tmp_path}/mine.db")
    assert done.code == 2
    assert "leave out --store" in done.err
    assert not (tmp_path / "mine.db").exists()

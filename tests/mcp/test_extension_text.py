"""The text of the extension says what the server says of itself."""

import json
import re

from mcp.client.client import Client

from memorywire_server.mcp.server import EXTENSION
from tests.gates.source import ROOT
from tests.mcp.clients import with_agent

PAGE = (ROOT / "docs" / "spec" / "mcp-extension.md").read_text(encoding="utf-8")


async def _advertised(client: Client) -> dict[str, object]:
    assert client.server_capabilities.extensions is not None
    return dict(client.server_capabilities.extensions[EXTENSION])


def test_the_text_of_the_extension_advertises_what_the_server_does():
    (block,) = (text for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if EXTENSION in text)
    told, written = with_agent(_advertised, era="auto"), json.loads(block)[EXTENSION]
    assert set(written["methods"]) <= set(told["methods"])
    assert {**written, "methods": told["methods"]} == told


def test_the_text_of_the_extension_lists_every_method_and_no_other():
    told = with_agent(_advertised, era="auto")
    methods = {*told["methods"], *told["governance"]["methods"], *told["governance"]["operator_methods"]}
    assert set(re.findall(r"^\| `(memory/\w+)` \|", PAGE, re.MULTILINE)) == methods

"""The Internet-Draft is built from the specification as it is, by the program that the IETF uses."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from memorywire.wire import spec
from tests.gates.source import ROOT


@pytest.mark.skipif(find_spec("xml2rfc") is None, reason="run `make .venv/.dev`, which installs xml2rfc")
def test_the_internet_draft_builds_and_has_every_requirement_and_operation(tmp_path: Path):
    source, text = tmp_path / "draft.xml", tmp_path / "draft.txt"
    subprocess.run([sys.executable, ROOT / "tools" / "draft.py", source], check=True)
    render = [sys.executable, "-m", "xml2rfc.run", "--no-network", "--text", source, "-o", text]
    told = subprocess.run(render, capture_output=True, text=True, check=False)
    assert (told.returncode, "Error" in told.stderr) == (0, False), told.stderr
    page = text.read_text(encoding="utf-8")
    words = re.sub(r"\s+", "", page)
    prose = (ROOT / "docs" / "spec" / "v0.md").read_text(encoding="utf-8")
    assert [id for id in re.findall(r"\[[A-Z]+-\d+\]", prose) if id not in words] == []
    operations = [name.removesuffix(".request") for name in spec.schemas() if name.endswith(".request")]
    assert [name for name in operations if f".{name}\n" not in page.replace(". ", ".").replace(" ", "")] == []
    assert "draft-memorywire-agent-memory-00" in page
